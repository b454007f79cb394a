"""Foreign tasks on the event loop of a process cannot end it."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvloop

from mooring.process.foreign_tasks import run_to_end

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


def raises(error: BaseException) -> None:
    raise error


async def raises_later(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


def in_a_task(error: BaseException) -> None:
    KEPT.append(asyncio.get_running_loop().create_task(raises_later(error)))


def in_a_callback(error: BaseException) -> None:
    asyncio.get_running_loop().call_soon(raises, error)


KEPT: list[asyncio.Task[None]] = []


@pytest.fixture(params=LOOPS)
def runner(request: pytest.FixtureRequest) -> Any:
    with asyncio.Runner(loop_factory=request.param) as made:
        yield made
    KEPT.clear()


@pytest.mark.parametrize("leave", [in_a_task, in_a_callback])
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_they_raise_is_logged_and_all_goes_on(
    runner: asyncio.Runner,
    leave: Callable[[BaseException], None],
    error: BaseException,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> str:
        for _ in range(3):
            leave(error)
            for _ in range(5):
                await asyncio.sleep(0)
        return "done"

    assert run_to_end(runner, main()) == "done"
    said = [line for line in caplog.messages if "tried to end the process" in line]
    assert len(said) == 3
    assert type(error).__name__ in said[0]
    assert "raise error" in caplog.text


def test_a_loop_that_is_stopped_goes_on(
    runner: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> str:
        for _ in range(3):
            asyncio.get_running_loop().stop()
            await asyncio.sleep(0)
        return "done"

    assert run_to_end(runner, main()) == "done"
    assert caplog.messages == ["a plugin or a policy stopped the event loop; it continues"] * 3


def test_what_they_raise_in_the_last_moment_is_not_what_comes_of_it(
    runner: asyncio.Runner,
) -> None:
    async def main() -> str:
        in_a_callback(SystemExit(3))
        return "done"

    assert run_to_end(runner, main()) == "done"


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt()])
def test_what_ends_the_work_itself_is_raised(runner: asyncio.Runner, error: BaseException) -> None:
    with pytest.raises(type(error)):
        run_to_end(runner, raises_later(error))


@pytest.fixture
def default_signals() -> Iterator[None]:
    """SIGINT as in a process of its own; whoever runs the tests may have changed it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_cancels_the_work_and_twice_ends_it_at_once(runner: asyncio.Runner) -> None:
    """Before the scheduler takes the signals itself."""
    seen: list[str] = []

    async def main() -> None:
        signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            signal.raise_signal(signal.SIGINT)
            seen.append("went on")

    with pytest.raises(KeyboardInterrupt):
        run_to_end(runner, main())
    assert seen == ["cancelled"]
