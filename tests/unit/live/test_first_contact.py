"""Waiting for an API server that is away, and not for one that rejects us."""

import asyncio
from typing import Any

import pytest

from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client
from mooring.live.first_contact import wait_for_api_server, wait_synced
from mooring.live.health import Health
from tests.unit.kube.fake_api import FakeApi, fake_api


def play(prepare: "Prepare") -> tuple[list[float], list[str], str]:
    """The pauses, what health said in them, and what it says at the end."""
    pauses: list[float] = []
    said: list[str] = []

    async def run() -> str:
        async with fake_api() as api, Client(api.config) as client:
            prepare(api)
            health = Health({}, lambda: 0.0)

            async def sleep(seconds: float) -> None:
                pauses.append(seconds)
                said.append(health.api_server_error)

            await wait_for_api_server(client, health, sleep=sleep)
            return health.api_server_error

    return pauses, said, asyncio.run(run())


class Prepare:
    """Prepares the next answers."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self._answers = answers

    def __call__(self, api: FakeApi) -> None:
        for status, message in self._answers:
            api.deny(status, message, "")


def test_at_once() -> None:
    assert play(Prepare()) == ([], [], "")


def test_pauses_grow_and_a_sentence_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    away = [(503, "starting")] * 6 + [(500, "confused")]
    pauses, said, api_server_error = play(Prepare(*away))
    assert pauses == [0.25, 0.5, 1, 2, 4, 5, 5]
    assert [text.partition("answered ")[2] for text in said] == [
        *["503: starting."] * 6, "500: confused.",
    ]  # fmt: skip
    assert api_server_error == ""
    assert len(caplog.messages) == 2


def test_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    class EnoughError(Exception):
        pass

    async def run() -> None:
        async with fake_api() as api:
            config = api.config

        async def sleep(seconds: float) -> None:
            raise EnoughError

        async with Client(config) as client:
            await wait_for_api_server(client, Health({}, lambda: 0.0), sleep=sleep)

    with pytest.raises(EnoughError):
        asyncio.run(run())
    assert "cannot be reached: Connection refused" in caplog.text


def test_wrong_credentials_do_not_get_better() -> None:
    with pytest.raises(ApiError, match="rejected the credentials"):
        play(Prepare((401, "who are you")))


def test_a_missing_right_to_ask_is_an_answer() -> None:
    assert play(Prepare((403, "not you"))) == ([], [], "")


class FakeInformer:
    """An informer whose first list ends as it is told."""

    def __init__(self, ends: KubeError | str = "") -> None:
        self._ends = ends

    async def wait_synced(self) -> None:
        if self._ends == "never":
            await asyncio.get_running_loop().create_future()
        if isinstance(self._ends, KubeError):
            raise self._ends


def wait(**informers: Any) -> None:
    asyncio.run(
        wait_synced(
            {name: FakeInformer(ends) for name, ends in informers.items()},  # type: ignore[misc]
            seconds=0.01,
        )
    )


def forbidden(name: str) -> ApiError:
    return ApiError(f"You cannot list {name}; grant it.", status=403, reason="Forbidden")


class TestFirstLists:
    def test_all_complete(self) -> None:
        wait(nodes="", pods="")

    def test_one_is_rejected(self) -> None:
        with pytest.raises(ApiError, match=r"^You cannot list pods; grant it\.$"):
            wait(nodes="never", pods=forbidden("pods"), services="")

    def test_several_are_rejected(self) -> None:
        rejections = {name: forbidden(name) for name in ("nodes", "pods", "services")}
        with pytest.raises(ApiError) as rejected:
            wait(**rejections, namespaces="never")
        assert str(rejected.value) == (
            "You cannot list nodes; grant it. Also rejected: pods, services."
        )
        assert rejected.value.status == 403

    def test_credentials_are_wrong_once(self) -> None:
        wrong = ApiError("Who are you.", status=401)
        with pytest.raises(ApiError, match=r"^Who are you\.$"):
            wait(nodes=wrong, pods=wrong)
