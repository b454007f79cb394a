"""The nodes of a parsed expression.

Made by the parser and the macros, annotated with types and overloads by the checker, read by the
validators and the compiler. `pos` is the offset in the source that errors point to. A macro that
needs a node twice does not copy it, so that nested ones do not multiply: who walks the tree visits
each node once.
"""

import dataclasses
from collections.abc import Iterator
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


def nodes(root: AstNode) -> Iterator[AstNode]:
    """All nodes, each once, although some macros use one at two places."""
    seen = {id(root)}
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        for child in children(node):
            if id(child) not in seen:
                seen.add(id(child))
                stack.append(child)


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
