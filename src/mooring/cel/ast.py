"""The nodes of a parsed expression.

Made by the parser and the macros, annotated with types and overloads by the checker, read by the
validators and the compiler. `pos` is the offset in the source that errors point to.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from mooring.cel.types import ERROR, Type


@dataclass(slots=True, eq=False)
class AstNode:
    """Base of all nodes; the checker fills `type`."""

    pos: int
    type: Type = dataclasses.field(default=ERROR, init=False)


@dataclass(slots=True, eq=False)
class Literal(AstNode):
    """A constant."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(AstNode):
    """A name; `constant` is set by the checker for the name of a type."""

    name: str
    constant: Any = dataclasses.field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Select(AstNode):
    """``operand.field``, or has(operand.field) with `test_only`.

    `constant` is set by the checker where it all is the name of a type.
    """

    operand: AstNode
    field: str
    test_only: bool = False
    constant: Any = dataclasses.field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Call(AstNode):
    """A function, operator or method; the checker fills `overloads` with the ids that may apply."""

    function: str
    target: AstNode | None
    args: list[AstNode]
    overloads: list[str] = dataclasses.field(default_factory=list, init=False)

    @property
    def operands(self) -> list[AstNode]:
        """Target (if any) and arguments."""
        return self.args if self.target is None else [self.target, *self.args]


@dataclass(slots=True, eq=False)
class ListNode(AstNode):
    """A list literal; `optional` has the indices of ``?element``."""

    elements: list[AstNode]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapNode(AstNode):
    """A map literal of key, value and whether the entry is ``?key: value``."""

    entries: list[tuple[AstNode, AstNode, bool]]


@dataclass(slots=True, eq=False)
class StructNode(AstNode):
    """A message literal."""

    name: str
    fields: list[tuple[str, AstNode, bool, int]]


@dataclass(slots=True, eq=False)
class Comprehension(AstNode):
    """What macros over ranges, and bindings, expand to."""

    iter_range: AstNode
    iter_var: str
    iter_var2: str
    accu_var: str
    accu_init: AstNode
    condition: AstNode
    step: AstNode
    result: AstNode


def copy(node: AstNode) -> AstNode:
    """A deep copy (macros that use a node twice need one for each place)."""
    if isinstance(node, Literal):
        return Literal(node.pos, node.value)
    if isinstance(node, Ident):
        return Ident(node.pos, node.name)
    if isinstance(node, Select):
        return Select(node.pos, copy(node.operand), node.field, node.test_only)
    if isinstance(node, Call):
        target = None if node.target is None else copy(node.target)
        return Call(node.pos, node.function, target, [copy(arg) for arg in node.args])
    if isinstance(node, ListNode):
        return ListNode(node.pos, [copy(e) for e in node.elements], node.optional)
    if isinstance(node, MapNode):
        entries = [(copy(k), copy(v), optional) for k, v, optional in node.entries]
        return MapNode(node.pos, entries)
    if isinstance(node, StructNode):
        fields = [(name, copy(v), optional, pos) for name, v, optional, pos in node.fields]
        return StructNode(node.pos, node.name, fields)
    assert isinstance(node, Comprehension)  # noqa: S101 (there is no other node)
    return Comprehension(
        node.pos, copy(node.iter_range), node.iter_var, node.iter_var2, node.accu_var,
        copy(node.accu_init), copy(node.condition), copy(node.step), copy(node.result),
    )  # fmt: skip


def children(node: AstNode) -> list[AstNode]:
    """The nodes directly below."""
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return node.operands
    if isinstance(node, ListNode):
        return node.elements
    if isinstance(node, MapNode):
        return [part for key, value, _ in node.entries for part in (key, value)]
    if isinstance(node, StructNode):
        return [value for _, value, _, _ in node.fields]
    if isinstance(node, Comprehension):
        return [node.iter_range, node.accu_init, node.condition, node.step, node.result]
    return []
