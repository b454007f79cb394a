"""What an attribute of a pod, a node or another part of the model holds, and what was meant.

Read from the annotations of the model itself. Only classes all of whose attributes can be seen on
the class are known here, so what is not there does not exist.
"""

import difflib
import functools
import re
import types
import typing
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mooring.framework import foreign
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.nodes import Nodes
from mooring.model.meta import KubeObject, KubeStruct
from mooring.model.node import Node
from mooring.state.node_info import NodeInfo

#: Classes whose attributes are known.
CLOSED: Final = (KubeObject, KubeStruct, Nodes, Binding, Cycle)
_LISTS: Final = (list, tuple, Sequence)
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Where further fields of an object are.
_PARTS: Final = ("spec", "status", "metadata")
#: Attributes that no policy is meant to read.
_HIDDEN: Final = frozenset(("from_dict", "from_json", "kind_name", "namespaced", "placed", "usage"))


class KnownType(NamedTuple):
    """What an expression plainly holds: one of a class, or many of them."""

    kind: type
    many: bool = False


def known_type(hint: Any) -> KnownType | None:
    """What something with this type hint holds, if it is not None; None if that is not known."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        others = [one for one in typing.get_args(hint) if one is not types.NoneType]
        return known_type(others[0]) if len(others) == 1 else None
    if isinstance(hint, type) and issubclass(hint, CLOSED) and not foreign.is_foreign(hint):
        return KnownType(NodeInfo if hint is Node else hint)
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in _LISTS and arguments and arguments[1:] in ((), (...,)):
        inner = known_type(arguments[0])
        return KnownType(inner.kind, many=True) if inner is not None and not inner.many else None
    return None


def element_type(many: KnownType) -> KnownType | None:
    """What one of many is; None if there are not many."""
    if many.many:
        return KnownType(many.kind)
    return KnownType(NodeInfo) if issubclass(many.kind, Nodes) else None


@functools.cache
def attribute_type(kind: type, name: str) -> KnownType | None:
    """What an attribute of a class holds; None if that is not known."""
    found = getattr(kind, name, None)
    getter = getattr(found, "fget", None) or getattr(found, "func", None)
    try:
        hints = typing.get_type_hints(getter if getter is not None else kind)
    except (NameError, TypeError):
        return None
    return known_type(hints.get("return" if getter is not None else name))


def exists(kind: type, name: str) -> bool:
    """Whether there is such an attribute."""
    return name.startswith("__") or hasattr(kind, name) or hasattr(kind, "__getattr__")


def unknown_attribute(kind: type, name: str, owner: str) -> str:
    """What to say of an attribute that does not exist.

    Args:
        kind: the class.
        name: the attribute.
        owner: what it was read from, as it is written, such as ``pod.spec``.
    """
    shown = "Node" if kind is NodeInfo else kind.__name__
    meant = _meant(kind, name)
    if meant:
        advice = f"did you mean {owner}.{meant}?"
    elif issubclass(kind, KubeObject):
        advice = f"{owner}.raw has every field, as JSON"
    elif issubclass(kind, KubeStruct):
        advice = "the object's raw has every field, as JSON"
    else:
        advice = f"it has {', '.join(_names(kind))}"
    return f"{shown} has no attribute {name!r}; {advice}"


def _meant(kind: type, name: str) -> str:
    snake = _CAPITAL.sub("_", name).lower()
    if hasattr(kind, snake):
        return snake
    for part in _PARTS:
        inside = attribute_type(kind, part)
        if inside is not None and hasattr(inside.kind, snake):
            return f"{part}.{snake}"
    near = difflib.get_close_matches(snake, _names(kind), n=1, cutoff=0.6)
    return near[0] if near else ""


def _names(kind: type) -> list[str]:
    return [one for one in dir(kind) if not one.startswith("_") and one not in _HIDDEN]
