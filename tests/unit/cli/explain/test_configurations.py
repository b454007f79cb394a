"""Which profile decides, from a file or a running scheduler, and extenders that are asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mooring.testing import make_node, make_pod
from tests.unit.cli.command_line import Run as Explain
from tests.unit.cli.command_line import snapshot_text

PROFILES = {
    "profiles": [
        {"schedulerName": "default-scheduler"},
        {
            "schedulerName": "lenient",
            "plugins": {"filter": {"disabled": [{"name": "NodeUnschedulable"}]}},
        },
    ]
}


@contextmanager
def http_server(answer: Callable[[str, Any], Any]) -> Iterator[str]:
    """Answers every request with JSON; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            data = json.dumps(answer(self.path, json.loads(body) if body else None)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _reply  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: Explain) -> Explain:
    monkeypatch.chdir(tmp_path)
    things = [
        make_node("off", unschedulable=True),
        make_node("small", cpu="1"),
        make_pod("web", requests={"cpu": "2"}, spec={"schedulerName": "lenient"}),
        make_pod("plain", requests={"cpu": "1"}),
    ]
    Path("dump.json").write_text(snapshot_text(things))
    return partial(command_line, "explain", "-s", "dump.json")


class TestProfiles:
    def test_the_pods_own_profile(self, explain: Explain, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(json.dumps(PROFILES))
        code, out, err = explain("web", "--config", "config.json")
        assert (code, err) == (0, "")
        assert "pending · lenient · " in out

    def test_another_profile(self, explain: Explain, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(json.dumps(PROFILES))
        code, out, err = explain(
            "web", "--config", "config.json", "--scheduler-name", "default-scheduler"
        )
        assert (code, err) == (1, "")
        assert "lenient with the profile of default-scheduler" in out
        assert explain("web", "--scheduler-name", "none") == (
            2, "", "moor: there is no profile for the scheduler none, only for default-scheduler\n",
        )  # fmt: skip

    @pytest.mark.parametrize("path", ["", "/", "/configz"])
    def test_a_running_scheduler(self, explain: Explain, path: str) -> None:
        asked = []

        def answer(where: str, _: Any) -> Any:
            asked.append(where)
            return {"componentconfig": PROFILES}

        with http_server(answer) as url:
            code, out, _ = explain("web", "--config", f"{url}{path}")
        assert (code, asked) == (0, ["/configz"])
        assert "pending · lenient · " in out

    def test_what_a_running_scheduler_said_as_a_file(
        self, explain: Explain, tmp_path: Path
    ) -> None:
        (tmp_path / "configz.json").write_text(json.dumps({"componentconfig": PROFILES}))
        assert explain("web", "--config", "configz.json")[0] == 0

    def test_what_kube_scheduler_itself_says(self, explain: Explain) -> None:
        recorded = Path(__file__).with_name("kube-scheduler-configz.json")
        code, out, err = explain("web", "--config", str(recorded))
        assert code == 1
        assert "lenient with the profile of volcano" in out
        assert "moor: the extender http://127.0.0.1:9 was not called; " in err

    def test_a_scheduler_that_does_not_answer(self, explain: Explain) -> None:
        with http_server(lambda *_: {}) as url:
            pass
        code, _, err = explain("web", "--config", url)
        assert code == 2
        assert err.startswith(f"moor: {url}/configz cannot be read: ")
        assert err.count("\n") == 1


class TestExtenders:
    def config(self, folder: Path, *urls: str) -> str:
        extenders = [
            {"urlPrefix": url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1}
            for url in urls
        ]
        (folder / "config.json").write_text(json.dumps({"extenders": extenders}))
        return "config.json"

    def test_they_are_asked(self, explain: Explain, tmp_path: Path) -> None:
        def answer(path: str, body: Any) -> Any:
            assert path == "/filter"
            names = [one["metadata"]["name"] for one in body["Nodes"]["items"]]
            return {"NodeNames": [], "Nodes": {"items": []},
                    "FailedNodes": dict.fromkeys(names, "no licence")}  # fmt: skip

        with http_server(answer) as url:
            config = self.config(tmp_path, url)
            code, out, err = explain("plain", "--config", config, "--ask-extenders")
        assert (code, err) == (1, "")
        assert out.startswith("✗ default/plain is pending: it is rejected by Extender: no licence.")
        assert "✗ 1  small  Extender: no licence" in out

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            ({"FailedNodes": {"small": "two\nlines\x1b[2J"}}, r"two lines\x1b[2J"),
            ({}, "no reason given"),
            (None, "no reason given"),
        ],
    )
    def test_what_they_reject_is_not_promised(
        self, explain: Explain, tmp_path: Path, reply: Any, why: str
    ) -> None:
        with http_server(lambda *_: reply) as url:
            config = self.config(tmp_path, url)
            code, out, _ = explain("plain", "--config", config, "--ask-extenders")
        assert code == 1
        assert f"✗ 1  small  Extender: {why}\n" in out
        # Nobody knows what would help against an extender; another node's taint may be removed.
        assert "fits then on small" not in out
        assert "Smallest change that helps: ." not in out
        assert "like small" not in out
        assert "1. uncordon off" in out

    def test_which_were_not_asked(self, explain: Explain, tmp_path: Path) -> None:
        config = self.config(tmp_path, "http://me:secret@one/a", "http://two")
        _, _, err = explain("plain", "--config", config)
        assert err == (
            "moor: the extenders http://one/a and http://two were not called; use "
            "--ask-extenders to call them\n"
        )

    def test_one_that_does_not_answer(self, explain: Explain, tmp_path: Path) -> None:
        with http_server(lambda *_: {}) as url:
            pass
        config = self.config(tmp_path, url)
        code, out, err = explain("plain", "--config", config, "--ask-extenders")
        assert (code, out) == (2, "")
        assert url in err
        assert err.endswith("; omit --ask-extenders to explain without it\n")
