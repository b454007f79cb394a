"""Whatever stands in a kubeconfig, the answer is a request or one sentence, never a traceback."""

import asyncio
import copy
import http.server
import json
import ssl
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.errors import ConfigError, KubeError
from mooring.kube.client import Client
from mooring.kube.config import find_config
from mooring.kube.credentials import TokenFile
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.testing.certificates import Authority

SECRET = "hunter2"
#: Texts that no header, no file name, no URL and no name of a host can hold, and some that can.
ODD = (
    f"{SECRET}\nx", f"{SECRET}\r\nX-Injected: 1", f"{SECRET}\0x", f"{SECRET}\x7f",
    f"\x1b[2J{SECRET}", "\n", " ", "/", f"{SECRET}\u2028é", f"{SECRET}\ud800", "é", "x" * 70_000,
    "https://[::1", "http://h:99999", "https://127.0.0.1:port", "https://127.0.0.1:1\n/x",
    "https://a b/", "http://.../", f"https://{'a' * 300}/", f"http://{SECRET}@[/",
)  # fmt: skip
V1 = "client.authentication.k8s.io/v1"
FIELDS = {
    "cluster": (
        "server", "tls-server-name", "certificate-authority", "certificate-authority-data",
        "proxy-url",
    ),
    "user": (
        "token", "tokenFile", "username", "password", "as", "as-uid", "client-certificate",
        "client-certificate-data", "client-key", "client-key-data",
    ),
    "context": ("cluster", "user", "namespace"),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An API server that answers everything with an empty object, over TLS."""
    pair = Authority(tmp_path_factory.mktemp("ca")).server("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.headers.get("X-Injected") is None
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:
            pass  # clients that hang up

    served = Server(("127.0.0.1", 0), Handler)
    served.socket = context.wrap_socket(served.socket, server_side=True)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://127.0.0.1:{served.server_port}"
    served.shutdown()
    thread.join()
    served.server_close()


def content(server: str, **changes: dict[str, Any]) -> dict[str, Any]:
    """A kubeconfig; the changes are for the cluster, the user and the context."""
    cluster = {"server": server, "insecure-skip-tls-verify": True, **changes.get("cluster", {})}
    context = {"cluster": "c", "user": "u", **changes.get("context", {})}
    return {
        "current-context": "x",
        "contexts": [{"name": "x", "context": context}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": changes.get("user", {})}],
    }


async def _ask(file: Path) -> None:
    async with Client(load_kubeconfig(file)) as client:
        await client.request("GET", "/version")


#: Fields that are no secret: the sentence names what they say.
TOLD = ("tokenFile", "client-certificate", "client-key", "command", "hint", "version")


def outcome(folder: Path, kubeconfig: dict[str, Any], *, secret: bool = False) -> str:
    """What is wrong with asking a server with a kubeconfig; empty if all is well."""
    file = folder / "config"
    file.write_text(json.dumps(kubeconfig))  # JSON is YAML, and knows every text
    try:
        asyncio.run(_ask(file))
    except KubeError as error:
        said = str(error)
        if not said.isprintable():
            return f"not one line: {said!r}"
        if secret and SECRET in said:
            return f"tells the secret: {said}"
        if len(said) > 1000:
            return f"too long: {said[:80]}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def users_with(text: str) -> dict[str, dict[str, Any]]:
    """Users that have a text somewhere deeper."""
    program = {"apiVersion": V1, "interactiveMode": "Never"}
    printing = ["-c", "import sys; print(sys.argv[1])"]

    def saying(**status: str) -> dict[str, Any]:
        answer = json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})
        return {"exec": {**program, "command": sys.executable, "args": [*printing, answer]}}

    return {
        "group": {"as": "x", "as-groups": [text]},
        "key of extra": {"as": "x", "as-user-extra": {text: ["v"]}},
        "extra": {"as": "x", "as-user-extra": {"k": [text]}},
        "command": {"exec": {**program, "command": text}},
        "argument": {"exec": {**program, "command": "true", "args": [text]}},
        "variable": {"exec": {**program, "command": "true", "env": [{"name": text}]}},
        "variable's value": {
            "exec": {**program, "command": "true", "env": [{"name": "X", "value": text}]}
        },
        "hint": {"exec": {**program, "command": "/nowhere", "installHint": text}},
        "version": {"exec": {**program, "command": "true", "apiVersion": text}},
        "token of a program": saying(token=text),
        "time of a program": saying(token="x", expirationTimestamp=text),
        "certificate of a program": saying(clientCertificateData=text, clientKeyData=text),
    }


class TestEveryField:
    @pytest.mark.parametrize(
        ("part", "field"), [(part, field) for part, fields in FIELDS.items() for field in fields]
    )
    def test_gives_an_answer_or_one_sentence(
        self, server: str, tmp_path: Path, part: str, field: str
    ) -> None:
        wrong = {}
        for text in ODD:
            values = {field: text}
            if field.startswith("client-c"):
                values["client-key-data"] = "YQ=="
            if field.startswith("client-k"):
                values["client-certificate-data"] = "YQ=="
            secret = part == "user" and field not in TOLD
            problem = outcome(tmp_path, content(server, **{part: values}), secret=secret)
            if problem:
                wrong[text[:40]] = problem
        assert wrong == {}

    @pytest.mark.parametrize("where", users_with(""))
    def test_and_so_does_what_is_deeper(self, server: str, tmp_path: Path, where: str) -> None:
        wrong = {}
        for text in ODD:
            changed = content(server, user=users_with(text)[where])
            problem = outcome(tmp_path, changed, secret=where not in TOLD)
            if problem:
                wrong[text[:40]] = problem
        assert wrong == {}

    def test_and_so_do_names(self, server: str, tmp_path: Path) -> None:
        wrong = {}
        for text in ODD:
            kubeconfig = copy.deepcopy(content(server))
            kubeconfig["current-context"] = text
            problem = outcome(tmp_path, kubeconfig)
            kubeconfig["contexts"][0] = {"name": text, "context": {"cluster": "c", "user": text}}
            problem = problem or outcome(tmp_path, kubeconfig)
            if problem:
                wrong[text[:40]] = problem
        assert wrong == {}


@pytest.mark.parametrize(
    "text",
    ["token: 2020-99-99", "[" * 100_000, "a: " + "1" * 5000, "? {a: b}\n: c", "users: {1: 2}",
     "- x", "&a [*a]", "users: &a [*a]", "\x00", "!!python/object:os.system {}", "users: 7"],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_kubeconfig_is_told_in_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_kubeconfig(file)
    assert str(error.value).isprintable()


def test_a_token_is_named_with_its_user(server: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(content(server, user={"token": "a\nb"})))
    with pytest.raises(ConfigError) as error:
        load_kubeconfig(file)
    assert str(error.value) == (
        f'The token of user "u" of {file} contains a line break or another control '
        "character; fix it."
    )


@pytest.mark.parametrize("text", ["a\nb", "a\0b", "\x1b", "é\x85x"])
def test_a_token_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        asyncio.run(TokenFile(file).credentials())
    assert str(error.value).isprintable()


@pytest.mark.parametrize("host", ["a b", "a\nb", "[::1", "x" * 300])
def test_the_address_of_a_pods_own_cluster(tmp_path: Path, host: str) -> None:
    for name in ("token", "ca.crt"):
        (tmp_path / name).write_text("x")
    env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443", "HOME": "/"}
    with pytest.raises(ConfigError) as error:
        find_config(default_file=False, env=env, service_account=tmp_path)
    assert str(error.value).isprintable()
