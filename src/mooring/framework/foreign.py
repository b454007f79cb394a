"""The border to code that is not mooring's own: hooks of plugins and functions of policies.

Every call across it goes through `call` or `wait`, and a policy's file through `run`. Whatever that
code raises, an ordinary exception comes out, so a plugin can fail but never end the process. And
whoever limits its time can see from the stack whether foreign code runs at this moment
(`crossing`): mooring's own code, which may be in the middle of changing the state, must never be
interrupted.

    turn of the scheduler ─> runtime ─> call ─┆─> plugin ─> its libraries      may be interrupted
                                              ┆      └────> node.free ─> state  may not, just now
"""

import functools
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, FunctionType, MemberDescriptorType, MethodType, TracebackType
from typing import Any, Final, NamedTuple, TypeVar, cast

from mooring.errors import EscapeError, MooringError

T = TypeVar("T")


class Interruption(BaseException):
    """Raised inside foreign code to end it; not an `Exception`, so that it is not caught there.

    Its text completes a sentence, such as "it was interrupted because the decision took longer
    than 5 seconds".
    """


def call(function: Callable[..., T], *args: Any) -> T:
    """Call foreign code.

    Raises:
        EscapeError: it was interrupted, or raised what is no `Exception`.
        Exception: whatever else it raised.
    """
    try:
        return _cross(function, args)
    except Exception:
        raise
    except BaseException as error:
        raise _escape(error) from error


def run(function: Callable[..., T], *args: Any) -> T:
    """Run the code of a module, on behalf of somebody who may want to interrupt it.

    Raises:
        EscapeError: it was interrupted.
        BaseException: whatever else it raised, Ctrl-C included.
    """
    try:
        return _cross(function, args)
    except Interruption as error:
        raise _escape(error) from error


def entry(function: Callable[..., T]) -> Callable[..., T]:
    """The way to call a function often: through the border if it is foreign, or as it is."""
    return functools.partial(call, function) if is_foreign(function) else function


async def wait(function: Callable[..., object], *args: Any) -> object:
    """Call foreign code that may wait for the outside world.

    A cancellation passes: only who runs the task knows whether the task or the plugin's own work
    was cancelled.

    Raises:
        EscapeError: it was interrupted, or tried to end the process.
        Exception: whatever else it raised.
    """
    try:
        return await _cross_and_wait(function, args)
    except Exception:
        raise
    except BaseException as error:
        if _is_cancellation(error) or _is_closing(error):
            raise
        raise _escape(error) from error


def _is_cancellation(error: BaseException) -> bool:
    # This layer does not import asyncio; without it nobody is cancelled.
    asyncio = sys.modules.get("asyncio.exceptions")
    return asyncio is not None and issubclass(type(error), asyncio.CancelledError)


def _is_closing(error: BaseException) -> bool:
    """Whether the coroutine that waits is being closed, and not foreign code raised this.

    Python closes what is awaited first, and then raises at the ``await`` itself.
    """
    if not issubclass(type(error), GeneratorExit):
        return False
    trace = _traceback(error)
    return trace is None or trace.tb_next is None


# The border itself: whatever is raised in these frames, from their first instruction on, is caught
# by their callers.


def _cross(function: Callable[..., T], args: tuple[Any, ...]) -> T:
    return function(*args)


async def _cross_and_wait(function: Callable[..., object], args: tuple[Any, ...]) -> object:
    answer = function(*args)
    return await answer if inspect.isawaitable(answer) else answer


#: Between taking a lock and the block that will release it again there is a moment in these: an
#: interruption would leave a lock held that all threads need to log a line.
_LOCKING: Final = frozenset(
    one.__code__
    for one in (
        logging.Handler.acquire,
        logging.Handler.release,
        logging.Handler.handle,
        getattr(logging, "_acquireLock", logging.Handler.acquire),
        getattr(logging, "_releaseLock", logging.Handler.release),
    )
)
#: So is a lock that all threads need to import a module.
_IMPORTING: Final = "importlib._bootstrap"
#: These only look at what foreign code returned, logs or gave them, which may be foreign code again
#: (an iterator, a property, an array): they change nothing and may be interrupted in the middle.
_TRANSPARENT: Final = frozenset(
    f"mooring.{name}"
    for name in ("cli.log_lines", "framework.hook_answers", "framework.plans.plan_answers",
                 "framework.decisions.post_filter_answers", "framework.remedies.remedy_answers",
                 "framework.rules", "framework.verdict", "framework.nodes", "framework.binding",
                 "model.selectors", "model.taints", "model.quantity")
)  # fmt: skip
_BORDER: Final = frozenset({_cross.__code__, _cross_and_wait.__code__})


def crossing(frame: FrameType | None) -> FrameType | None:
    """The border that foreign code runs behind in this stack; None if mooring's own code runs.

    Args:
        frame: the innermost frame. Libraries belong to whoever called them.
    """
    if frame is not None and (
        frame.f_code in _LOCKING or dict.get(frame.f_globals, "__name__") == _IMPORTING
    ):
        return None
    while frame is not None and not _is_own(frame):
        frame = frame.f_back
    return frame if frame is not None and _is_crossing(frame) else None


def is_border(frame: FrameType) -> bool:
    """Whether a frame is the border itself; its ``function`` is called with its ``args``."""
    return frame.f_code in _BORDER


def is_ours(frame: FrameType) -> bool:
    """Whether a frame is of mooring's own code."""
    return _is_ours(dict.get(frame.f_globals, "__name__"))


def own_part(error: BaseException) -> TracebackType | None:
    """The part of an error's traceback behind the border; None if it never crossed it."""
    found, trace = None, _traceback(error)
    while trace is not None:
        if trace.tb_frame.f_code in _BORDER:
            found = trace.tb_next
        trace = trace.tb_next
    return found


def is_crossed(frame: FrameType | None) -> bool:
    """Whether there is foreign code in this stack, even if it calls mooring's own just now.

    Args:
        frame: the innermost frame.
    """
    return any(_crossings(frame))


def first_crossing(frame: FrameType | None) -> FrameType | None:
    """The border that was crossed first in this stack: all other foreign code is called behind it.

    Args:
        frame: the innermost frame.
    """
    crossings = list(_crossings(frame))
    return crossings[-1] if crossings else None


def _crossings(frame: FrameType | None) -> Iterator[FrameType]:
    """The borders with foreign code behind them, the innermost first."""
    own = False
    while frame is not None:
        if not own and _is_crossing(frame):
            yield frame
        own = _is_own(frame)
        frame = frame.f_back


def is_foreign(thing: type | Callable[..., object]) -> bool:
    """Whether a class or function is not mooring's own; of a method, its object's class counts."""
    owner = getattr(thing, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        thing = type(owner)
    return not _is_ours(getattr(thing, "__module__", None))


def text_of(thing: object, show: Callable[[Any], str] = str) -> str:
    """What a foreign object says of itself; only its class if it cannot say that."""
    try:
        text = call(show, thing)
    except Exception:  # noqa: BLE001 - it is not our object
        return f"a {class_name(type(thing))}"
    return plain(text) if issubclass(type(text), str) else f"a {class_name(type(thing))}"


def plain(text: str) -> str:
    """Somebody else's text as one that can be compared, sent and written down."""
    if type(text) is not str:
        text = str.__str__(text)  # a class of its own may do anything when it is hashed
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


class Told(NamedTuple):
    """What is to be told of an error that foreign code raised.

    Attributes:
        text: what it says; of an error that is not mooring's, its class as well.
        error: one whose traceback can be written without running foreign code. That is the error
            itself if its classes and what it holds are ordinary, and another one with the same text
            and traceback if not.
    """

    text: str
    error: BaseException


def tell(error: BaseException) -> Told:
    """Find out what to tell of an error; the only place where it is asked."""
    kind, said = type(error), text_of(error)
    # mooring's own errors are sentences already; a stranger's need their class to be understood.
    ours = issubclass(kind, MooringError)
    text = said if ours else f"{class_name(kind)}: {said}" if said else class_name(kind)
    return Told(text, _presentable(error, text))


# What every exception and every class has: asked in this way, none of its own code is run.
_cause: Final[Callable[[BaseException], BaseException | None]] = vars(BaseException)[
    "__cause__"
].__get__
_traceback: Final[Callable[[BaseException], TracebackType | None]] = vars(BaseException)[
    "__traceback__"
].__get__
_mro: Final[Callable[[type], tuple[type, ...]]] = vars(type)["__mro__"].__get__
_members: Final[Callable[[type], Mapping[str, object]]] = vars(type)["__dict__"].__get__


def class_name(kind: type) -> str:
    """The name of a foreign class."""
    return plain(vars(type)["__name__"].__get__(kind))


def _module(kind: type) -> str:
    module = vars(type)["__module__"].__get__(kind)
    return module if type(module) is str else ""


def _presentable(error: BaseException, text: str) -> BaseException:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        if not _is_ordinary(one):
            break
        seen.add(id(one))
        cause = one.__cause__  # not asked whether it is true: that may be foreign code
        if cause is None and not one.__suppress_context__:
            cause = one.__context__
        one = cause
    else:
        return error
    shown = EscapeError(text)
    if (interruption := interruption_in(error)) is not None:
        shown.__cause__ = Interruption(text_of(interruption))
    return shown.with_traceback(_traceback(error))


def interruption_in(error: BaseException | None) -> Interruption | None:
    """The interruption that an error comes from; None if it has another cause."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if issubclass(type(error), Interruption):
            return cast("Interruption", error)
        seen.add(id(error))
        error = _cause(error)
    return None


#: What an exception's class must not have to be written down without running its code.
_TELLING: Final = frozenset(
    ("__str__", "__repr__", "__class__", "__getattribute__", "__getattr__", "__notes__", "args",
     "__dict__", "__cause__", "__context__", "__suppress_context__", "__traceback__", "__bool__",
     "__len__")
)  # fmt: skip
#: The same for an object whose attributes are listed: Python does so for what was misspelt.
_LISTING: Final = frozenset(("__dir__", "__class__", "__getattribute__", "__getattr__"))
_ORDINARY: Final = (str, bytes, int, float, bool, type(None))


def _is_ordinary(error: BaseException) -> bool:
    kind = type(error)
    # A class of classes may do anything, too.
    if type(kind) is not type or _has_own(kind, _TELLING):
        return False
    parts = [*error.args, *dict.values(vars(error))]
    # These keep more than their arguments, such as a file's name.
    for known in _python_classes(kind):
        for name, part in vars(known).items():
            if type(part) is MemberDescriptorType:
                value = part.__get__(error)
                if known is AttributeError and name == "obj":  # only its attributes are listed
                    if _has_own(type(value), _LISTING):
                        return False
                    continue
                parts.append(value)
    # Without a set: a class may be hashed by foreign code.
    return all(any(type(one) is ordinary for ordinary in _ORDINARY) for one in parts)


def _python_classes(kind: type[BaseException]) -> list[type]:
    return [one for one in _mro(kind) if _module(one) == "builtins"]


def _has_own(kind: type, names: frozenset[str]) -> bool:
    """Whether a class has its own of these; Python's and mooring's do no harm."""
    return any(
        type(name) is not str or name in names
        for one in _mro(kind)
        if not (_module(one) == "builtins" or _is_ours(_module(one)))
        for name in _members(one)
    )


def _is_crossing(frame: FrameType) -> bool:
    """Whether a frame is the border and leads to foreign code; mooring's own plugins pass it, too.

    Without a question to the function, which may be any object.
    """
    if frame.f_code not in _BORDER:
        return False
    function = frame.f_locals["function"]
    if type(function) is MethodType:
        module = _module(type(function.__self__))
    elif type(function) is FunctionType:
        module = function.__module__
    else:
        return True
    return not _is_ours(module) or module in _TRANSPARENT


def _is_own(frame: FrameType) -> bool:
    name = dict.get(frame.f_globals, "__name__")
    return _is_ours(name) and name not in _TRANSPARENT


def _is_ours(module: object) -> bool:
    return type(module) is str and (module == "mooring" or module.startswith("mooring."))


def _escape(error: BaseException) -> EscapeError:
    text = text_of(error)
    kind = type(error)
    if issubclass(kind, Interruption):
        return EscapeError(text)
    said = f": {text}" if text else ""
    if issubclass(kind, SystemExit):
        return EscapeError(f"it tried to end the process (SystemExit{said})")
    return EscapeError(f"{class_name(kind)}{said}")
