"""``moor run`` on the command line: what it understands, and how it says no."""

import logging
import socket
from functools import partial
from pathlib import Path

import pytest

from mooring.errors import KubeError
from mooring.live.options import DEFAULT_PORT, RunOptions
from mooring.log_kinds import TRACE
from mooring.testing.certificates import Authority
from tests.unit.cli.command_line import KUBECONFIG, Run, rejected


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster from outside."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOG_LEVEL", "INFO")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mooring.live.run.keep_little_memory", lambda: None)
    monkeypatch.setattr("mooring.live.run.collect_in_short_pauses", lambda: None)


@pytest.fixture
def run(command_line: Run) -> Run:
    return partial(command_line, "run")


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return write(tmp_path / "kubeconfig", KUBECONFIG)


def write(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


class TestOptions:
    @pytest.fixture
    def seen(self, monkeypatch: pytest.MonkeyPatch) -> list[RunOptions]:
        found: list[RunOptions] = []

        def record(options: RunOptions) -> int:
            found.append(options)
            return 0

        monkeypatch.setattr("mooring.live.run.main", record)
        return found

    def test_defaults(self, run: Run, seen: list[RunOptions]) -> None:
        assert run() == (0, "", "")
        assert seen == [RunOptions(config_name="")]
        assert seen[0].port == DEFAULT_PORT == 10259
        assert seen[0].host == "127.0.0.1"

    def test_all(self, run: Run, seen: list[RunOptions], tmp_path: Path) -> None:
        config = write(tmp_path / "config.yaml", "parallelism: 4\n")
        arguments = {
            "--config": str(config),
            "--kubeconfig": "k",
            "--scheduler-name": "mine",
            "--bind-address": "::1",
            "--port": "7",
            "--tls-cert": "c",
            "--tls-key": "key",
        }
        flat = [text for pair in arguments.items() for text in pair]
        assert run("policy.py", *flat, "--no-leader-elect")[0] == 0
        assert seen == [
            RunOptions(
                policy="policy.py",
                config={"parallelism": 4},
                config_name=str(config),
                kubeconfig=Path("k"),
                scheduler_name="mine",
                leader_elect=False,
                host="::1",
                port=7,
                tls_cert=Path("c"),
                tls_key=Path("key"),
            )
        ]

    def test_leader_election(self, run: Run, seen: list[RunOptions]) -> None:
        run("--leader-elect")
        run("--no-leader-elect")
        assert [options.leader_elect for options in seen] == [True, False]

    def test_how_much_is_logged(self, run: Run, seen: list[RunOptions]) -> None:
        run()
        assert logging.getLogger().level == logging.INFO
        run("-v")
        assert logging.getLogger().level == logging.DEBUG
        run("-vv")
        assert logging.getLogger().level == TRACE

    def test_reloading(self, run: Run, seen: list[RunOptions]) -> None:
        run("policy.py", "--reload", "--context", "x")
        assert seen == [RunOptions(policy="policy.py", config_name="", reload=True, context="x")]

    @pytest.mark.parametrize("code", [0, 1])
    def test_the_exit_code(self, run: Run, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
        monkeypatch.setattr("mooring.live.run.main", lambda _: code)
        assert run()[0] == code

    def test_what_the_cluster_says(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(options: RunOptions) -> int:
            raise KubeError("The API server says no.")

        monkeypatch.setattr("mooring.live.run.main", fail)
        assert run() == (1, "", "moor: The API server says no.\n")

    def test_help(self, run: Run) -> None:
        code, out, _ = run("--help")
        assert code == 0
        for word in ("--config", "--scheduler-name", "--[no-]leader-elect", "SIGTERM", "qps"):
            assert word in out

    def test_wrong_usage(self, run: Run) -> None:
        for arguments in (["--port", "70000"], ["a", "b"], ["--nonsense"]):
            code, out, err = run(*arguments)
            assert (code, out) == (2, "")
            assert "Traceback" not in err


class TestRejections:
    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("parallelism: x", "parallelism: 'x' is invalid: must be an integer"),
            ("nonsense: 1", "nonsense: unknown field"),
            ("kind: Pod", "kind: 'Pod' is not supported: must be KubeSchedulerConfiguration"),
            (
                "profiles: [{plugins: {filter: {enabled: [{name: NodeNam}]}}}]",
                "there is no plugin 'NodeNam': did you mean NodeName?",
            ),
            ("[]", "does not contain a YAML mapping"),
            ("a: [", "is not valid YAML"),
        ],
    )
    def test_configurations(
        self, run: Run, kubeconfig: Path, tmp_path: Path, text: str, sentence: str
    ) -> None:
        file = write(tmp_path / "config.yaml", text)
        said = rejected(run("--kubeconfig", kubeconfig, "--config", file))
        assert sentence in said
        assert str(file) in said

    def test_a_configuration_that_is_not_there(self, run: Run, tmp_path: Path) -> None:
        assert "none.yaml does not exist" in rejected(run("--config", tmp_path / "none.yaml"))

    def test_names(self, run: Run, kubeconfig: Path, tmp_path: Path) -> None:
        text = "profiles: [{schedulerName: a}, {schedulerName: b}]"
        file = write(tmp_path / "config.yaml", text)
        arguments = ["--kubeconfig", kubeconfig, "--config", file, "--scheduler-name", "c"]
        assert "is for a single profile, and there are 2" in rejected(run(*arguments))

    def test_policies(self, run: Run, kubeconfig: Path, tmp_path: Path) -> None:
        assert "none.py does not exist" in rejected(run("none.py", "--kubeconfig", kubeconfig))
        text = "import mooring\npolicy = mooring.Policy('NodeName')\n"
        text += "@policy.filter\ndef check(pod, node): return True\n"
        taken = write(tmp_path / "taken.py", text)
        assert "'NodeName'" in rejected(run(taken, "--kubeconfig", kubeconfig))

    def test_clusters(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert rejected(run()).startswith("a scheduler needs a cluster, and none is configured: ")
        assert "none" in rejected(run("--kubeconfig", tmp_path / "none"))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "gone"))
        assert "KUBECONFIG names" in rejected(run())

    def test_a_port_in_use(self, run: Run, kubeconfig: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            said = rejected(run("--kubeconfig", kubeconfig, "--port", port))
        assert said == (
            f"cannot listen on 127.0.0.1 port {port}: Address already in use; use others with "
            "--bind-address and --port"
        )

    def test_certificates(self, run: Run, kubeconfig: Path, tmp_path: Path) -> None:
        pair = Authority(tmp_path).server("s")
        arguments = ["--kubeconfig", kubeconfig, "--port", "0", "--tls-cert", pair.certificate]
        assert rejected(run(*arguments)) == "TLS needs both --tls-cert and --tls-key"
        said = rejected(run(*arguments, "--tls-key", kubeconfig))
        assert "are not a certificate and its key in PEM format" in said

    def test_extenders(self, run: Run, kubeconfig: Path, tmp_path: Path) -> None:
        tls = "{insecure: true, caData: eA==}"
        text = f"extenders: [{{urlPrefix: 'https://x', filterVerb: f, tlsConfig: {tls}}}]"
        file = write(tmp_path / "config.yaml", text)
        said = rejected(run("--kubeconfig", kubeconfig, "--config", file, "--port", "0"))
        assert "tlsConfig.insecure and a certificate authority are mutually exclusive" in said
