"""One extender over real sockets: addresses, TLS, time, size, and everything that can break."""

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from mooring.errors import ConfigError, InputError
from mooring.extender.http_extender import ExtenderError, HttpExtender
from mooring.framework.binding import Binding
from mooring.testing import make_node, make_pod
from tests.unit.extender.fake_extender import (
    fake_extender,
    hang_up,
    session,
    settings,
    status,
)
from tests.unit.kube.certificates import Authority, server_context

POD = make_pod("web")
NODES = [make_node("a"), make_node("b")]
BINDING = Binding(namespace="default", name="web", uid=POD.uid, node_name="a")
KEEP = {"NodeNames": ["a"]}


async def ask(url: str, max_reply: int = 1000, **fields: Any) -> list[str]:
    """Ask a filter with a client of its own; the names it keeps."""
    async with session() as http:
        one = settings(url, **{"filterVerb": "filter", "nodeCacheCapable": True, **fields})
        return (await HttpExtender(one, http, max_reply=max_reply).filter(POD, NODES)).kept


async def sentence(url: str, **fields: Any) -> str:
    """Ask a filter that fails; the sentence, which names the address and no secret."""
    with pytest.raises(ExtenderError) as raised:
        await ask(url, **fields)
    text = str(raised.value)
    assert "\n" not in text
    assert "hunter2" not in text
    assert raised.value.url in text
    return text


class TestAddress:
    @pytest.mark.parametrize(
        ("prefix", "verb", "path"),
        [
            ("", "filter", "/filter"),
            ("/", "filter", "/filter"),
            ("/scheduler", "filter", "/scheduler/filter"),
            ("/scheduler//", "predicates/gpu", "/scheduler/predicates/gpu"),
        ],
    )
    def test_the_verb_follows_the_prefix(self, prefix: str, verb: str, path: str) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies[path] = KEEP
                assert await ask(fake.url + prefix, filterVerb=verb) == ["a"]
                assert fake.headers["content-type"] == "application/json"
                assert fake.headers["user-agent"] == "mooring"
                body = fake.bodies[path][0]
                assert fake.headers["content-length"] == str(len(body))

        asyncio.run(main())

    def test_a_password_is_sent_and_never_shown(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                url = fake.url.replace("://", "://me:hunter2@")
                fake.script.append(status(500, "all is lost"))
                text = await sentence(url)
                assert text == (
                    f"failed filter with extender at URL {fake.url}/filter, code 500: all is lost"
                )
                assert fake.headers["authorization"] == "Basic bWU6aHVudGVyMg=="

        asyncio.run(main())

    def test_an_address_that_is_none(self) -> None:
        async def main() -> None:
            for url in ("extender:8888", "http://", "http://[::1", "/filter", "", "http://x:99999"):
                assert await sentence(url) == (
                    "extender without an address failed filter: its urlPrefix is not a valid "
                    "URL; use for example http://127.0.0.1:8888"
                )

        asyncio.run(main())


class TestStatus:
    @pytest.mark.parametrize("code", [201, 204, 400, 404, 429, 500, 503])
    def test_only_200_will_do(self, code: int) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = status(code, "" if code == 204 else "a\n  b")
                said = "" if code == 204 else ": a b"
                assert await sentence(fake.url) == (
                    f"failed filter with extender at URL {fake.url}/filter, code {code}{said}"
                )

        asyncio.run(main())

    def test_long_words_are_cut(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = status(500, "x" * 100_000)
                assert (await sentence(fake.url)).endswith(f"code 500: {'x' * 200}…")

        asyncio.run(main())

    def test_a_redirection_that_keeps_the_body_is_followed(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.script.append(status(307, Location="/elsewhere"))
                fake.replies["/elsewhere"] = KEEP
                assert await ask(fake.url) == ["a"]
                assert fake.bodies["/elsewhere"] == fake.bodies["/filter"]

        asyncio.run(main())

    def test_an_error_in_the_reply(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = {"NodeNames": ["a"], "Error": "the disk\nis gone"}
                text = f"extender {fake.url} failed filter: the disk is gone"
                assert await sentence(fake.url) == text

        asyncio.run(main())

    def test_a_node_nobody_asked_about(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = {"NodeNames": ["a", "z"]}
                assert await sentence(fake.url) == (
                    f'extender "{fake.url}" claims a filtered node "z" which is not found in the '
                    f"input node list"
                )

        asyncio.run(main())


class TestBrokenExchanges:
    def test_nobody_is_there(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                url = fake.url
            assert await sentence(url) == (
                f"extender {url} failed filter: it cannot be reached: connection refused"
            )

        asyncio.run(main())

    def test_no_such_host(self) -> None:
        text = asyncio.run(sentence("http://nowhere.invalid:8888"))
        assert text.startswith(
            "extender http://nowhere.invalid:8888 failed filter: it cannot be reached: "
        )

    def test_silence(self) -> None:
        async def forever(request: web.Request) -> web.StreamResponse:
            await asyncio.get_running_loop().create_future()
            return web.Response()

        async def slow_body(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b'{"NodeNames":')
            return await forever(request)

        async def main() -> None:
            async with fake_extender() as fake:
                for handler in (forever, slow_body):
                    fake.replies["/filter"] = handler
                    text = await sentence(fake.url, httpTimeout="50ms")
                    assert text == f"extender {fake.url} did not answer filter within 0.05s"

        asyncio.run(main())

    def test_no_time_given_is_five_seconds(self) -> None:
        async def main() -> None:
            async with session() as http:
                for text in ("0s", "-1s"):
                    assert HttpExtender(settings("http://x", httpTimeout=text), http)._seconds == 5
                assert HttpExtender(settings("http://x"), http)._seconds == 5
                assert HttpExtender(settings("http://x", httpTimeout="1m30s"), http)._seconds == 90

        asyncio.run(main())

    def test_a_question_is_asked_again_when_the_connection_was_stale(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = KEEP
                fake.script.append(hang_up)
                assert await ask(fake.url) == ["a"]
                assert fake.paths == ["/filter", "/filter"]
                fake.script.extend([hang_up, hang_up])
                assert await sentence(fake.url) == (
                    f"extender {fake.url} failed filter: it closed the connection"
                )

        asyncio.run(main())

    def test_a_bind_is_not_repeated(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake, session() as http:
                fake.script.append(hang_up)
                fake.replies["/bind"] = {"Error": ""}
                extender = HttpExtender(settings(fake.url, bindVerb="bind"), http)
                with pytest.raises(ExtenderError, match="failed bind: it closed the connection"):
                    await extender.bind(BINDING)
                assert fake.paths == ["/bind"]

        asyncio.run(main())

    def test_an_answer_that_is_cut_off(self) -> None:
        async def cut(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(request)
            await response.write(b"{")
            return await hang_up(request)

        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = cut
                assert (await sentence(fake.url)).startswith(f"extender {fake.url} failed filter: ")

        asyncio.run(main())

    @pytest.mark.parametrize("body", [b"", b"<html>hello</html>", b"[1]", b'{"NodeNames":5}'])
    def test_an_answer_that_cannot_be_read(self, body: bytes) -> None:
        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = body
                assert (await sentence(fake.url)).startswith(
                    f"extender {fake.url} answered filter with an invalid body: "
                )

        asyncio.run(main())

    @pytest.mark.parametrize("chunked", [False, True])
    def test_an_answer_that_is_too_large(self, chunked: bool) -> None:
        async def endless(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            while True:
                await response.write(b" " * 4096)

        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = endless if chunked else b" " * 1001
                assert await sentence(fake.url, max_reply=1000) == (
                    f"extender {fake.url} answered filter with more than 1000 bytes"
                )

        asyncio.run(main())

    def test_a_compressed_answer_counts_in_full(self) -> None:
        async def compressed(request: web.Request) -> web.StreamResponse:
            response = web.Response(body=b" " * 1_000_000)
            response.enable_compression(web.ContentCoding.gzip)
            return response

        async def main() -> None:
            async with fake_extender() as fake:
                fake.replies["/filter"] = compressed
                assert "more than 1000 bytes" in await sentence(fake.url, max_reply=1000)

        asyncio.run(main())

    def test_a_large_request_is_sent_without_a_complaint(self) -> None:
        async def main() -> None:
            async with fake_extender() as fake, session() as http:
                annotations = {"filling": "x" * 3_000_000}
                fake.replies["/filter"] = KEEP
                one = settings(fake.url, filterVerb="filter", nodeCacheCapable=True)
                pod = make_pod("big", annotations=annotations)
                reply = await HttpExtender(one, http).filter(pod, NODES)
                assert reply.kept == ["a"]
                assert len(fake.bodies["/filter"][0]) > 3_000_000

        asyncio.run(main())


class TestTls:
    @pytest.fixture
    def authority(self) -> Authority:
        return Authority()

    @pytest.fixture
    def served(self, authority: Authority, tmp_path: Path) -> ssl.SSLContext:
        return server_context(tmp_path, authority, clients=ssl.CERT_OPTIONAL)

    def test_an_authority_as_data_or_file(
        self, authority: Authority, served: ssl.SSLContext, tmp_path: Path
    ) -> None:
        file = tmp_path / "ca.pem"
        file.write_bytes(authority.pem)

        async def main() -> None:
            async with fake_extender(served) as fake:
                fake.replies["/filter"] = KEEP
                for tls in (
                    {"caFile": str(file)},
                    {"caFile": "/nowhere", "caData": b64(authority)},
                ):
                    for https in (True, False):
                        kept = await ask(fake.url, enableHTTPS=https, tlsConfig=tls)
                        assert kept == ["a"]

        asyncio.run(main())

    def test_an_unknown_authority(self, served: ssl.SSLContext) -> None:
        async def main() -> None:
            async with fake_extender(served) as fake:
                text = await sentence(fake.url)
                assert text.startswith(
                    f"extender {fake.url} failed filter: its certificate is not trusted: "
                )
                text = await sentence(fake.url, tlsConfig={"caData": b64(Authority("other"))})
                assert "its certificate is not trusted" in text

        asyncio.run(main())

    @pytest.mark.parametrize("fields", [{"enableHTTPS": True}, {"tlsConfig": {"insecure": True}}])
    def test_certificates_that_are_not_checked(
        self, served: ssl.SSLContext, fields: dict[str, Any]
    ) -> None:
        async def main() -> None:
            async with fake_extender(served) as fake:
                fake.replies["/filter"] = KEEP
                assert await ask(fake.url, **fields) == ["a"]

        asyncio.run(main())

    def test_the_name_in_the_certificate(
        self, authority: Authority, served: ssl.SSLContext
    ) -> None:
        async def main() -> None:
            async with fake_extender(served) as fake:
                fake.replies["/filter"] = KEEP
                tls = {"caData": b64(authority), "serverName": "kubernetes.default"}
                assert await ask(fake.url, tlsConfig=tls) == ["a"]
                text = await sentence(fake.url, tlsConfig={**tls, "serverName": "other.example"})
                assert "its certificate is not trusted" in text

        asyncio.run(main())

    def test_a_client_certificate(self, authority: Authority, tmp_path: Path) -> None:
        served = server_context(tmp_path, authority, clients=ssl.CERT_REQUIRED)
        pair = authority.issue("scheduler")
        certificate, key = tmp_path / "me.crt", tmp_path / "me.key"
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        ca = {"caData": b64(authority)}

        async def main() -> None:
            async with fake_extender(served) as fake:
                fake.replies["/filter"] = KEEP
                files = {**ca, "certFile": str(certificate), "keyFile": str(key)}
                assert await ask(fake.url, tlsConfig=files) == ["a"]
                data = {**ca, "certData": encode(pair.certificate), "keyData": encode(pair.key)}
                assert await ask(fake.url, tlsConfig=data) == ["a"]
                await sentence(fake.url, tlsConfig=ca)

        asyncio.run(main())

    def test_certificates_that_are_replaced_are_read_again(
        self, authority: Authority, tmp_path: Path
    ) -> None:
        served = server_context(tmp_path, authority, clients=ssl.CERT_NONE)
        file = tmp_path / "ca.pem"
        file.write_bytes(Authority("old").pem)

        async def main() -> None:
            async with fake_extender(served) as fake, session() as http:
                fake.replies["/filter"] = KEEP
                one = settings(
                    fake.url,
                    filterVerb="filter",
                    nodeCacheCapable=True,
                    tlsConfig={"caFile": str(file)},
                )
                extender = HttpExtender(one, http)
                with pytest.raises(ExtenderError, match="not trusted"):
                    await extender.filter(POD, NODES)
                file.write_bytes(authority.pem)
                assert (await extender.filter(POD, NODES)).kept == ["a"]

        asyncio.run(main())

    def test_settings_that_cannot_be(self, authority: Authority, tmp_path: Path) -> None:
        async def main() -> None:
            async with session() as http:
                tls = {"insecure": True, "caData": b64(authority)}
                with pytest.raises(InputError, match="are mutually exclusive; use one of them"):
                    HttpExtender(settings("https://me:hunter2@x", tlsConfig=tls), http)
                tls = {"caFile": str(tmp_path / "nowhere")}
                with pytest.raises(ConfigError, match="authority of extender https://x cannot"):
                    HttpExtender(settings("https://me:hunter2@x", tlsConfig=tls), http)

        asyncio.run(main())


def b64(authority: Authority) -> str:
    return encode(authority.pem)


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


class TestInterest:
    @pytest.mark.parametrize(
        ("spec", "interested"),
        [
            ({"containers": [{"resources": {"requests": {"example.com/gpu": "0"}}}]}, True),
            ({"containers": [{}, {"resources": {"limits": {"example.com/gpu": 1}}}]}, True),
            ({"initContainers": [{"resources": {"requests": {"example.com/gpu": 1}}}]}, True),
            ({"initContainers": [{"resources": {"limits": {"example.com/gpu": 1}}}]}, True),
            ({"containers": [{"resources": {"requests": {"cpu": 1}, "limits": {}}}]}, False),
            ({"containers": [{"resources": {"requests": {"example.com/fpga": 1}}}]}, False),
            ({"resources": {"requests": {"example.com/gpu": 1}}}, False),
            ({"overhead": {"example.com/gpu": 1}}, False),
            ({}, False),
        ],
    )
    def test_managed_resources(self, spec: dict[str, Any], interested: bool) -> None:
        managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
        pod = make_pod("web", spec=spec)

        async def main() -> None:
            async with session() as http:
                one = settings("http://x", managedResources=managed)
                assert HttpExtender(one, http).interested(pod) is interested
                assert HttpExtender(replace(one, managed_resources=()), http).interested(pod)

        asyncio.run(main())
