"""Waiting for an API server that is away, and not for one that refuses us."""

import asyncio

import pytest

from mooring.errors import ApiError
from mooring.kube.client import Client
from mooring.live.health import Health
from mooring.live.reaching import reach
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
                said.append(health.trouble)

            await reach(client, health, sleep=sleep)
            return health.trouble

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
    pauses, said, trouble = play(Prepare(*away))
    assert pauses == [0.25, 0.5, 1, 2, 4, 5, 5]
    assert [text.partition("answered ")[2] for text in said] == [
        *["503: starting."] * 6, "500: confused.",
    ]  # fmt: skip
    assert trouble == ""
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
            await reach(client, Health({}, lambda: 0.0), sleep=sleep)

    with pytest.raises(EnoughError):
        asyncio.run(run())
    assert "cannot be reached: Connection refused" in caplog.text


def test_wrong_credentials_do_not_get_better() -> None:
    with pytest.raises(ApiError, match="does not accept our credentials"):
        play(Prepare((401, "who are you")))


def test_a_missing_right_to_ask_is_an_answer() -> None:
    assert play(Prepare((403, "not you"))) == ([], [], "")
