import asyncio

import pytest

from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client
from mooring.kube.listing import list_pages
from mooring.kube.watch_protocol import bare_identity
from tests.unit.kube.fake_api import PATH, FakeApi, fake_api


async def names(api: FakeApi, page: int = 2) -> list[list[str]]:
    """The names on each page; between pages the world goes on."""
    found = []
    async with Client(api.config) as client:
        async for items in list_pages(client, PATH, page_objects=page):
            found.append([one.name for raw in items if (one := bare_identity(raw)) is not None])
            if "between" in api.uids:
                api.compact()
                api.put("new")
                api.delete("a")
                del api.uids["between"]
            if "denied" in api.uids:
                api.deny(403, "no", "Forbidden")
    return found


def test_pages() -> None:
    async def main() -> None:
        async with fake_api() as api:
            assert await names(api) == []
            for name in "abcde":
                api.put(name)
            assert await names(api) == [["a", "b"], ["c", "d"], ["e"]]
            assert await names(api, 5) == [["a", "b", "c", "d", "e"]]
            assert [one.query.get("limit") for one in api.seen] == ["2", "2", "2", "2", "5"]

    asyncio.run(main())


def test_a_moment_that_is_forgotten() -> None:
    async def main() -> None:
        async with fake_api() as api:
            for name in "abcde":
                api.put(name)
            api.uids["between"] = ""
            assert await names(api) == [["a", "b"], ["c", "d", "e", "new"]]
            assert "limit" not in api.seen[-1].query

    asyncio.run(main())


def test_errors() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.deny(410, "too old", "Expired")
            with pytest.raises(ApiError, match="too old"):
                await names(api)
            api.answer(200, b"<html>")
            with pytest.raises(KubeError, match="is not a list"):
                await names(api)
            api.put("a")
            api.put("b")
            api.put("c")
            api.uids["denied"] = ""
            with pytest.raises(ApiError, match="403"):
                await names(api)

    asyncio.run(main())
