"""Whether a function can be called as it will be: its parameters, and whether anybody awaits it.

What a function is called with is what the hook of its kind declares, so there is no second list.
Parameters are given by position and may have any name; a name or an annotation that plainly belongs
to another place (``node`` where the pod comes) is a mistake all the same.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Final, NamedTuple

from mooring.framework import hook
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.nodes import Nodes
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.node_info import NodeInfo

#: The hooks that may be ``async``.
_AWAITED: Final = ("pre_bind", "bind", "post_bind")
#: Those that may yield what they have to say.
_LISTED: Final = ("remedies", "requeue_on")
#: The parameters that have one meaning wherever they occur.
_TYPES: Final[Mapping[object, str]] = {
    Pod: "pod", Node: "node", NodeInfo: "node", Nodes: "nodes", Binding: "binding", Cycle: "cycle",
}  # fmt: skip
_ROLES: Final = frozenset(("pod", "node", "nodes", "victims", "binding", "cycle"))
#: The kinds that decide one node, and the same for all of them at once.
_PLURAL: Final = {"filter": "filter_nodes", "score": "score_nodes"}
_SINGULAR: Final = {plural: singular for singular, plural in _PLURAL.items()}


class Called(NamedTuple):
    """How a hook is called.

    Attributes:
        names: its parameters.
        types: what is given for each.
    """

    names: tuple[str, ...]
    types: tuple[Any, ...]


class Signed(NamedTuple):
    """A function that is to be checked.

    Attributes:
        kind: the hook it is, such as ``filter`` or ``pre_score``.
        name: the function's name, or the plugin's.
        function: the function, or the plugin's method.
    """

    kind: str
    name: str
    function: Callable[..., Any]

    @property
    def is_method(self) -> bool:
        """Whether a plugin has it."""
        return isinstance(getattr(self.function, "__self__", None), hook.Hook)

    def __str__(self) -> str:
        if self.is_method:
            return f"{self.kind} of plugin {self.name!r}"
        return f"{self.kind} function {self.name!r}"


HOOKS: Final[Mapping[str, type[hook.Hook]]] = {
    method: kind
    for kind in vars(hook).values()
    if isinstance(kind, type) and issubclass(kind, hook.Hook)
    for method, value in vars(kind).items()
    if inspect.isfunction(value) and not method.startswith("_")
}


@functools.cache
def called_with(kind: str) -> Called:
    """What a hook is called with."""
    method = getattr(HOOKS[kind], kind)
    hints = typing.get_type_hints(method)
    names = tuple(inspect.signature(method).parameters)[1:]
    return Called(names, tuple(hints.get(name) for name in names))


def signature_problem(signed: Signed) -> str:
    """What is wrong with a function's signature, and what to do; empty if nothing is."""
    return _unawaited(signed) or _parameters(signed)


def _unawaited(signed: Signed) -> str:
    kind, function = signed.kind, signed.function
    bodies = [function]
    if not inspect.isroutine(function) and not inspect.isclass(function):
        bodies.append(getattr(function, "__call__", function))  # noqa: B004 - a callable object's
    awaited = kind in _AWAITED
    if any(map(inspect.iscoroutinefunction, bodies)) and not awaited:
        who = "pre_bind, bind and post_bind" if signed.is_method else "only a bind function"
        return f"{signed} is async, but nothing awaits it; use def ({who} may be async)"
    generators = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    yields = any(test(one) for one in bodies for test in generators)
    if yields and kind not in _LISTED:
        return f"{signed} yields its result; use return instead of yield"
    return ""


def _parameters(signed: Signed) -> str:
    wanted = called_with(signed.kind).names
    try:
        # What a decorator of its own wraps may be called with anything.
        signature = inspect.signature(signed.function, follow_wrapped=False)
    except Exception:  # noqa: BLE001 - an object may say anything about its signature
        return ""
    has = f"{signed} takes {_listed(_written(signature))}; it is called with {_listed(wanted)}"
    try:
        signature.bind(*wanted)
    except TypeError:
        return f"{has}, so write {_definition(signed, wanted)}"
    given = _roles(signed, signature)
    wrong = [(name, one) for name, one in zip(wanted, given, strict=False) if one and one != name]
    if not any(name in _ROLES or one in wanted for name, one in wrong):
        return ""
    if sorted(filter(None, given)) == sorted(wanted):
        return f"{has}, so reorder them"
    if wrong == [("node", "nodes")] and signed.kind in _PLURAL:
        return f"{has}, once for each node; {_other(signed, _PLURAL)} gets all nodes at once"
    if wrong == [("nodes", "node")] and signed.kind in _SINGULAR:
        return f"{has}, once for all nodes; {_other(signed, _SINGULAR)} gets one node at a time"
    return f"{has}, so write {_definition(signed, wanted)}"


def _other(signed: Signed, others: Mapping[str, str]) -> str:
    kind = others[signed.kind]
    return f"hook.{HOOKS[kind].__name__}" if signed.is_method else f"@policy.{kind}"


def _roles(signed: Signed, signature: inspect.Signature) -> list[str]:
    """What each positional parameter plainly is; empty where that cannot be told."""
    try:
        hints = typing.get_type_hints(_unbound(signed.function))
    except Exception:  # noqa: BLE001 - an annotation may be any expression
        hints = {}
    roles = []
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            break
        plain = name.strip("_").lower()
        by_type = _TYPES.get(hints.get(name)) if isinstance(hints.get(name), type) else None
        roles.append(by_type or (plain if plain in _ROLES else ""))
    return roles


def _unbound(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function.__func__ if isinstance(function, MethodType) else function


def _written(signature: inspect.Signature) -> list[str]:
    """The parameters as they were written, without types and defaults."""
    marks: dict[object, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    found: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(one[0] == "*" for one in found):
            found.append("*")
        found.append(f"{marks.get(parameter.kind, '')}{name}")
    return found


def _listed(names: typing.Iterable[str]) -> str:
    return f"({', '.join(names)})"


def _definition(signed: Signed, wanted: tuple[str, ...]) -> str:
    if signed.is_method:
        return f"def {signed.kind}{_listed(('self', *wanted))}"
    name = getattr(signed.function, "__name__", signed.name)
    return f"def {name}{_listed(wanted)}"
