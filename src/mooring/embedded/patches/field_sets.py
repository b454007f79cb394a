"""Sets of fields of an object, as managed fields have them.

Server-side apply works on them; `managed_fields` reads and writes them. A step of a path is the
text that it has in FieldsV1: ``f:spec``, ``k:{"name":"web"}``, ``v:"a"``. Knows nothing about the
kinds of objects.

A set is a tree. An object and the fields in it are different members: who owns
``spec.strategy.type`` need not own ``spec.strategy``.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from mooring.embedded.patches.json_values import (
    Malformed,
    Value,
    decode,
    encode,
    go_quoted,
    go_text,
)
from mooring.embedded.resources import Obj

Path = tuple[str, ...]

# parity v1.36.4: structured-merge-diff/v6 fieldpath/set.go, fieldpath/serialize.go


class FieldSet:
    """A set of fields; never changed after it was made, but by `insert`.

    Attributes:
        members: steps to fields that are in the set.
        children: sets of the fields below a step; none of them is empty.
    """

    __slots__ = ("children", "members")

    def __init__(
        self,
        members: frozenset[str] = frozenset(),
        children: Mapping[str, "FieldSet"] | None = None,
    ) -> None:
        self.members: set[str] | frozenset[str] = members
        self.children: dict[str, FieldSet] = dict(children or {})

    def __bool__(self) -> bool:
        return bool(self.members) or bool(self.children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldSet):
            return NotImplemented
        return self.members == other.members and self.children == other.children

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: "FieldSet") -> "FieldSet":
        """All members of both."""
        children = dict(self.children)
        for step, child in other.children.items():
            children[step] = children[step] | child if step in children else child
        return FieldSet(frozenset(self.members | other.members), children)

    def __and__(self, other: "FieldSet") -> "FieldSet":
        """What is a member of both."""
        children = {
            step: child & other.children[step]
            for step, child in self.children.items()
            if step in other.children
        }
        return FieldSet(frozenset(self.members & other.members), _some(children))

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        """What is no member of the other one; what is below its members stays."""
        children = {
            step: child - other.children[step] if step in other.children else child
            for step, child in self.children.items()
        }
        return FieldSet(frozenset(self.members - other.members), _some(children))

    def without_trees(self, other: "FieldSet") -> "FieldSet":
        """The set without the members of the other one and all that is below them."""
        children = {
            step: child.without_trees(other.children[step]) if step in other.children else child
            for step, child in self.children.items()
            if step not in other.members
        }
        return FieldSet(frozenset(self.members - other.members), _some(children))

    def insert(self, path: Path) -> None:
        """Add a field, in a set that nobody else has; the object as a whole is no field."""
        if not path:
            return
        here = self
        for step in path[:-1]:
            here = here.children.setdefault(step, FieldSet())
        if not isinstance(here.members, set):
            here.members = set(here.members)
        here.members.add(path[-1])

    def has(self, path: Path) -> bool:
        """Whether a field is a member."""
        here: FieldSet | None = self
        for step in path[:-1]:
            here = here.children.get(step) if here is not None else None
        return here is not None and path[-1] in here.members

    def paths(self, start: Path = ()) -> Iterator[Path]:
        """All members, in order: those of an object come before those below it."""
        for step in sorted(self.members, key=_order):
            yield (*start, step)
        for step in sorted(self.children, key=_order):
            yield from self.children[step].paths((*start, step))


def _some(children: dict[str, FieldSet]) -> dict[str, FieldSet]:
    return {step: child for step, child in children.items() if child}


def set_of(*paths: Path) -> FieldSet:
    """The set of some fields."""
    made = FieldSet()
    for path in paths:
        made.insert(path)
    return made


def to_fields_v1(fields: FieldSet) -> Obj:
    """A set in the form FieldsV1."""
    written: Obj = {}
    for step in sorted({*fields.members, *fields.children}, key=_order):
        child = fields.children.get(step)
        if child is None:
            written[step] = {}
        elif step in fields.members:
            written[step] = {".": {}, **to_fields_v1(child)}
        else:
            written[step] = to_fields_v1(child)
    return written


def from_fields_v1(fields: Value) -> FieldSet:
    """The set that FieldsV1 describes; steps of a kind that is not known are left out.

    Raises:
        Malformed: it describes none.
    """
    if not isinstance(fields, dict):
        raise Malformed(f"{fields!r} describes no fields")
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    for step, below in fields.items():
        if step == ".":
            continue
        known = _read_step(step)
        if known is None:
            continue
        child = from_fields_v1(below or {})
        if child:
            children[known] = child
        if not child or "." in below:
            members.add(known)
    return FieldSet(frozenset(members), children)


def field_step(name: str) -> str:
    """The step to a field."""
    return f"f:{name}"


def key_step(keys: Obj) -> str:
    """The step to the list's element that has these values."""
    return f"k:{encode(keys)}"


def value_step(value: Value) -> str:
    """The step to an element of a list that is a set."""
    return f"v:{encode(value)}"


def path_text(path: Path) -> str:
    """A path as messages have it: ``.spec.containers[name="web"].image``."""
    return "".join(map(_step_text, path))


def _step_text(step: str) -> str:
    if step.startswith("f:"):
        return f".{step[2:]}"
    content = decode(step[2:])
    if step.startswith("k:"):
        return f"[{','.join(f'{name}={_value_text(content[name])}' for name in sorted(content))}]"
    return f"[={_value_text(content)}]"


def _value_text(value: Value) -> str:
    if value is None:
        return "null"
    return go_quoted(value) if isinstance(value, str) else go_text(value)


_KINDS: Final = {"f": 0, "k": 1, "v": 2}


def _order(step: str) -> tuple[int, list[Value]]:
    """Fields come before keys, and those before values."""
    kind = _KINDS[step[0]]
    if kind == 0:
        return 0, [step]
    content = decode(step[2:])
    if kind == 2:
        return 2, [_value_order(content)]
    return 1, [(name, _value_order(content[name])) for name in sorted(content)]


def _value_order(value: Value) -> tuple[int, Value]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    return 1, value if isinstance(value, str) else encode(value)


def _read_step(step: str) -> str | None:
    kind, colon, content = step[:1], step[1:2], step[2:]
    if colon != ":":
        raise Malformed(f"missing colon: {step}")
    if kind == "f":
        return step
    if kind not in ("k", "v"):
        return None
    value = decode(content)
    if kind == "k" and not isinstance(value, dict):
        raise Malformed(f"no keys: {step}")
    return f"{kind}:{encode(value)}"
