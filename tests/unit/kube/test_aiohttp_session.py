"""What goes over aiohttp, because it cannot be written down as it is, is answered like the rest.

A path with a space stands for all of it: such requests take the other transport.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client
from mooring.kube.credentials import FixedCredentials, TokenFile, bearer
from mooring.kube.sessions.api_request import ClientLimits
from tests.unit.kube.fake_api import fake_api

PATH = "/a b"


async def broken(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"half")
    assert request.transport is not None
    request.transport.close()
    return response


async def silent(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"half")
    await asyncio.Event().wait()
    return response


def test_requests_and_streams_have_the_same_headers_as_others() -> None:
    async def main() -> None:
        async with fake_api() as api:
            config = replace(
                api.config, auth=FixedCredentials(bearer("t")), headers=(("X", "1"), ("X", "2"))
            )
            async with Client(config, user_agent="mooring/1") as client:
                api.answer(200, b"done")
                assert await client.request("PUT", PATH, body=b"{}") == b"done"
                api.answer(200, b"done")
                async with client.stream(PATH, {"watch": "true"}) as chunks:
                    assert [chunk async for chunk in chunks] == [b"done"]
            put, stream = api.seen
            assert put.body == b"{}"
            assert put.headers["content-type"] == ["application/json"]
            assert stream.query == {"watch": "true"}
            assert stream.headers["accept-encoding"] == ["identity"]
            for one in api.seen:
                assert one.path == "/a%20b"
                assert one.headers["x"] == ["1", "2"]
                assert one.headers["user-agent"] == ["mooring/1"]
                assert one.headers["authorization"] == ["Bearer t"]

    asyncio.run(main())


def test_rejected_credentials_are_renewed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    async def main() -> None:
        async with (
            fake_api() as api,
            Client(replace(api.config, auth=TokenFile(file))) as client,
        ):
            api.tokens = {"old"}
            await client.request("GET", PATH)
            for token in ("new", "newer"):
                api.tokens = {token}
                file.write_text(token)
                if token == "new":
                    await client.request("GET", PATH)
                else:
                    async with client.stream(PATH) as chunks:
                        assert [chunk async for chunk in chunks]
            assert len(api.seen) == 5

    asyncio.run(main())


def test_streams_end_with_an_error_a_silence_or_what_the_api_server_says() -> None:
    async def main() -> None:
        limits = ClientLimits(stream_read_seconds=0.01)
        async with fake_api() as api, Client(api.config, limits=limits) as client:
            api.script += [broken, silent]
            async with client.stream(PATH, silence_seconds=300) as chunks:
                assert await anext(chunks) == b"half"
                with pytest.raises(KubeError, match="the response was truncated"):
                    await anext(chunks)
            async with client.stream(PATH) as chunks:
                assert [chunk async for chunk in chunks] == [b"half"]
            api.deny(410, "too old", "Expired")
            with pytest.raises(ApiError, match="too old"):
                async with client.stream(PATH):
                    pass

    asyncio.run(main())


def test_what_breaks_is_the_same_sentence() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            api.script.append(broken)
            with pytest.raises(KubeError, match="the response was truncated"):
                await client.request("GET", PATH)
            config = api.config
        async with Client(config) as client:
            for ask in (client.request("GET", PATH), client.request("POST", PATH, body=b"{}")):
                with pytest.raises(KubeError, match="cannot be reached: Connection refused; check"):
                    await ask
            with pytest.raises(KubeError, match="cannot be reached"):
                async with client.stream(PATH):
                    pass

    asyncio.run(main())


def test_a_guard_stops_a_body_and_nothing_else() -> None:
    def guard(method: str, path: str) -> None:
        raise KubeError(f"{method} {path} must not be sent")

    async def main() -> None:
        async with fake_api() as api, Client(api.config, guard=guard) as client:
            with pytest.raises(KubeError, match="POST /a b must not be sent"):
                await client.request("POST", PATH, body=b"{}")
            await client.request("GET", PATH)
            assert [one.method for one in api.seen if one.body] == []

    asyncio.run(main())


def test_proxies_that_say_no_or_are_not_there() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.answer(407)
            config = replace(api.config, server="https://h:1", proxy_url=api.url)
            async with Client(config) as client:
                with pytest.raises(KubeError, match=r"The proxy to .* answered 40[0-9]"):
                    await client.request("GET", "/x")
            closed = replace(api.config, server="http://h:1", proxy_url=api.url)
        async with Client(closed) as client:
            with pytest.raises(KubeError, match=r"The proxy to .* cannot be reached"):
                await client.request("GET", "/x")
            with pytest.raises(KubeError, match=r"The proxy to .* cannot be reached"):
                async with client.stream("/x"):
                    pass

    asyncio.run(main())
