"""The command line in this process: what it understands, and how it says no."""

import socket
from pathlib import Path

import pytest

from mooring.cli import main as cli
from mooring.cli.serve import _bytes, _path
from mooring.errors import InputError, KubeError
from mooring.extender.server import ServeOptions
from mooring.kube.cluster_config import ClusterConfig
from mooring.testing.certificates import Authority
from mooring.version import __version__
from tests.unit.cli.command_line import KUBECONFIG, Run, rejected


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster from outside."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mooring.extender.server.keep_freed_memory", lambda: None)


@pytest.fixture
def run(command_line: Run) -> Run:
    return command_line


@pytest.mark.parametrize("command", [("serve", "policy.py"), ("run",), ("cluster",)])
def test_a_host_that_is_none(run: Run, command: tuple[str, ...]) -> None:
    said = rejected(run(*command, "--allow-host", "moor.example", "--allow-host", "http://x"))
    assert said == (
        "--allow-host 'http://x' is not a valid host name; use one without scheme, port and "
        "path, such as moor.example.com"
    )


class TestMain:
    def test_version(self, run: Run) -> None:
        assert run("--version") == (0, f"mooring {__version__}\n", "")

    @pytest.mark.parametrize("option", ["-h", "--help"])
    def test_help(self, run: Run, option: str) -> None:
        code, out, _ = run(option)
        assert code == 0
        assert "serve" in out
        code, out, _ = run("serve", option)
        assert code == 0
        for name in ("--prefix", "--tls-cert", "--workers", "--[no-]node-cache", "LOG_LEVEL"):
            assert name in out

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["serve"], "missing argument POLICY; see moor serve --help"),
            (
                ["doctor", "packer.yaml"],
                "unexpected argument packer.yaml; if it belongs to an option, write the option ",
            ),
            (["nonsense"], "no such command 'nonsense'; see moor --help"),
            (["serve", "p.py", "--nonsense"], "no such option: --nonsense; see moor serve --help"),
            (["xplai"], "no such command 'xplai'; did you mean 'explain'? See moor --help"),
            (
                ["serve", "p.py", "--client"],
                "no such option: --client; did you mean --client-ca? See moor serve --help",
            ),
            (["completion"], "missing argument SHELL; choose from bash, zsh, fish; see moor "),
            (
                ["serve", "p.py", "--port", "70000"],
                "invalid value for '--port': must be at most 65535",
            ),
            (["serve", "p.py", "--port", "x"], "invalid value for '--port': must be an integer;"),
            (
                ["serve", "p.py", "--workers", "0"],
                ("invalid value for '--workers': must be at least 1"),
            ),
            (
                ["serve", "p.py", "--timeout", "x"],
                ("invalid value for '--timeout': must be a number;"),
            ),
            (
                ["run", "--hook-timeout", "0"],
                ("invalid value for '--hook-timeout': must be at least "),
            ),
            (["run", "--log-format", "x"], "invalid value for '--log-format': 'x' is not one of "),
        ],
    )
    def test_wrong_usage_is_told_in_one_sentence(
        self, run: Run, arguments: list[str], sentence: str
    ) -> None:
        assert rejected(run(*arguments)).startswith(sentence)

    def test_without_arguments_the_help_is_shown(self, run: Run) -> None:
        code, out, err = run()
        assert (code, err) == (2, "")
        assert "Commands" in out

    @pytest.mark.parametrize(
        ("error", "code"),
        [(InputError("wrong"), 2), (KubeError("no answer"), 1), (KeyboardInterrupt(), 130)],
    )
    def test_exit_codes(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(cli, "app", fail)
        found, _, err = run()
        assert found == code
        assert err == f"moor: {error if code != 130 else 'interrupted'}\n"

    def test_ctrl_c_while_python_makes_a_class(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

        monkeypatch.setattr(cli, "app", fail)
        assert run() == (130, "", "moor: interrupted\n")


GOOD = "import mooring\npolicy = mooring.Policy('good')\npolicy.score(name='s')(max)\n"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.py"
    file.write_text(GOOD)
    return file


class TestRejections:
    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("policy = (", "bad.py, line 1: '(' was never closed; fix the syntax"),
            ("x = 1", "bad.py has no policy; add for example"),
            (
                "import mooring\na = mooring.Policy('a')\nb = mooring.Policy('b')",
                "bad.py has 2 policies (a, b); specify one: ",
            ),
            ("import no_such_module", "bad.py, line 1 raised ModuleNotFoundError"),
            ("1 / 0", "bad.py, line 1 raised ZeroDivisionError: division by zero"),
            ("import sys; sys.exit(5)", "bad.py, line 1 raised SystemExit: 5"),
            ("import mooring\nmooring.Policy('no good')", "policy name 'no good' is invalid"),
        ],
    )
    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_policies(
        self, run: Run, tmp_path: Path, text: str, sentence: str, workers: str
    ) -> None:
        (tmp_path / "bad.py").write_text(text)
        arguments = ["serve", tmp_path / "bad.py", "--port", "0", "--workers", workers]
        assert sentence in rejected(run(*arguments))

    def test_missing_policies(self, run: Run, tmp_path: Path, good: Path) -> None:
        missing = rejected(run("serve", tmp_path / "none.py", "--port", "0"))
        assert "none.py does not exist; specify a Python file or package.module:policy" in missing
        assert "there is no module 'no_such'" in rejected(run("serve", "no_such:policy"))
        assert "has no policy named 'other'" in rejected(run("serve", f"{good}:other"))
        assert "is a directory" in rejected(run("serve", f"{tmp_path}/"))

    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_a_port_in_use(self, run: Run, good: Path, workers: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            sentence = rejected(run("serve", good, "--port", port, "--workers", workers))
        assert sentence == (
            f"cannot listen on 127.0.0.1 port {port}: Address already in use; use others with "
            "--host and --port"
        )

    @pytest.mark.parametrize("size", ["", "64 Mi", "64M", "Mi", "-1", "1.5Gi", "64mi", "9" * 5000])
    def test_sizes(self, run: Run, good: Path, size: str) -> None:
        sentence = rejected(run("serve", good, "--port", "0", "--max-body", size))
        assert sentence.startswith(f"--max-body {size!r} is not a valid size; use for example 64Mi")

    @pytest.mark.parametrize("option", ["--max-body", "--max-held"])
    @pytest.mark.parametrize("size", ["0", "000", "0Ki"])
    def test_no_size_at_all(self, run: Run, good: Path, option: str, size: str) -> None:
        sentence = rejected(run("serve", good, "--port", "0", option, size))
        assert (
            sentence == f"{option} {size} must be greater than 0; use for example 64Mi or 1000000"
        )

    def test_a_body_that_would_never_find_room(self, run: Run, good: Path) -> None:
        sentence = rejected(run("serve", good, "--port", "0", "--max-held", "64Mi"))
        assert sentence == (
            "--max-held 64Mi is less than --max-body 256Mi, so the largest body would never "
            "fit; raise --max-held or lower --max-body"
        )

    @pytest.mark.parametrize("option", ["--timeout", "--drain"])
    def test_times(self, run: Run, good: Path, option: str) -> None:
        sentence = rejected(run("serve", good, "--port", "0", option, "inf"))
        assert sentence == f"{option} inf is not a valid time; specify a number of seconds"

    @pytest.mark.parametrize("option", ["--prefix", "--predicates-prefix", "--priorities-prefix"])
    def test_paths(self, run: Run, good: Path, option: str) -> None:
        sentence = rejected(run("serve", good, "--port", "0", option, "/a/{b}"))
        assert sentence.startswith(f"{option} '/a/{{b}}' is not a valid path")

    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_certificates(self, run: Run, good: Path, tmp_path: Path, workers: str) -> None:
        arguments = ["serve", good, "--port", "0", "--workers", workers]
        (tmp_path / "ca").mkdir()
        pair = Authority(tmp_path / "ca").server("s")
        both = "TLS needs both --tls-cert and --tls-key"
        cert, key = ["--tls-cert", pair.certificate], ["--tls-key", pair.key]
        assert rejected(run(*arguments, *cert)) == both
        assert rejected(run(*arguments, *key)) == both
        assert rejected(run(*arguments, "--client-ca", pair.certificate)) == both
        sentence = rejected(run(*arguments, *cert, "--tls-key", tmp_path / "none"))
        assert sentence.endswith("none cannot be read: No such file or directory")
        sentence = rejected(run(*arguments, "--tls-cert", good, *key))
        assert "are not a certificate and its key in PEM format" in sentence
        sentence = rejected(run(*arguments, *cert, *key, "--client-ca", good))
        assert "good.py is not a CA file in PEM format" in sentence

    def test_clusters(
        self, run: Run, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arguments = ["serve", good, "--port", "0"]
        assert rejected(run(*arguments, "--node-cache")) == (
            "--node-cache needs a cluster, and none is configured: use --kubeconfig FILE, set "
            "KUBECONFIG, or run inside the cluster"
        )
        assert "none" in rejected(run(*arguments, "--kubeconfig", tmp_path / "none"))
        for text in ("{", "[]", "clusters: 7", "", "current-context: x"):
            file = tmp_path / "kubeconfig"
            file.write_text(text)
            assert "kubeconfig" in rejected(run(*arguments, "--kubeconfig", file))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "gone"))
        assert "KUBECONFIG names" in rejected(run(*arguments))


class TestOptions:
    @pytest.fixture
    def seen(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> list[tuple[ServeOptions, ClusterConfig | None]]:
        found: list[tuple[ServeOptions, ClusterConfig | None]] = []

        def record(
            options: ServeOptions, config: ClusterConfig | None, sock: socket.socket
        ) -> None:
            assert sock.fileno() >= 0
            found.append((options, config))

        monkeypatch.setattr("mooring.extender.server.run", record)
        return found

    def test_defaults(
        self, run: Run, good: Path, seen: list[tuple[ServeOptions, ClusterConfig | None]]
    ) -> None:
        assert run("serve", good, "--port", "0")[0] == 0
        options, config = seen[0]
        assert options == ServeOptions(policy=str(good), port=0)
        assert options.max_body == 256 << 20
        assert config is None

    def test_all(
        self, run: Run, good: Path, seen: list[tuple[ServeOptions, ClusterConfig | None]]
    ) -> None:
        arguments = {
            "--host": "localhost",
            "--port": "0",
            "--prefix": "/scheduler/",
            "--predicates-prefix": "p",
            "--priorities-prefix": "/",
            "--tls-cert": "c",
            "--tls-key": "k",
            "--client-ca": "a",
            "--max-body": "3Ki",
            "--timeout": "2.5",
            "--drain": "0",
        }
        flat = [text for pair in arguments.items() for text in pair]
        code, _, err = run("serve", good, *flat, "--no-node-cache", "--reload")
        assert code == 0
        assert "--predicates-prefix p has no leading /, using /p" in err
        options, _ = seen[0]
        assert options.host == "localhost"
        assert options.routes.prefix == "/scheduler"
        assert options.routes.predicates == "/p"
        assert options.routes.priorities == ""
        assert options.tls_cert == Path("c")
        assert options.tls_key == Path("k")
        assert options.client_ca == Path("a")
        assert options.max_body == 3 << 10
        assert options.timeout == 2.5
        assert options.drain == 0
        assert options.reload
        assert not options.node_cache

    def test_the_cluster(
        self,
        run: Run,
        good: Path,
        tmp_path: Path,
        seen: list[tuple[ServeOptions, ClusterConfig | None]],
    ) -> None:
        home = tmp_path / ".kube"
        home.mkdir()
        (home / "config").write_text(KUBECONFIG)
        run("serve", good, "--port", "0")
        run("serve", good, "--port", "0", "--context", "x")
        run("serve", good, "--port", "0", "--kubeconfig", home / "config")
        # The one in the home folder may be any cluster: it is used only when asked for.
        assert [config and config.server for _, config in seen] == [
            None, "https://h:6443", "https://h:6443",
        ]  # fmt: skip
        assert rejected(run("serve", good, "--port", "0", "--node-cache")).endswith(
            f"; {home}/config is not used by default: --context x uses its current context"
        )


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("1000000", 1_000_000), ("1Ki", 1024), ("64Mi", 64 << 20), ("2Gi", 2 << 30)],
)
def test_sizes_are_read(text: str, count: int) -> None:
    assert _bytes(text, "--max-body") == count


@pytest.mark.parametrize(
    ("text", "path"),
    [("", ""), ("/", ""), ("/a", "/a"), ("/a/", "/a"), ("/a/b.c-d_e~f", "/a/b.c-d_e~f")],
)
def test_paths_are_read(text: str, path: str) -> None:
    assert _path(text, "--prefix") == path


@pytest.mark.parametrize("text", ["/a//b", "/ä", "/a b", "/{name}", "/a?b", "/%41"])
def test_paths_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="--prefix"):
        _path(text, "--prefix")
