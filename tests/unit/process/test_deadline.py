"""Foreign code that does not come back is interrupted; mooring's own never is."""

import asyncio
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

import mooring as mr
from mooring.errors import EscapeError
from mooring.framework import foreign
from mooring.process.deadline import Deadline
from mooring.testing import make_node

LATE = r"^it was interrupted because the decision took longer than 0\.05 seconds$"
LATE_STEP = r"^it was interrupted because a step without an await took longer than 0\.05 seconds$"


class Clock:
    """Seconds that grow when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def spin() -> None:
    while True:
        pass


def stubborn() -> None:
    """Catches everything a few times."""
    for _ in range(3):
        try:
            spin()
        except BaseException as error:  # noqa: BLE001
            del error
    spin()


@pytest.mark.parametrize("function", [spin, lambda: time.sleep(3600), stubborn])
def test_foreign_code_that_does_not_return_is_interrupted(function: Callable[[], None]) -> None:
    with Deadline(0.05), pytest.raises(EscapeError, match=LATE):
        foreign.call(function)


class Lazy(dict[str, str]):
    """Whatever it is asked for, it does not answer."""

    def __bool__(self) -> bool:
        spin()
        return True

    def get(self, *_: object) -> Any:
        spin()

    def view(self, *_: object) -> Any:
        spin()

    def keys(self) -> Any:
        spin()

    def __iter__(self) -> Any:
        spin()

    def __len__(self) -> int:
        spin()
        return 0

    def __getitem__(self, key: Any) -> Any:
        spin()

    def __getattr__(self, name: str) -> Any:
        spin()


class LazyName(str):
    __slots__ = ()

    def __hash__(self) -> int:
        spin()
        return 0


def _helpers(lazy: Any, name: str) -> dict[str, Callable[[], object]]:
    """Everything a policy may call that looks at what the policy gave it."""
    nodes = mr.Nodes([make_node("a")])
    selector = mr.LabelSelector(match_labels={"a": "b"})
    binding = mr.Binding(namespace="ns", name="web", uid="u", node_name="a")
    return {
        "accept_if": lambda: mr.accept_if(lazy, "no"),
        "Verdict.and_also": lambda: mr.reject("no").and_also(lazy),
        "Verdicts.each": lambda: mr.Verdicts.each(lazy),
        "Verdicts.where": lambda: mr.Verdicts.where(lazy, mr.reject("no")),
        "Verdicts": lambda: mr.Verdicts(lazy, ())[0],
        "Nodes": lambda: len(mr.Nodes(lazy)),
        "Nodes.take": lambda: mr.Nodes([], rows=lazy).take(lazy),
        "Nodes.allocatable": lambda: nodes.allocatable[name],
        "LabelSelector": lambda: selector.matches(lazy),
        "Requirement": lambda: mr.Requirement(key="a", operator="In").matches(lazy),
        "untolerated": lambda: mr.untolerated(lazy, lazy),
        "Quantity": lambda: mr.Quantity(1) + lazy,
        "parse_quantity": lambda: mr.parse_quantity(name),
        "Binding.annotate": lambda: binding.annotate(lazy),
    }


@pytest.mark.parametrize("helper", _helpers(None, ""))
def test_what_hangs_inside_a_helper_that_a_policy_called_is_interrupted(helper: str) -> None:
    function = _helpers(Lazy(), LazyName("cpu"))[helper]
    with Deadline(0.05), pytest.raises(EscapeError):
        foreign.call(function)


def test_each_piece_of_work_has_the_whole_time() -> None:
    clock = Clock()
    deadline = Deadline(1.0, clock=clock)

    def works(seconds: float) -> None:
        deadline.check(sys._getframe())
        for _ in range(round(seconds / 0.05)):
            clock.now += 0.05
            deadline.check(sys._getframe())

    for _ in range(3):
        deadline.begin()
        foreign.call(works, 0.9)
    with pytest.raises(EscapeError):
        foreign.call(works, 0.2)  # the same piece of work


@pytest.mark.parametrize(
    ("left", "sentence"),
    [
        (None, "the change took longer than 4 seconds"),
        (3.998, "the change took longer than 4 seconds"),
        (3.7, "the change took longer than 4 seconds"),
        (2.5, "the change took longer than 4 seconds, waiting for its turn included"),
    ],
)
def test_the_sentence_has_the_limit_and_not_what_was_left_of_it(
    left: float | None, sentence: str
) -> None:
    """Events with the same text are counted as one."""
    clock = Clock()
    deadline = Deadline(4.0, clock=clock)
    deadline.begin(left, "the change")
    with pytest.raises(EscapeError, match=f"^it was interrupted because {sentence}$"):
        foreign.call(_works, clock, deadline, 100)


def test_foreign_code_that_calls_ours_is_interrupted_when_it_goes_on() -> None:
    clock = Clock()
    deadline = Deadline(1.0, clock=clock)
    seen: list[object] = []

    def plugin() -> None:
        deadline.check(sys._getframe())
        for _ in range(40):
            clock.now += 0.05

            def look(names: dict[str, Any] = {"__name__": "mooring.state.x"}) -> bool:  # noqa: B006
                exec("def change(look, frame): return look(frame())", names)  # noqa: S102
                return bool(names["change"](deadline.check, sys._getframe))

            # `sys._getframe` is called by the state's own code: the innermost frame is mooring's.
            seen.append(look())
        deadline.check(sys._getframe())

    deadline.begin()
    with pytest.raises(EscapeError, match=r"than 1 second$"):
        foreign.call(plugin)
    # Twenty times in time, then too late and not to be interrupted; nothing was raised.
    assert seen == [False] * 19 + [True] * 21


def test_nobody_is_interrupted_while_the_garbage_collector_calls_back() -> None:
    """What is raised there is printed and lost."""
    clock = Clock()
    deadline = Deadline(1.0, clock=clock)
    seen: list[bool] = []

    def called_back(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(deadline.check(sys._getframe()))

    def plugin() -> None:
        deadline.check(sys._getframe())
        for _ in range(30):
            clock.now += 0.05
            gc.collect()
        deadline.check(sys._getframe())

    deadline.begin()
    gc.callbacks.append(called_back)
    try:
        with pytest.raises(EscapeError, match=r"than 1 second$"):
            foreign.call(plugin)
    finally:
        gc.callbacks.remove(called_back)
    assert seen[-1]


def test_an_interruption_ends_a_finalizer_and_then_who_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python prints what is raised in `__del__`, and the code that dropped the object goes on."""
    lost: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: lost.append(one.exc_type))

    class Slow:
        def __del__(self) -> None:
            spin()

    def plugin() -> None:
        Slow()
        spin()

    with Deadline(0.05), pytest.raises(EscapeError, match=LATE):
        foreign.call(plugin)
    assert lost == [foreign.Interruption]


def test_own_code_is_never_late() -> None:
    clock = Clock()
    deadline = Deadline(1.0, clock=clock)
    for _ in range(100):
        clock.now += 1.0
        assert not deadline.check(sys._getframe())


def test_time_during_which_the_process_stood_still_does_not_count() -> None:
    clock = Clock()
    deadline = Deadline(1.0, clock=clock)

    def plugin() -> str:
        deadline.check(sys._getframe())
        clock.now += 3600  # SIGSTOP, SIGCONT
        deadline.check(sys._getframe())
        return "done"

    assert foreign.call(plugin) == "done"


def test_nothing_rings_after_the_end() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with Deadline(0.05):
        assert signal.getsignal(signal.SIGALRM) != before
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_coroutine_is_limited_in_each_step_and_not_while_it_waits() -> None:
    clock = Clock()

    async def waits() -> str:
        for _ in range(3):
            deadline.check(sys._getframe())
            clock.now += 0.09
            deadline.check(sys._getframe())
            await asyncio.sleep(0)
        return "done"

    async def hangs() -> None:
        await asyncio.sleep(0)
        spin()

    deadline = Deadline(0.1, clock=clock)
    assert asyncio.run(deadline.each_step(foreign.wait(waits))) == "done"
    with Deadline(0.05) as deadline, pytest.raises(EscapeError, match=LATE_STEP):
        asyncio.run(deadline.each_step(foreign.wait(hangs)))


def test_a_coroutine_gets_results_errors_and_its_cancellation() -> None:
    deadline = Deadline(10)
    seen: list[str] = []

    async def asks() -> int:
        loop = asyncio.get_running_loop()
        right, wrong = loop.create_future(), loop.create_future()
        loop.call_soon(right.set_result, 7)
        loop.call_soon(wrong.set_exception, KeyError("x"))
        seven: int = await right
        with pytest.raises(KeyError):
            await wrong
        try:
            await loop.create_future()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return seven

    async def main() -> None:
        task = asyncio.create_task(deadline.each_step(asks()))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled"]


def test_nothing_is_interrupted_once_the_signal_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever expires it on another thread meanwhile: SIGALRM would end the process then."""
    deadline = Deadline(1.0)
    sending, stopped = threading.Event(), threading.Event()
    received_by: list[object] = []

    def send(thread: int, number: int) -> None:
        sending.set()
        stopped.wait(0.2)  # as long as it may take the main thread to go on, if it can
        received_by.append(signal.getsignal(number))

    monkeypatch.setattr(signal, "pthread_kill", send)
    with deadline:
        ring = signal.getsignal(signal.SIGALRM)
        expires = threading.Thread(target=deadline.expire, args=("it is over",))
        expires.start()
        assert sending.wait(20)
    stopped.set()
    expires.join()
    deadline.expire("it is over")
    assert received_by == [ring]


def test_who_catches_every_interruption_is_reported() -> None:
    clock = Clock()
    told: list[tuple[int, str]] = []

    def ignored(times: int, frame: FrameType | None) -> None:
        assert frame is not None
        told.append((times, frame.f_code.co_name))

    deadline = Deadline(1.0, clock=clock, ignored=ignored)

    def plugin() -> str:
        for _ in range(200):
            try:
                clock.now += 0.05
                deadline.check(sys._getframe())
            except foreign.Interruption:
                continue
        return "went on"

    assert foreign.call(plugin) == "went on"
    assert [times for times, _ in told] == list(range(1, len(told) + 1))
    assert len(told) > 5
    assert {where for _, where in told} == {"plugin"}
    deadline.begin()
    told.clear()
    with pytest.raises(EscapeError):
        foreign.call(_works, clock, deadline)
    assert told == []


def test_who_comes_back_when_interrupted_ignores_nothing_however_often_it_is_called() -> None:
    """One change of the cluster may ask a hook about many pods."""
    clock = Clock()
    told: list[int] = []
    deadline = Deadline(1.0, clock=clock, ignored=lambda times, _: told.append(times))
    for _ in range(10):
        with pytest.raises(EscapeError):
            foreign.call(_works, clock, deadline)
    assert told == []


def test_who_goes_on_when_a_hook_that_it_asked_was_interrupted_ignores_it() -> None:
    clock = Clock()
    told: list[int] = []
    deadline = Deadline(1.0, clock=clock, ignored=lambda times, _: told.append(times))

    def asks() -> None:
        for _ in range(4):
            with suppress(EscapeError):
                foreign.call(_works, clock, deadline)

    foreign.call(asks)
    assert told == [1, 2, 3]


def _works(clock: Clock, deadline: Deadline, times: int = 30) -> None:
    for _ in range(times):
        clock.now += 0.05
        deadline.check(sys._getframe())
