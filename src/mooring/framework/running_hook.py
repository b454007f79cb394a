"""Which plugin is asked, at which hook and for which pod: read from the stack.

Asking costs nothing more for it. For sentences about a hook that does not come back: one that runs
is looked at from the frame in which it was interrupted, one that waits from its coroutine. Never
used while plugins are asked in the ordinary way.
"""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from types import CoroutineType, FrameType, FunctionType, MethodType, TracebackType
from typing import Any, NamedTuple, cast

from mooring.framework import foreign
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.hook import Hook
from mooring.framework.rules import BindRule, Rule
from mooring.model.pod import Pod


class Asked(NamedTuple):
    """Foreign code that has not come back yet; what is not known is empty.

    Attributes:
        plugin: the plugin's name.
        hook: the hook, or the policy's function with its kind, such as ``filter 'gpu'``.
        pod: the pod, as ``namespace/name``.
    """

    plugin: str = ""
    hook: str = ""
    pod: str = ""

    def __str__(self) -> str:
        parts = [
            f"plugin {self.plugin}" if self.plugin else "a plugin",
            f"in {self.hook}" if self.hook else "",
            f"for pod {self.pod}" if self.pod else "",
        ]
        return " ".join(part for part in parts if part)


def asked_in(frame: FrameType | None) -> Asked:
    """Who is asked in this stack.

    Args:
        frame: the innermost frame.
    """
    found = Asked()
    behind = False
    for one in _outward(frame):
        border = foreign.is_border(one)
        behind = behind or border
        if behind and foreign.is_ours(one):
            found = _more(found, one.f_locals, one.f_locals["args"] if border else ())
            if all(found):
                break
    return found


def where_in(frame: FrameType | None) -> str:
    """The line that foreign code is at, as ``file:line``: the innermost one in its own file.

    Args:
        frame: the innermost frame.
    """
    found: list[FrameType] = []
    for one in _outward(frame):
        if found and foreign.is_border(one):
            break
        if not foreign.is_ours(one):
            found.append(one)
    if not found:
        return "nowhere"
    # The last one is the hook; what it called may be in a library, where nobody would look.
    own = found[-1].f_code.co_filename
    line = next(one for one in found if one.f_code.co_filename == own)
    return f"{own}:{line.f_lineno}"


def rule_in(frames: Iterable[FrameType]) -> Rule | None:
    """The policy's function that is waited for in one of these frames."""
    waits = BindRule.prepare_async.__code__
    found = (one.f_locals["self"] for one in frames if one.f_code is waits)
    return cast("Rule | None", next(found, None))


def waiting_frames(work: object) -> list[FrameType]:
    """Where a coroutine that waits stands, the innermost frame last."""
    frames = []
    # Whatever else is awaited in the end may be foreign, and is not looked at.
    while type(work) is CoroutineType and work.cr_frame is not None:
        frames.append(work.cr_frame)
        work = work.cr_await
    return frames


def traceback_of(frames: list[FrameType]) -> TracebackType | None:
    """A traceback that shows these frames, the innermost of which is the last."""
    made: TracebackType | None = None
    for frame in reversed(frames):
        made = TracebackType(made, frame, frame.f_lasti, frame.f_lineno or 0)
    return made


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _more(found: Asked, names: dict[str, Any], args: tuple[Any, ...]) -> Asked:
    """What is known, and what the names in one more frame of mooring's own tell."""
    plugin, hook, pod = found
    function: Any = names.get("function")
    owner: Any = names.get("self")
    if _is_a(owner, Rule):
        rule: Rule = owner
        function = rule.function
        hook = hook or (rule.kind if _is_a(function, MethodType) else f"{rule.kind} {rule.name!r}")
    if not plugin:
        bound = function.__self__ if _is_a(function, MethodType) else None
        known = next((one for one in (bound, owner) if _is_a(one, Hook)), None)
        if known is not None:
            plugin = _name(known)
            named = known is bound and type(function.__func__) is FunctionType
            hook = hook or (function.__func__.__name__ if named else "")
    return Asked(plugin, hook, pod or _pod([*args, *names.values()]))


def _name(plugin: Hook) -> str:
    # Read without running anything of the plugin: it may hang, and nobody could interrupt it here.
    name = inspect.getattr_static(plugin, "name", "")
    text = foreign.plain(name) if _is_a(name, str) else ""
    return text or foreign.class_name(type(plugin))


def _pod(things: Sequence[Any]) -> str:
    """The pod that these are about; the one that is being decided comes first."""
    for one in things:
        if _is_a(one, Cycle):
            return str(one.pod.key)
    return next((str(one.key) for one in things if _is_a(one, Pod) or _is_a(one, Binding)), "")


def _is_a(thing: object, kind: type) -> bool:
    # Its class counts, and not what it says its class is: it may be anything.
    return issubclass(type(thing), kind)
