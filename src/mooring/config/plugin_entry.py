"""What is known about a plugin before it is made: its extension points and arguments.

Owns the table of extension points, reading a plugin's arguments, and calling its constructor. Used
by the registry, which keeps one `PluginEntry` for each name.
"""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from mooring.config.strict_decoding import (
    FieldProblem,
    decode,
    join_path,
    nearest,
    raise_problems,
    shown,
)
from mooring.config.types import API_VERSION
from mooring.errors import InputError
from mooring.framework import foreign, hook
from mooring.framework.declarations import check_declarations
from mooring.framework.handle import Handle
from mooring.framework.policy_checks.policy_check import hook_problem

#: The extension points, in the order in which they run, and the hooks that act there.
EXTENSION_POINTS: Final[Mapping[str, tuple[type[hook.Hook], ...]]] = {
    "preEnqueue": (hook.PreEnqueue,),
    "queueSort": (hook.QueueSort,),
    "preFilter": (hook.PreFilter,),
    "filter": (hook.Filter, hook.FilterNodes),
    "postFilter": (hook.PostFilter,),
    "preScore": (hook.PreScore,),
    "score": (hook.Score, hook.ScoreNodes),
    "reserve": (hook.Reserve,),
    "permit": (hook.Permit,),
    "preBind": (hook.PreBind,),
    "bind": (hook.Bind,),
    "postBind": (hook.PostBind,),
}

#: A plugin's class, or a function that makes one; it is given ``args`` and ``handle`` by name.
Factory = Callable[..., hook.Hook]


def extension_points_of(plugin: type[hook.Hook]) -> tuple[str, ...]:
    """The extension points that a plugin's class implements, in the order in which they run."""
    return tuple(point for point, hooks in EXTENSION_POINTS.items() if issubclass(plugin, hooks))


class PluginEntry(msgspec.Struct, frozen=True):
    """A plugin that can be made.

    Attributes:
        name: what configurations call it.
        factory: makes it.
        points: the extension points it implements.
        args: the type of its arguments; None if it takes none.
        summary: one line of what it does.
        origin: the package it comes from.
        ignored_resources_arg: the argument that gets the resources which the scheduler has to
            ignore, as the plugin declares it; empty for none.
    """

    name: str
    factory: Factory
    points: tuple[str, ...]
    args: type[msgspec.Struct] | None = None
    summary: str = ""
    origin: str = ""
    ignored_resources_arg: str = ""

    def read_args(
        self, raw: Mapping[str, Any] | None, path: str, problems: list[FieldProblem]
    ) -> msgspec.Struct | None:
        """The arguments from ``pluginConfig``; None if it takes none or there is a mistake.

        Args:
            raw: the parsed YAML or JSON; None or empty means the defaults.
            path: where they are, for messages.
            problems: gets every mistake.
        """
        given = {key: value for key, value in (raw or {}).items() if value is not None}
        for key, right in (("apiVersion", API_VERSION), ("kind", f"{self.name}Args")):
            found = given.pop(key, right)
            if found != right:
                problems.append(
                    FieldProblem(
                        join_path(path, key), f"{shown(found)} is not supported: must be {right}"
                    )
                )
        if self.args is None:
            text = f"{self.name} takes no arguments: remove them"
            problems += [FieldProblem(join_path(path, str(key)), text) for key in given]
            return None
        args = decode(self.args, given, path, problems)
        check = getattr(args, "check", None)
        rejected = (
            [FieldProblem(join_path(path, where), text) for where, text in check()] if check else []
        )
        problems += rejected
        return None if rejected else args

    def make(
        self, raw_args: Mapping[str, Any] | None, handle: Handle | None, path: str
    ) -> hook.Hook:
        """Make the plugin.

        Args:
            raw_args: its arguments as they were written.
            handle: the scheduler that will run it.
            path: where the arguments are, for messages.

        Raises:
            InputError: its arguments are wrong, its constructor fails, a hook cannot be called as
                it will be, or it declares about itself what nobody can use.
        """
        problems: list[FieldProblem] = []
        args = self.read_args(raw_args, path, problems)
        raise_problems(problems)
        given = {"args": args, "handle": handle}
        try:
            named = inspect.signature(self.factory).parameters
            plugin = self.factory(**{name: given[name] for name in named if name in given})
        except InputError as error:
            raise InputError(str(FieldProblem(path, foreign.text_of(error)))) from error
        except Exception as error:
            said = " ".join(foreign.tell(error).text.split())
            raise InputError(
                f"plugin {self.name} cannot be created: its constructor raised {said}"
            ) from error
        if plugin.name != self.name:
            # It may be registered under another name, and keeps its data under this one.
            plugin.name = self.name
        check_declarations(plugin)
        problem = foreign.call(hook_problem, plugin)
        if problem:
            raise InputError(problem)
        return plugin


def describe_plugin(
    plugin: hook.Hook | type[hook.Hook] | Factory,
    name: str | None = None,
    *,
    points: Iterable[str] | None = None,
    origin: str = "",
) -> PluginEntry:
    """What is known about a plugin.

    Args:
        plugin: its class, a function that makes it, or the plugin itself, ready made.
        name: what configurations call it; the class's own name if left out.
        points: the extension points; needed for a function whose result type does not say.
        origin: the package it comes from; that of the class or function if empty.

    Raises:
        InputError: it is no plugin, or it is not known what it implements.
    """
    if isinstance(plugin, hook.Hook):
        return _ready(plugin, name, origin)
    made = _made_by(plugin)
    called = name or getattr(made, "name", "") or getattr(plugin, "__name__", "")
    if not called:
        raise InputError("a plugin needs a name: set name=")
    return PluginEntry(
        name=called,
        factory=plugin,
        points=_points_of(called, made, points),
        args=getattr(plugin, "Args", None) or getattr(made, "Args", None),
        summary=_first_line(plugin, made),
        origin=origin or str(getattr(plugin, "__module__", "")).partition(".")[0],
        ignored_resources_arg=_ignored_resources_arg(called, made),
    )


def _ready(plugin: hook.Hook, name: str | None, origin: str) -> PluginEntry:
    kind = type(plugin)
    return PluginEntry(
        name=name or plugin.name or kind.__name__,
        factory=lambda: plugin,
        points=extension_points_of(kind),
        summary=_first_line(plugin),
        origin=origin or kind.__module__.partition(".")[0],
    )


def _made_by(plugin: type[hook.Hook] | Factory) -> type[hook.Hook] | None:
    """The class of the plugin, as far as it can be told without making it."""
    if isinstance(plugin, type):
        if not issubclass(plugin, hook.Hook):
            raise InputError(
                f"{plugin.__name__} is not a plugin: inherit from hook.Filter or another hook"
            )
        return plugin
    try:
        made = typing.get_type_hints(plugin).get("return")
    except (NameError, TypeError):
        return None
    known = isinstance(made, type) and issubclass(made, hook.Hook) and made is not hook.Hook
    return cast("type[hook.Hook]", made) if known else None


def _points_of(
    name: str, made: type[hook.Hook] | None, given: Iterable[str] | None
) -> tuple[str, ...]:
    if given is not None:
        wanted = set(given)
        for unknown in sorted(wanted - EXTENSION_POINTS.keys()):
            meant = nearest(unknown, EXTENSION_POINTS)
            hint = f"did you mean {meant}?" if meant else f"use {', '.join(EXTENSION_POINTS)}"
            raise InputError(f"there is no extension point {unknown!r}: {hint}")
        return tuple(point for point in EXTENSION_POINTS if point in wanted)
    if made is None:
        raise InputError(f"the extension points of {name} are unknown: set points=")
    found = extension_points_of(made)
    if not found and not issubclass(made, hook.Preempt):
        raise InputError(
            f"{name} implements no extension point: inherit from hook.Filter or another hook"
        )
    return found


def _ignored_resources_arg(name: str, made: type[hook.Hook] | None) -> str:
    declared: object = made.ignored_resources_arg if made is not None else ""
    if type(declared) is not str:
        raise InputError(
            f"ignored_resources_arg of plugin {name} is {shown(declared)}: must be the name of "
            "one of "
            f"its arguments"
        )
    return declared


def _first_line(*sources: object) -> str:
    for source in sources:
        text = (getattr(source, "__doc__", None) or "").strip()
        if text:
            return str(text.splitlines()[0])
    return ""
