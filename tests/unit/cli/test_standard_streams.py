"""Commands whose standard input, output or error is closed or full: a sentence, no traceback."""

import http.client
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mooring.cli.standard_streams import NoteHandler
from mooring.embedded.kubeconfig import kubeconfig_text
from mooring.testing.real_kubernetes import free_port, wait_for
from tests.unit.cli.cluster_server import cluster_server
from tests.unit.cli.moor import POLICY, environment

SNAPSHOT = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: "1", pods: "9"}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p, namespace: default}
  spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}
"""
FULL = "moor: standard output cannot be written: No space left on device\n"
#: Commands that print an answer, and their exit code.
PRINTING = {
    ("--version",): 0,
    ("--help",): 0,
    ("run", "--help"): 0,
    ("plugins",): 0,
    ("plugins", "-o", "json"): 0,
    ("completion", "zsh"): 0,
    ("examples",): 0,
    ("check", "policy.py"): 0,
    ("explain", "p", "-s", "snapshot.yaml"): 1,
    ("explain", "p", "-s", "-"): 2,
    ("snapshot",): 0,
}
#: What the shell is to do with the streams.
CLOSED = (">&-", "<&- >&- 2>&-")
COMMAND = [sys.executable, "-m", "mooring.cli"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a snapshot, a policy, and a kubeconfig of a cluster that answers."""
    made = tmp_path_factory.mktemp("moor")
    (made / "snapshot.yaml").write_text(SNAPSHOT)
    (made / "policy.py").write_text(POLICY)
    with cluster_server() as cluster:
        (made / "kubeconfig").write_text(kubeconfig_text(cluster.url))
        yield made


def start(folder: Path, arguments: tuple[str, ...], streams: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["sh", "-c", f'exec "$@" {streams}', "sh", *COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(folder, KUBECONFIG=str(folder / "kubeconfig")),
        start_new_session=True,
    )


def outcome(folder: Path, arguments: tuple[str, ...], streams: str) -> tuple[int, str, str]:
    process = start(folder, arguments, streams)
    out, err = process.communicate(timeout=120)
    return process.returncode, out.decode(), err.decode()


def test_what_commands_log_that_do_not_log(capsys: pytest.CaptureFixture[str]) -> None:
    handler = NoteHandler(logging.WARNING)
    logger = logging.Logger("alone")
    logger.addHandler(handler)
    logger.warning("it said %s", "\x1b[2J")
    logger.warning("%d", "no number")
    said = capsys.readouterr().err
    assert said.startswith("moor: it said \\x1b[2J\n")
    assert "\x1b" not in said


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_a_command_that_prints(folder: Path, arguments: tuple[str, ...]) -> None:
    code = PRINTING[arguments]
    for streams in CLOSED:
        found, _, err = outcome(folder, arguments, streams)
        assert (found, "Traceback" in err) == (code, False), streams
    found, _, err = outcome(folder, arguments, ">/dev/full")
    assert (found, err) == ((2, FULL) if code != 2 else (2, err))
    assert "Traceback" not in err
    assert outcome(folder, arguments, ">/dev/full 2>/dev/full")[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [one for one, code in PRINTING.items() if code != 2]
    + [("demo", "--nodes", "2", "--pods", "20")],
    ids=" ".join,
)
def test_a_pipe_that_nobody_reads(folder: Path, arguments: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment(folder, KUBECONFIG=str(folder / "kubeconfig")),
            check=False,
        )
    finally:
        os.close(write)
    # As every program in a pipe: 128 and the number of SIGPIPE. 1 would be an answer.
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=lambda variables: " ".join(f"{name}={value}" for name, value in variables.items()),
)
@pytest.mark.parametrize("force", ["", "1"], ids=["pipe", "terminal"])
def test_a_terminal_without_utf_8(folder: Path, variables: dict[str, str], force: str) -> None:
    done = subprocess.run(
        [*COMMAND, "explain", "p", "-s", "snapshot.yaml"],
        capture_output=True,
        cwd=folder,
        env={
            **environment(folder),
            "COLUMNS": "0",
            "FORCE_COLOR": force,
            "NO_COLOR": "1",
            **variables,
        },
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    text = done.stdout.decode("latin-1")
    assert "?" not in text
    # NO_COLOR: nothing but bold and dim, if at all.
    assert set(re.findall(r"\x1b\[([0-9;]*)m", text)) <= {"0", "1", "2"}
    assert re.search(r"^.{0,8}x ", text, re.MULTILINE)
    assert "needs 2 cpu" in text


def test_ctrl_c_is_a_sentence(folder: Path) -> None:
    fifo = folder / "never-written"
    os.mkfifo(fifo)
    process = start(folder, ("explain", "p", "-s", "-"), f"<>{fifo}")
    try:
        wait_for(lambda: _reads_standard_input(process.pid), "moor to read its standard input")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, b"", b"moor: interrupted\n")
    finally:
        process.kill()
        process.wait()


def _reads_standard_input(pid: int) -> bool:
    """Whether the process is in a `read` of it, as Linux tells."""
    if not Path("/proc/self/syscall").exists():
        pytest.skip("there is no /proc/PID/syscall here")
    number, *arguments = Path(f"/proc/{pid}/syscall").read_text().split()
    return number == "0" and arguments[:1] == ["0x0"]


def answers(port: int) -> bool:
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            connection.request("GET", "/livez")
            return connection.getresponse().status == 200
    except OSError:
        return False


@pytest.mark.parametrize("streams", [">&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("cluster", "--nodes", "1", "--kubeconfig", "own.kubeconfig"),
        ("run", "--no-leader-elect"),
        ("serve", "policy.py", "--drain", "0"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_server(folder: Path, arguments: tuple[str, ...], streams: str) -> None:
    if arguments[0] == "cluster" and "/dev/full" in streams:
        # It says where it is; if it cannot, it ends with a sentence.
        code, _, _ = outcome(folder, (*arguments, "--port", "0"), streams)
        assert code == 2
        return
    port = free_port()
    process = start(folder, (*arguments, "--port", str(port)), streams)
    try:
        wait_for(lambda: answers(port) or process.poll() is not None, "the server")
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0
        assert b"Traceback" not in err
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
