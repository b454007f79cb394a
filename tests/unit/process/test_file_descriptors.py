"""Running out of file descriptors: nothing spins, nothing breaks, and the log says why."""

import asyncio
import contextlib
import errno
import http.client
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mooring.embedded.kubeconfig import kubeconfig_text
from mooring.errors import InputError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.http1.transport_errors import NotConnected
from mooring.kube.status import connection_error
from mooring.process import file_descriptors as descriptors
from mooring.process.file_descriptors import LEAST, allow_descriptors, watch_descriptors
from mooring.testing.real_kubernetes import free_port, wait_for
from tests.unit.cli.cluster_server import cluster_server
from tests.unit.cli.moor import POLICY, environment

LIMIT = 40


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "policy.py").write_text(POLICY)
    with cluster_server() as cluster:
        (tmp_path / "kubeconfig").write_text(kubeconfig_text(cluster.url))
        yield tmp_path


def is_well(port: int, path: str = "/livez") -> bool:
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            connection.request("GET", path)
            return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False


def cpu_seconds(pid: int) -> float:
    """The time that a process has worked so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def moor(folder: Path, limit: int, *arguments: str) -> subprocess.Popen[bytes]:
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", sys.executable, "-m", "mooring.cli",
             *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
            env=environment(folder, KUBECONFIG=str(folder / "kubeconfig")), start_new_session=True,
        )  # fmt: skip


COMMANDS = {
    "cluster": ("cluster", "--nodes", "1", "--kubeconfig", "own.kubeconfig"),
    "run": ("run", "--no-leader-elect"),
}
STARTED = {"cluster": "Pods stay pending until", "run": "mooring.live: scheduling"}
SERVE = ("serve", "policy.py")  # which takes no more connections than it has descriptors for


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_without_descriptors(folder: Path, command: str) -> None:
    port = free_port()
    process = moor(folder, LIMIT, *COMMANDS[command], "--port", str(port))
    log = folder / "log"
    try:
        # What a start-up costs does not count, and it may need files to the end.
        started = STARTED[command]
        wait_for(
            lambda: (
                (is_well(port, "/readyz") and started in log.read_text())
                or process.poll() is not None
            ),
            "the server",
        )
        assert process.poll() is None, log.read_text()
        before = cpu_seconds(process.pid)
        with contextlib.ExitStack() as stack:
            for _ in range(2 * LIMIT):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                with contextlib.suppress(OSError):
                    one.send(b"GET /livez HTTP/1.1\r\n")  # and never more
            told = f"no file descriptors are left (the limit is {LIMIT})"
            wait_for(lambda: told in log.read_text(), told)
            assert cpu_seconds(process.pid) - before < 1.0
        wait_for(lambda: is_well(port), "the server again")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "Traceback" not in log.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_too_few_to_begin_with(folder: Path) -> None:
    for arguments in (*COMMANDS.values(), SERVE, ("demo",)):
        process = moor(folder, 16, *arguments)
        assert process.wait(60) == 2
        assert (folder / "log").read_text() == (
            "moor: this process may open only 16 files, but a server needs 24 plus one for "
            "each connection; raise the limit with ulimit -n\n"
        )


class TestLimit:
    @pytest.fixture
    def limits(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
        """The limits so far; the last one counts."""
        kept = [(256, 4096)]
        monkeypatch.setattr(resource, "getrlimit", lambda _: kept[-1])
        monkeypatch.setattr(resource, "setrlimit", lambda _, new: kept.append(new))
        return kept

    def test_is_raised_as_far_as_it_goes(self, limits: list[tuple[int, int]]) -> None:
        assert allow_descriptors() == 4096
        assert limits[1:] == [(4096, 4096)]
        assert allow_descriptors() == 4096
        assert len(limits) == 2

    def test_that_cannot_be_raised_is_left(
        self, limits: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def reject(*_: object) -> None:
            raise ValueError("current limit exceeds maximum limit")

        monkeypatch.setattr(resource, "setrlimit", reject)
        assert allow_descriptors() == 256

    def test_that_is_too_low_is_told(self, limits: list[tuple[int, int]]) -> None:
        limits.append((8, LEAST - 1))
        with pytest.raises(InputError, match="may open only 23 files"):
            allow_descriptors()


def test_a_warning_is_not_repeated_at_every_look(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks = 0

    def none_left() -> bool:
        nonlocal looks
        looks += 1
        return False

    monkeypatch.setattr(descriptors, "_is_one_left", none_left)

    async def main() -> None:
        task = asyncio.create_task(watch_descriptors(0))
        while looks < 3:  # noqa: ASYNC110 - it looks without waiting
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    assert len(caplog.messages) == looks == 3


def test_no_descriptor_for_a_connection_to_the_api_server() -> None:
    error = NotConnected(OSError(errno.EMFILE, "Too many open files"))
    assert str(connection_error(ClusterConfig(server="http://h:1"), error)) == (
        "No file descriptors are left for a connection to the API server http://h:1; raise the "
        "limit with ulimit -n."
    )
