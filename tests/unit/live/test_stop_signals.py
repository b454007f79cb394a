"""Signals are heard while a hook runs: the first is told, the second ends the process."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable

import pytest
import uvloop

from mooring import hook
from mooring.framework import foreign
from mooring.live.stop_signals import StopSignals
from mooring.model.pod import Pod
from mooring.testing import make_pod

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the scheduler said; threads that other tests left behind may say something, too."""
    return [one.getMessage() for one in caplog.records if one.name == "mooring.live"]


class Slow(hook.PreEnqueue):
    """Takes signals in its hook."""

    def __init__(self, left: list[int]) -> None:
        self._left = left
        self.after: list[list[int]] = []

    def pre_enqueue(self, pod: Pod) -> bool:
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
            self.after.append(list(self._left))
        return True


@pytest.mark.parametrize("new_loop", LOOPS)
def test_both_are_heard_inside_a_hook(
    new_loop: Callable[[], asyncio.AbstractEventLoop], caplog: pytest.LogCaptureFixture
) -> None:
    left: list[int] = []
    noted: list[int] = []
    plugin = Slow(left)
    before = signal.getsignal(signal.SIGTERM)

    async def main() -> None:
        stop = asyncio.Event()
        with StopSignals(stop.set, left.append, lambda: noted.append(len(plugin.after))):
            foreign.call(plugin.pre_enqueue, make_pod("web"))
            assert not stop.is_set()  # the loop is told, and has not had its turn
            assert noted == [0]
            await asyncio.wait_for(stop.wait(), 60)

    caplog.set_level("INFO")
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
    assert plugin.after == [[], [1]]
    asked = "plugin Slow in pre_enqueue for pod default/web"
    assert said(caplog) == [
        f"SIGTERM: stopping once {asked} has returned",
        "SIGINT, the second signal: exiting immediately",
    ]
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_loop_that_rests_is_woken(
    new_loop: Callable[[], asyncio.AbstractEventLoop], caplog: pytest.LogCaptureFixture
) -> None:
    left: list[int] = []
    woken_by_us: list[bool] = []

    async def main() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        # Other threads do it, and the loop has no timer: nothing else would end its rest.
        kills = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
        wakes = threading.Timer(30, loop.call_soon_threadsafe, (woken_by_us.append, True))
        with StopSignals(stop.set, left.append):
            kills.start()
            wakes.start()
            await stop.wait()
        wakes.cancel()
        for thread in (kills, wakes):
            thread.join()

    caplog.set_level("INFO")
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
    assert (said(caplog), left, woken_by_us) == ([], [], [])


def test_a_line_that_cannot_be_written_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def reentrant(*_: object) -> None:
        raise RuntimeError("reentrant call inside <_io.BufferedWriter>")

    monkeypatch.setattr("mooring.live.stop_signals.log.log", reentrant)
    left: list[int] = []
    signals = StopSignals(lambda: None, left.append)
    for _ in range(2):
        signals.on_signal(signal.SIGTERM, None)
    assert left == [1]
