"""A real ``moor serve``: signals, workers, TLS, reloading, logs."""

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mooring.testing.certificates import Authority, KeyPair
from mooring.testing.real_kubernetes import free_port, wait_for
from tests.unit.cli.conftest import Serve
from tests.unit.cli.moor import POLICY, Moor, environment, exchange, filter_body
from tests.unit.extender.asgi import sample
from tests.unit.extender.fake_cluster import fake_cluster


@pytest.fixture(scope="module")
def moor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moor]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "policy.py").write_text(POLICY)
    moor = Moor(
        folder, "policy.py", "--port", "0", "--drain", "0", "--max-body", "64Ki",
        "--prefix", "/my_scheduler_extension", "--priorities-prefix", "my_new_priorities",
        "--log-format", "json", LOG_LEVEL="DEBUG",
    )  # fmt: skip
    yield moor
    moor.stop()
    assert moor.process.returncode == 0


class TestOneServer:
    """Everything that one and the same server can be asked."""

    def test_verbs(self, moor: Moor) -> None:
        at = "/my_scheduler_extension"
        reply = moor.post(f"{at}/filter", filter_body())
        assert (reply.status, reply.json()["NodeNames"]) == (200, ["a"])
        assert reply.json()["FailedNodes"] == {"b": f"worker {moor.process.pid}"}
        assert moor.post(f"{at}/predicates/check", filter_body()).json()["NodeNames"] == ["a"]
        scores = [{"Host": "a", "Score": 5}, {"Host": "b", "Score": 5}]
        assert moor.post(f"{at}/my_new_priorities/rate", filter_body()).json() == scores
        assert moor.post(f"{at}/prioritize", filter_body()).json() == scores

    def test_pages(self, moor: Moor) -> None:
        assert moor.get("/").body == b"Welcome to served!\n"
        assert moor.get("/policy").json()["verbs"]["filter"] == "/my_scheduler_extension/filter"
        for path in ("/healthz", "/livez", "/readyz"):
            assert moor.get(path).body == b"ok"

    def test_errors(self, moor: Moor) -> None:
        assert moor.get("/nothing").status == 404
        reply = moor.get("/my_scheduler_extension/filter")
        assert (reply.status, reply.headers["allow"]) == (405, "POST")
        with contextlib.closing(moor.connect()) as connection:
            connection.putrequest("POST", "/my_scheduler_extension/filter")
            connection.putheader("Content-Length", "65537")
            connection.endheaders()
            assert connection.getresponse().status == 413
        reply = moor.post("/my_scheduler_extension/filter", filter_body("broken"))
        assert reply.status == 200
        assert reply.json()["Error"] == (
            "filter 'check' failed on node a: ValueError: the disk is gone"
        )
        assert moor.post("/my_scheduler_extension/prioritize", b"{").status == 400

    def test_logs(self, moor: Moor) -> None:
        moor.post("/my_scheduler_extension/filter", filter_body("logged"))
        moor.post("/my_scheduler_extension/filter", filter_body("broken"))
        moor.post("/my_scheduler_extension/prioritize", filter_body("logged"))
        lines = [json.loads(line) for line in moor.log().splitlines()]
        messages = [line["message"] for line in lines if line["logger"] == "mooring.extender"]
        wanted = [
            "pod default/logged node a accepted",
            f"pod default/logged node b rejected: worker {moor.process.pid}",
            "pod default/logged node a score 5 (50)",
            "pod default/logged node b score 5 (50)",
        ]
        assert [message for message in messages if "default/logged" in message] == wanted
        (failure,) = [line for line in lines if "traceback" in line][-1:]
        assert failure["level"] == "ERROR"
        assert 'raise ValueError("the disk is gone")' in failure["traceback"]
        assert all(line.keys() >= {"time", "level", "logger", "message"} for line in lines)

    def test_connections_that_dawdle_hold_nobody_up(self, moor: Moor) -> None:
        path = "/my_scheduler_extension/filter"
        whole = f"POST {path} HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 1000\r\n\r\n{{".encode()
        with contextlib.ExitStack() as stack:
            for number in range(60):
                dawdler = stack.enter_context(socket.create_connection(("127.0.0.1", moor.port)))
                # Nothing, a part of the headers, or a part of the body.
                dawdler.sendall(whole[: (0, 30, len(whole))[number % 3]])
            assert moor.post(path, filter_body()).status == 200
            assert moor.get("/livez").status == 200

    def test_what_is_no_http(self, moor: Moor) -> None:
        with socket.create_connection(("127.0.0.1", moor.port), timeout=120) as raw:
            raw.sendall(b"nonsense\r\n\r\n")
            reply = b"".join(iter(lambda: raw.recv(65536), b""))
        head, _, body = reply.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(body) == {"error": "Invalid HTTP request received."}


class TestSignals:
    def test_sigterm_finishes_what_is_in_flight(self, serve: Serve, policy: Path) -> None:
        moor = serve(policy, "--drain", "0.5")
        port = moor.port
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(moor.post, "/filter", filter_body("slow"))
            wait_for(policy.with_name("reached").exists, "the slow request to be in flight")
            moor.signal(signal.SIGTERM)

            def rejected() -> bool:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=120).close()
                except ConnectionRefusedError:
                    return True
                return False

            wait_for(rejected, "the server to take no more connections")
            assert not slow.done()
            policy.with_name("gate").touch()
            assert slow.result(30).json()["NodeNames"] == ["a"]
        assert moor.wait() == 0
        assert "stopping: requests are answered for another 0.5s" in moor.log()
        assert moor.log().rstrip().endswith("stopped")

    def test_requests_are_answered_while_draining(self, serve: Serve, policy: Path) -> None:
        moor = serve(policy, "--drain", "60")
        with contextlib.closing(moor.connect()) as open_before:
            assert exchange(open_before, "GET", "/readyz").status == 200
            moor.signal(signal.SIGTERM)
            wait_for(
                lambda: exchange(open_before, "GET", "/readyz").status == 503,
                "readyz to turn red",
            )
            assert exchange(open_before, "GET", "/readyz").body == b"shutting down"
        assert moor.post("/filter", filter_body()).status == 200  # on a new connection
        moor.signal(signal.SIGTERM)  # twice means now
        assert moor.wait() == 0

    def test_sigusr2_is_for_schedulers_and_ends_nothing(self, serve: Serve, policy: Path) -> None:
        moor = serve(policy)
        assert moor.get("/readyz").status == 200
        moor.signal(signal.SIGUSR2)
        assert moor.post("/filter", filter_body()).status == 200
        moor.signal(signal.SIGINT)
        assert moor.wait() == 0

    def test_sigint_stops_at_once(self, serve: Serve, policy: Path) -> None:
        moor = serve(policy, "--drain", "600")
        assert moor.get("/readyz").status == 200
        moor.signal(signal.SIGINT)
        assert moor.wait() == 0
        assert "Traceback" not in moor.log()


def _gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody waits for counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class TestWorkers:
    def test_share_the_work_and_the_metrics(self, serve: Serve, policy: Path) -> None:
        moor = serve(policy, "--workers", "2", "--drain", "0")
        sent = 0

        def ask() -> int:
            """Which worker answered."""
            nonlocal sent
            reply = moor.post("/filter", filter_body())
            sent += 1
            return int(reply.json()["FailedNodes"]["b"].removeprefix("worker "))

        def both(*pids: int) -> bool:
            seen = {ask() for _ in range(8)}
            assert seen <= set(moor.workers)
            answered.update(seen)
            return answered >= set(pids)

        answered: set[int] = set()
        first, second = wait_for(
            lambda: moor.workers if len(moor.workers) == 2 else None, "two workers"
        )
        wait_for(lambda: both(first, second), "both workers to answer")
        requests = "mooring_extender_requests_total"
        for _ in range(6):  # whichever worker is asked
            assert sample(moor.get("/metrics").body, requests, verb="filter") == sent

        os.kill(first, signal.SIGKILL)
        third = wait_for(
            lambda: moor.workers[2] if len(moor.workers) == 3 else None, "another worker"
        )
        assert f"worker {first} exited with code -9; starting another" in moor.log()
        answered.clear()
        wait_for(lambda: both(second, third), "the new worker to answer")
        assert first not in answered
        assert sample(moor.get("/metrics").body, requests, verb="filter") == sent

        moor.signal(signal.SIGTERM)
        assert moor.wait() == 0
        for pid in (second, third):
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        assert not list(Path("/proc").glob(f"{second}/cmdline"))

    def test_end_when_their_parent_is_killed(self, serve: Serve, policy: Path) -> None:
        moor = serve(policy, "--workers", "2", "--drain", "0")
        wait_for(lambda: moor.log().count("listening on 127.0.0.1:") == 2, "both workers")
        workers = list(moor.workers)
        moor.signal(signal.SIGKILL)
        assert moor.wait() == -signal.SIGKILL
        wait_for(lambda: all(map(_gone, workers)), "the workers to end")

    def test_stop_together_on_sigint(self, serve: Serve, policy: Path) -> None:
        moor = serve(policy, "--workers", "2", "--drain", "600")
        assert moor.get("/readyz").status == 200
        wait_for(lambda: moor.log().count("listening on 127.0.0.1:") == 2, "both workers")
        moor.signal(signal.SIGINT)
        assert moor.wait() == 0
        assert moor.log().count("mooring.extender: stopped") == 2


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return an_authority(tmp_path / "ca")


def an_authority(folder: Path) -> Authority:
    folder.mkdir()
    return Authority(folder)


def install(source: Path, target: Path) -> Path:
    """Put a file in place as renewals do: all at once."""
    fresh = target.with_suffix(".fresh")
    shutil.copy(source, fresh)
    return fresh.rename(target)


def trusting(authority: Authority, client: KeyPair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    return context


def rejected_by(moor: Moor, context: ssl.SSLContext) -> bool:
    """Whether the server does not let this client in."""
    try:
        moor.request("GET", "/healthz", tls=context)
    except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
        return True
    return False


class TestTls:
    def test_certificates_are_renewed_while_connections_last(
        self, serve: Serve, policy: Path, tmp_path: Path, authority: Authority
    ) -> None:
        successor = an_authority(tmp_path / "successor")
        first, second = authority.server("first"), successor.server("second")
        cert = install(first.certificate, tmp_path / "tls.crt")
        key = install(first.key, tmp_path / "tls.key")
        clients = install(authority.file, tmp_path / "clients.crt")
        moor = serve(
            policy, "--tls-cert", cert, "--tls-key", key, "--client-ca", clients, "--drain", "0"
        )
        old_client = authority.client("old", "scheduler", [])
        new_client = successor.client("new", "scheduler", [])
        known = trusting(authority, old_client)

        with contextlib.closing(moor.connect(known)) as lasting:
            assert exchange(lasting, "POST", "/filter", filter_body()).status == 200
            assert rejected_by(moor, trusting(authority))
            assert rejected_by(moor, trusting(authority, new_client))
            with pytest.raises((http.client.BadStatusLine, ConnectionError)):
                moor.get("/healthz")  # no TLS at all

            install(second.key, key)
            install(second.certificate, cert)
            install(successor.file, clients)
            renewed = trusting(successor, new_client)
            wait_for(lambda: not rejected_by(moor, renewed), "the renewed certificate")
            assert moor.request("POST", "/filter", filter_body(), tls=renewed).status == 200
            assert rejected_by(moor, trusting(authority, old_client))
            assert rejected_by(moor, trusting(successor, old_client))
            assert rejected_by(moor, trusting(successor))

            assert exchange(lasting, "POST", "/filter", filter_body()).status == 200
        assert "using the renewed certificate" in moor.log()
        assert f"urlPrefix https://127.0.0.1:{moor.port}" in moor.log()

    def test_workers_speak_it_too(self, serve: Serve, policy: Path, authority: Authority) -> None:
        pair = authority.server("server")
        moor = serve(
            policy, "--tls-cert", pair.certificate, "--tls-key", pair.key,
            "--workers", "2", "--drain", "0",
        )  # fmt: skip
        for _ in range(6):
            reply = moor.request("POST", "/filter", filter_body(), tls=trusting(authority))
            assert reply.status == 200


@pytest.mark.parametrize("workers", ["1", "2"])
def test_probes_and_metrics_have_a_listener_of_their_own(
    serve: Serve, policy: Path, authority: Authority, workers: str
) -> None:
    """The kubelet has no client certificate, and asks from outside."""
    pair, health = authority.server("server"), free_port()
    moor = serve(
        policy, "--tls-cert", pair.certificate, "--tls-key", pair.key,
        "--client-ca", authority.file, "--health-port", str(health), "--health-host", "127.0.0.1",
        "--workers", workers, "--drain", "0",
    )  # fmt: skip
    assert rejected_by(moor, trusting(authority))
    assert f"probes and metrics are also on 127.0.0.1:{health}\n" in moor.log()

    def status(path: str, method: str = "GET") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", health, timeout=30)
        try:
            connection.request(method, path)
            return connection.getresponse().status
        finally:
            connection.close()

    for path in ("/healthz", "/livez", "/readyz", "/metrics"):
        assert status(path) == 200
    for path in ("/", "/policy", "/filter", "/bind"):
        assert status(path) == 404
        assert status(path, "POST") == 404


def test_a_changed_policy_is_reloaded_and_a_broken_one_is_not(serve: Serve, policy: Path) -> None:
    moor = serve(policy, "--reload", "--drain", "0")
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["a"]
    policy.write_text(POLICY.replace('!= "b"', '!= "a"'))
    wait_for(
        lambda: moor.post("/filter", filter_body()).json()["NodeNames"] == ["b"], "the new policy"
    )
    policy.write_text("policy = (")
    moor.wait_log("kept the old policy: .*policy.py, line 1: '\\(' was never closed")
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["b"]
    policy.write_text(POLICY)
    wait_for(
        lambda: moor.post("/filter", filter_body()).json()["NodeNames"] == ["a"], "the mended one"
    )


def test_an_unknown_log_level_is_told(serve: Serve, policy: Path) -> None:
    moor = serve(f"{policy.stem}:policy", "--drain", "0", LOG_LEVEL="LOUD")
    assert moor.post("/filter", filter_body()).status == 200
    assert "WARNING mooring: unknown LOG_LEVEL='LOUD', using INFO" in moor.log()
    assert "DEBUG" not in moor.log().replace("TRACE, DEBUG, INFO", "")


def test_a_cluster_is_watched_and_bound_in(serve: Serve, tmp_path: Path) -> None:
    policy = tmp_path / "policy.py"
    policy.write_text(
        POLICY.replace("usage=False", "usage=True")
        + """

@policy.filter
def empty(pod, node):
    return node.used["pods"] == 0


@policy.bind
async def mark(binding):
    return binding.annotate({"by": "the policy"})
"""
    )

    async def main() -> None:
        async with fake_cluster() as cluster:
            cluster.put_node("a")
            cluster.put_node("c")
            cluster.put_pod("db", "c")
            cluster.put_pod("web")
            kubeconfig = tmp_path / "kubeconfig"
            kubeconfig.write_text(json.dumps({
                "clusters": [{"name": "c", "cluster": {"server": cluster.config.server}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "users": [{"name": "u", "user": {}}],
                "current-context": "x",
            }))  # fmt: skip
            moor = serve(policy, "--kubeconfig", kubeconfig, "--drain", "0")
            await asyncio.to_thread(ask, moor)
            (binding,) = cluster.bindings
            assert binding["metadata"]["annotations"] == {"by": "the policy"}
            await asyncio.to_thread(moor.stop)
            assert moor.process.returncode == 0

    def ask(moor: Moor) -> None:
        moor.wait_log("node cache synced: 2 nodes, 2 pods")
        assert moor.get("/readyz").body == b"ok"
        body = filter_body("web", "a", "c", "ghost")
        assert moor.post("/filter", body).json()["NodeNames"] == ["a"]
        reply = moor.post(
            "/bind", b'{"PodName":"web","PodNamespace":"ns","PodUID":"uid-web","Node":"a"}'
        )
        assert reply.json() == {"Error": ""}
        assert moor.post("/filter", body).json()["NodeNames"] == []

    asyncio.run(main())


class TestStandardStreams:
    """What a process is started with must not decide how it ends."""

    @pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
    def test_may_be_closed(self, policy: Path, closed: str) -> None:
        self.served_and_stopped(policy, closed)

    @pytest.mark.parametrize("full", [">/dev/full", "2>/dev/full"])
    def test_may_take_nothing(self, policy: Path, full: str) -> None:
        self.served_and_stopped(policy, full)

    def test_may_lose_their_reader(self, policy: Path) -> None:
        self.served_and_stopped(policy, "2> >(exec true) > >(exec true)")

    def served_and_stopped(self, policy: Path, streams: str) -> None:
        port = free_port()
        command = f"exec {sys.executable} -m mooring.cli serve {policy} --port {port} --drain 0"
        process = subprocess.Popen(
            ["bash", "-c", f"{command} {streams}"],
            cwd=policy.parent, env=environment(policy.parent, LOG_LEVEL="DEBUG"),
        )  # fmt: skip

        def answers() -> bool:
            assert process.poll() is None, f"ended with {process.returncode}"
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                with contextlib.closing(connection):
                    return exchange(connection, "POST", "/filter", filter_body()).status == 200
            except ConnectionError:
                return False

        try:
            wait_for(answers, "the server to answer")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()


class TestRejections:
    def run(self, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mooring.cli", "serve", *map(str, arguments)],
            capture_output=True, text=True, check=False, timeout=300,
            cwd=folder, env=environment(folder),
        )  # fmt: skip

    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_are_one_sentence(self, tmp_path: Path, workers: str) -> None:
        (tmp_path / "bad.py").write_text("policy = (")
        done = self.run(tmp_path, "bad.py", "--port", "0", "--workers", workers)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "moor: bad.py, line 1: '(' was never closed; fix the syntax\n"

    def test_of_a_port_in_use(self, tmp_path: Path, policy: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.run(tmp_path, policy, "--port", str(taken.getsockname()[1]))
        assert (done.returncode, done.stdout) == (2, "")
        assert "Address already in use; use others with --host and --port" in done.stderr
        assert len(done.stderr.splitlines()) == 1
