"""The border to foreign code: nothing but ordinary exceptions comes back over it."""

import asyncio
import gc
import logging
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any, ClassVar

import numpy as np
import pytest

from mooring.errors import EscapeError
from mooring.framework import foreign
from mooring.plugins.queueing.scheduling_gates import SchedulingGates
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from mooring.testing import make_pod


class Boom(BaseException):
    """What nobody expects."""


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Boom("x")])
def test_what_would_end_the_process_does_not(error: BaseException) -> None:
    def fails() -> None:
        raise error

    with pytest.raises(EscapeError):
        foreign.call(fails)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Boom("x")])
def test_nor_does_it_where_somebody_waits(error: BaseException) -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise error

    async def main() -> None:
        with pytest.raises(EscapeError):
            await foreign.wait(fails)

    asyncio.run(main())


def test_a_cancellation_passes() -> None:
    async def fails() -> None:
        raise asyncio.CancelledError

    async def main() -> None:
        with pytest.raises(asyncio.CancelledError):
            await foreign.wait(fails)

    asyncio.run(main())


def test_an_interruption_is_caught_wherever_it_strikes() -> None:
    """Raised at every line and every call for which the stack says that foreign code runs."""
    # In a thread of its own: what traces this one, such as coverage, goes on. Nor is anything
    # collected meanwhile: others have hooks for that, which would be struck instead.
    gc.disable()
    try:
        with ThreadPoolExecutor(1) as pool:
            struck = pool.submit(_strike_everywhere, _plugin).result()
    finally:
        gc.enable()
    assert set(struck) == {"_cross", "_plugin"}
    assert struck[0] == "_cross"


def test_a_plugin_of_our_own_is_not_interrupted_even_at_the_border() -> None:
    with ThreadPoolExecutor(1) as pool:
        struck = pool.submit(
            _strike_everywhere, SchedulingGates().pre_enqueue, make_pod("p")
        ).result()
    assert struck == []


def _plugin() -> int:
    return sum(range(3))


def _strike_everywhere(called: Callable[..., object], *args: object) -> list[str]:
    struck: list[str] = []
    for place in range(40):
        seen = 0

        def strike(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal seen
            if foreign.crossing(frame) is not None:
                seen += 1
                if seen > place:  # noqa: B023
                    sys.settrace(None)
                    struck.append(frame.f_code.co_name)
                    raise foreign.Interruption("late")
            return strike

        sys.settrace(strike)
        try:
            foreign.call(called, *args)
        except EscapeError:
            continue
        finally:
            sys.settrace(None)
        break
    return struck


def test_a_plugin_that_extends_one_of_ours_is_foreign() -> None:
    class Mine(NodeResourcesFit):
        pass

    args = NodeResourcesFitArgs()
    assert foreign.is_foreign(Mine(args).filter_nodes)
    assert not foreign.is_foreign(NodeResourcesFit(args).filter_nodes)


def test_nobody_is_interrupted_who_may_hold_the_lock_of_a_log() -> None:
    found: list[tuple[bool, bool]] = []

    class Lock:
        def acquire(self) -> None:
            frame = sys._getframe(1)
            found.append((foreign.is_crossed(frame), foreign.crossing(frame) is None))

        release = acquire

    handler = logging.Handler()
    handler.lock = Lock()  # type: ignore[assignment]
    foreign.call(handler.acquire)
    foreign.call(handler.release)
    assert found == [(True, True), (True, True)]


class Told(Exception):  # noqa: N818
    """An exception with a text of its own."""

    def __str__(self) -> str:
        return "my own text"


class Silent(Exception):  # noqa: N818
    """An ordinary exception."""


def caught(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as raised:  # noqa: BLE001
        return raised


@pytest.mark.parametrize("error", [ValueError("x"), Silent("x", 1), KeyError(3), Silent()])
def test_an_ordinary_error_is_told_as_it_is(error: BaseException) -> None:
    found = caught(error)
    assert foreign.tell(found).error is found


@pytest.mark.parametrize(
    "error", [Told(), ValueError(Told()), caught(ValueError("x"), Told()), Silent([1])]
)
def test_an_error_that_is_foreign_code_is_told_by_another(error: BaseException) -> None:
    found = caught(error, error.__cause__)
    shown = foreign.tell(found).error
    assert type(shown) is EscapeError
    assert str(shown) == f"{type(error).__name__}: {error}"
    assert shown.__traceback__ is found.__traceback__
    assert (shown.__cause__, shown.__context__) == (None, None)


def test_that_it_was_interrupted_is_known_in_any_case() -> None:
    found = foreign.tell(caught(Told(), caught(foreign.Interruption("too late")))).error
    interruption = foreign.interruption_in(found)
    assert interruption is not None
    assert interruption.args == ("too late",)


class Part:
    """A part of an error that no list of its arguments shows."""

    run: ClassVar[list[str]] = []

    def __str__(self) -> str:
        self.run.append("str")
        return "part"

    __repr__ = __str__

    def __dir__(self) -> list[str]:
        self.run.append("dir")
        return []


def with_text(part: Any) -> SyntaxError:
    error = SyntaxError("x")
    error.text = part
    return error


@pytest.mark.parametrize(
    "make",
    [
        lambda part: OSError(2, "x", part),
        lambda part: OSError(2, "x", "a", None, part),
        lambda part: ImportError("x", name=part),
        lambda part: AttributeError("x", name="y", obj=part),
        with_text,
    ],
)
def test_a_part_that_only_its_class_knows_is_foreign_code_too(
    make: Callable[[Any], BaseException],
) -> None:
    shown = foreign.tell(caught(make(Part()))).error
    Part.run.clear()
    traceback.format_exception(shown)
    assert type(shown) is EscapeError
    assert Part.run == []


def test_what_an_error_of_python_itself_holds_is_ordinary() -> None:
    plain = Silent.__new__(Silent)
    for run in (
        lambda: open("/there/is/none"),  # noqa: PTH123
        lambda: plain.labelz,  # type: ignore[attr-defined]
        lambda: None.labels,  # type: ignore[attr-defined]
        lambda: __import__("there_is_none"),
        b"\xff".decode,
        lambda: labels,  # type: ignore[name-defined]  # noqa: F821
    ):
        with pytest.raises(Exception) as found:  # noqa: PT011
            foreign.call(run)
        assert foreign.tell(found.value).error is found.value


class Harm(type):
    """A class of classes that does harm whoever asks for a name."""

    __name__ = property(lambda _: sys.exit(5))
    __module__ = property(lambda _: sys.exit(5))


class Hidden(BaseException):
    """Does harm whoever looks at it."""

    __class__ = property(lambda _: sys.exit(5))
    __cause__ = property(lambda _: sys.exit(5))
    __traceback__ = property(lambda _: sys.exit(5))


@pytest.mark.parametrize("bases", ["Hidden", "Harm Exception", "Harm Hidden"])
def test_nothing_of_an_error_is_asked_outside_the_border(bases: str) -> None:
    # Made here: pytest looks at what it is given, too.
    made: dict[str, Callable[[], Any]] = {
        "Hidden": lambda: Hidden("x"),
        "Harm Exception": lambda: Harm("Odd", (Exception,), {})("x"),
        "Harm Hidden": lambda: Harm("Odd", (Hidden,), {})("x"),
    }
    error: BaseException = made[bases]()

    def fails() -> None:
        raise error

    came: list[BaseException] = []
    try:
        foreign.call(fails)
    except Exception as raised:  # noqa: BLE001
        came.append(raised)
    told = foreign.tell(came[0])
    assert "x" in told.text
    assert type(told.error) is EscapeError
    assert foreign.interruption_in(error) is None
    traceback.format_exception(told.error)


def test_what_an_interruption_says_is_plain() -> None:
    error = caught(Told(), caught(foreign.Interruption(Told())))
    found = foreign.interruption_in(foreign.tell(error).error)
    assert found is not None
    assert found.args == ("my own text",)


def test_an_error_that_is_its_own_cause_has_an_end() -> None:
    error = ValueError("mine")
    error.__cause__ = error
    assert foreign.interruption_in(error) is None
    assert foreign.tell(error).error is error


def test_a_foreign_text_can_be_sent_and_compared() -> None:
    class Text(str):
        """Cannot be hashed."""

        __slots__ = ()
        __hash__ = None  # type: ignore[assignment]

    assert [foreign.plain(one) for one in ("a", "\u00e4", "a\ud800b")] == ["a", "\u00e4", "a?b"]
    assert type(foreign.plain(Text("x"))) is str
    assert type(foreign.plain(np.str_("x"))) is str


class Liar(BaseException):
    """Does harm whoever asks what it is."""

    __class__ = property(lambda _: sys.exit(7))


class Nameless(type):
    """A class of classes that do harm whoever asks them for anything, such as their name."""

    def __getattribute__(cls, name: str) -> Any:
        sys.exit(8)


def unnamed(base: type[BaseException]) -> Any:
    """An error with such a class, which pytest must not find in this module."""
    return Nameless("Unnamed", (base,), {})("x")


class Unhashed(type):
    """A class of classes that do harm when they are looked for."""

    def __hash__(cls) -> int:  # noqa: PLE0309 - it never does
        sys.exit(12)

    __eq__ = __hash__  # type: ignore[assignment]


def unhashed() -> Any:
    return Unhashed("Part", (), {})()


class Chained(Exception):  # noqa: N818
    """Does harm whoever asks where it comes from."""

    __cause__ = __context__ = __traceback__ = property(lambda _: sys.exit(9))


class Untrue(Exception):  # noqa: N818
    """Does harm whoever asks whether it is true."""

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never does
        sys.exit(11)


class Attributes(dict[str, object]):
    """Does harm when it is looked through."""

    def values(self) -> Any:
        sys.exit(10)


def with_attributes() -> Exception:
    error = Silent("x")
    error.__dict__ = Attributes(one=1)
    return error


HOSTILE: dict[str, Callable[[], BaseException]] = {
    "its class": lambda: Liar("x"),
    "its class's name": lambda: unnamed(Exception),
    "the name of a way out": lambda: unnamed(SystemExit),
    "its cause": lambda: Chained("x"),
    "its attributes": with_attributes,
    "the class of a part": lambda: ValueError("x", unhashed()),
    "the truth of its cause": lambda: caught(ValueError("x"), Untrue()),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_an_error_is_not_asked_what_it_is(what: str) -> None:
    def fails() -> None:
        error = HOSTILE[what]()
        raise error

    async def wait() -> None:
        await foreign.wait(fails)

    ways: list[Callable[[], object]] = [lambda: foreign.call(fails), lambda: asyncio.run(wait())]
    for cross in ways:
        try:
            cross()
        except Exception as error:  # noqa: BLE001 - pytest.raises would ask its class
            told = foreign.tell(error)
        else:
            pytest.fail("it did not raise")
        assert "x" in told.text
        assert foreign.interruption_in(told.error) is None
        record = logging.LogRecord(
            "mooring", logging.ERROR, "", 0, "no", (), (type(told.error), told.error, None)
        )
        assert "x" in logging.Formatter().format(record)


def test_the_name_of_a_hostile_class_is_told() -> None:
    assert foreign.tell(unnamed(Exception)).text == "Unnamed: x"
    assert foreign.text_of(unnamed(Exception), lambda _: sys.exit(3)) == "a Unnamed"


def test_the_stack_is_read_without_asking_a_plugins_class() -> None:
    found: list[bool] = []

    def hook(self: object) -> None:
        found.append(foreign.is_crossed(sys._getframe()))

    plugin = Nameless("Plugin", (), {"hook": hook})()
    foreign.call(plugin.hook)
    assert found == [True]


def test_nothing_but_a_cancellation_passes_for_one() -> None:
    class CancelledError(SystemExit):
        """Has only the name of one."""

    async def main() -> None:
        with pytest.raises(EscapeError):
            await foreign.wait(_raising(CancelledError(3)))

    asyncio.run(main())


def test_a_generator_exit_of_the_plugins_own_does_not_pass() -> None:
    async def main() -> None:
        with pytest.raises(EscapeError, match="GeneratorExit"):
            await foreign.wait(_raising(GeneratorExit()))

    asyncio.run(main())


def test_closing_what_waits_is_no_failure() -> None:
    async def waits() -> None:
        await asyncio.get_running_loop().create_future()

    async def main() -> None:
        work = foreign.wait(waits)
        work.send(None)
        work.close()

    asyncio.run(main())


def _raising(error: BaseException) -> Callable[[], Any]:
    async def fails() -> None:
        raise error

    return fails
