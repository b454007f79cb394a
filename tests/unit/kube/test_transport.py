import asyncio
import json
import socket
import ssl
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mooring.errors import ConfigError, KubeError
from mooring.kube.client import Client
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.credentials import Credentials
from mooring.kube.exec_plugin import ExecPlugin, ExecSpec
from mooring.kube.transport import keep_alive, make_context, proxy_for
from tests.unit.kube.certificates import Authority, server_context
from tests.unit.kube.fake_api import fake_api

V1 = "client.authentication.k8s.io/v1"


async def ask(config: ClusterConfig, method: str = "GET") -> bytes:
    async with Client(config) as client:
        return await client.request(method, "/x", body=None if method == "GET" else b"{}")


#: Writes have a transport of their own.
both_transports = pytest.mark.parametrize("method", ["GET", "POST"])


@both_transports
def test_servers_are_trusted_only_through_the_authority(tmp_path: Path, method: str) -> None:
    authority = Authority()
    (tmp_path / "ca.crt").write_bytes(authority.pem)

    async def main() -> None:
        tls = server_context(tmp_path, authority, clients=ssl.CERT_NONE)
        async with fake_api(tls) as api:
            await ask(replace(api.config, ca_data=authority.pem), method)
            await ask(replace(api.config, ca_file=tmp_path / "ca.crt"), method)
            await ask(replace(api.config, insecure=True), method)
            name = "kubernetes.default"
            await ask(replace(api.config, ca_data=authority.pem, tls_server_name=name), method)
            wrong = (
                api.config,
                replace(api.config, ca_data=Authority("somebody else").pem),
                replace(api.config, ca_data=authority.pem, tls_server_name="other"),
            )
            for config in wrong:
                with pytest.raises(KubeError, match=r"is not trusted: .*; check the certificate"):
                    await ask(config, method)

    asyncio.run(main())


@both_transports
def test_an_authority_that_is_replaced_is_read_again(tmp_path: Path, method: str) -> None:
    authority = Authority()
    file = tmp_path / "ca.crt"
    file.write_bytes(Authority("yesterday's").pem)

    async def main() -> None:
        tls = server_context(tmp_path, authority, clients=ssl.CERT_NONE)
        async with fake_api(tls) as api, Client(replace(api.config, ca_file=file)) as client:
            with pytest.raises(KubeError, match="not trusted"):
                await client.request(method, "/x", body=b"{}")
            file.write_bytes(authority.pem)
            await client.request(method, "/x", body=b"{}")

    asyncio.run(main())


def test_client_certificates_are_shown_and_leave_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority()
    pair = authority.issue("me")
    (tmp_path / "me.crt").write_bytes(pair.certificate)
    (tmp_path / "me.key").write_bytes(pair.key)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    async def main() -> None:
        tls = server_context(tmp_path, authority, clients=ssl.CERT_REQUIRED)
        async with fake_api(tls) as api:
            config = replace(api.config, ca_data=authority.pem)
            await ask(replace(config, cert_data=pair.certificate, key_data=pair.key))
            await ask(replace(config, cert_file=tmp_path / "me.crt", key_file=tmp_path / "me.key"))
            with pytest.raises(KubeError, match=r"(failed|cannot be reached)"):
                await ask(config)

    asyncio.run(main())
    assert list(temporary.iterdir()) == []


@both_transports
def test_certificate_files_are_read_again_after_a_rejection(tmp_path: Path, method: str) -> None:
    authority = Authority()
    pair = authority.issue("me")
    (tmp_path / "me.crt").write_bytes(pair.certificate)
    (tmp_path / "me.key").write_bytes(pair.key)

    async def main() -> None:
        tls = server_context(tmp_path, authority, clients=ssl.CERT_OPTIONAL)
        async with fake_api(tls) as api:
            config = replace(
                api.config,
                ca_data=authority.pem,
                cert_file=tmp_path / "me.crt",
                key_file=tmp_path / "me.key",
            )
            async with Client(config) as client:
                api.deny(401, "Unauthorized", "Unauthorized")
                await client.request(method, "/x", body=b"{}")
            assert len(api.seen) == 2

    asyncio.run(main())


@both_transports
def test_a_program_may_give_the_client_certificate(tmp_path: Path, method: str) -> None:
    authority = Authority()
    pair = authority.issue("me")
    status = {
        "clientCertificateData": pair.certificate.decode(),
        "clientKeyData": pair.key.decode(),
    }
    answer = json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})
    spec = ExecSpec(
        user="me",
        command=sys.executable,
        args=("-c", f"print({answer!r})"),
        api_version=V1,
        interactive_mode="Never",
    )

    async def main() -> None:
        tls = server_context(tmp_path, authority, clients=ssl.CERT_REQUIRED)
        async with fake_api(tls) as api:
            await ask(replace(api.config, ca_data=authority.pem, auth=ExecPlugin(spec)), method)

    asyncio.run(main())


def test_unusable_certificates_are_one_sentence(tmp_path: Path) -> None:
    pair = Authority().issue("me")
    other = Authority().issue("me")
    base = ClusterConfig(server="https://h", source="the test")
    wrong = [
        (replace(base, ca_data=b"secret"), "certificate authority of the test cannot be used"),
        (replace(base, ca_data=b"\xff"), "certificate authority of the test cannot be used"),
        (replace(base, ca_file=tmp_path / "no"), "No such file"),
        (replace(base, cert_data=b"secret", key_data=b"secret"), "client certificate of the test"),
        (replace(base, cert_data=pair.certificate, key_data=other.key), "mismatch"),
        (replace(base, cert_file=tmp_path / "no", key_data=pair.key), "No such file"),
    ]
    for config, sentence in wrong:
        with pytest.raises(ConfigError, match=sentence) as caught:
            make_context(config, Credentials())
        assert "secret" not in str(caught.value)


def test_a_dead_connection_is_noticed_by_the_kernel() -> None:
    class Transport(asyncio.BaseTransport):
        def get_extra_info(self, name: str, default: object = None) -> object:
            return connection if name == "socket" else default

    with socket.socket() as connection:
        keep_alive(Transport())
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
    keep_alive(None)


@pytest.mark.parametrize(
    ("server", "env", "proxy"),
    [
        ("https://h:6443", {}, None),
        ("https://h:6443", {"HTTPS_PROXY": "http://p"}, "http://p"),
        ("https://h:6443", {"https_proxy": "p:3128"}, "http://p:3128"),
        ("https://h:6443", {"HTTP_PROXY": "http://p"}, None),
        ("http://h", {"http_proxy": "http://p"}, "http://p"),
        ("https://localhost:6443", {"HTTPS_PROXY": "http://p"}, None),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p"}, None),
        ("https://[::1]:6443", {"HTTPS_PROXY": "http://p"}, None),
        ("https://10.0.0.1", {"HTTPS_PROXY": "http://p", "NO_PROXY": "x, 10.0.0.0/8"}, None),
        ("https://[fd00::1]", {"HTTPS_PROXY": "http://p", "NO_PROXY": "fd00::/8"}, None),
        ("https://11.0.0.1", {"HTTPS_PROXY": "http://p", "NO_PROXY": "10.0.0.0/8"}, "http://p"),
        ("https://a.b.c", {"HTTPS_PROXY": "http://p", "no_proxy": "b.c"}, None),
        ("https://a.b.c", {"HTTPS_PROXY": "http://p", "no_proxy": ".b.c"}, None),
        ("https://a.b.c", {"HTTPS_PROXY": "http://p", "no_proxy": "*.b.c"}, None),
        ("https://ab.c", {"HTTPS_PROXY": "http://p", "no_proxy": "b.c,,"}, "http://p"),
        ("https://h:6443", {"HTTPS_PROXY": "http://p", "NO_PROXY": "h:6443"}, None),
        ("https://h:6443", {"HTTPS_PROXY": "http://p", "NO_PROXY": "h:443"}, "http://p"),
        ("https://h:6443", {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, None),
    ],
)
def test_proxies_of_the_environment(server: str, env: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(ClusterConfig(server=server), env) == proxy


def test_the_kubeconfigs_proxy_goes_first_and_its_failure_is_told() -> None:
    async def main() -> None:
        async with fake_api() as api:
            config = ClusterConfig(server="https://h:6443", proxy_url=api.url)
            assert proxy_for(config, {"NO_PROXY": "*"}) == api.url
            api.answer(407)
            with pytest.raises(KubeError, match="proxy to the API server https://h:6443 answered"):
                await ask(config)
        with pytest.raises(KubeError, match=r"proxy to the API server .* cannot be reached"):
            await ask(config)

    asyncio.run(main())
