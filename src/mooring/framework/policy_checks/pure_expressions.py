"""Following one function: what each of its expressions holds, and what it reads of the pod.

Every variable holds things of one kind throughout, so one pass in the order of writing is enough.
Used by `purity`, which knows what other names stand for. Whatever is not followed here raises
`NotPureError`, with the reason in a few words.
"""

# ruff: noqa: D102 - ast names the methods

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Final

from mooring.framework.policy_checks import pure_reads as known
from mooring.framework.policy_checks.pure_reads import Holds, Read

#: What holds one pod.
PODS: Final = (Holds.POD, Holds.OTHER)
#: What may be read of each; of anything else, nothing.
_READABLE: Final[Mapping[Holds, frozenset[str]]] = {
    Holds.VALUE: known.PARTS,
    Holds.NODE: known.NODE,
    Holds.POD: known.TEMPLATE | {"annotations"},
    Holds.OTHER: known.TEMPLATE,
    Holds.SPEC: known.SPEC,
    Holds.METADATA: frozenset(("owner_references",)),
}


class NotPureError(Exception):
    """Something in a function may change, or cannot be followed; says what."""


class Lookup(ABC):
    """What names stand for that a function does not bind itself.

    Attributes:
        own: the names that it binds.
    """

    own: frozenset[str]

    @abstractmethod
    def find(self, name: str) -> object:
        """What a name stands for, and has to stay.

        Raises:
            NotPureError: it may change, or has no value.
        """

    @abstractmethod
    def member(self, module: ModuleType, name: str) -> object:
        """The same for a member of a module; None if nothing in that module can be relied on."""

    @abstractmethod
    def call(self, function: object, given: tuple[Holds, ...]) -> Holds:
        """What another function returns."""


class PureExpressions(ast.NodeVisitor):
    """The expressions of one function.

    Args:
        parameters: what the parameters hold.
        names: what other names stand for.
        reads: takes what is read of the pod.
    """

    def __init__(self, parameters: dict[str, Holds], names: Lookup, reads: set[Read]) -> None:
        self._kinds = dict(parameters)
        self._names = names
        self._reads = reads
        #: The variables that hold objects that the function makes itself.
        self._made: frozenset[str] = frozenset()
        self._inside_comprehension = False
        self._known: dict[ast.expr, Holds] = {}

    def kind(self, node: ast.expr) -> Holds:
        """What an expression holds.

        Raises:
            NotPureError: that cannot be told, or may change.
        """
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self.visit(node)
        return found

    def generic_visit(self, node: ast.AST) -> None:
        raise not_pure(node, f"it uses {type(node).__name__.lower()}")

    def value(self, node: ast.expr) -> Holds:
        """Make sure that an expression is plain data."""
        found = self.kind(node)
        if found is not Holds.VALUE:
            raise not_pure(node, f"{ast.unparse(node)} is {found.value}")
        return found

    def test(self, node: ast.expr) -> None:
        """An expression of which only the truth counts."""
        if isinstance(node, ast.BoolOp):
            for one in node.values:
                self.test(one)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.test(node.operand)
        else:
            self.kind(node)

    def _values(self, nodes: Iterable[ast.expr | None]) -> Holds:
        for one in nodes:
            if one is not None:
                self.value(one)
        return Holds.VALUE

    # -- names and attributes

    def visit_Constant(self, _: ast.Constant) -> Holds:
        return Holds.VALUE

    def visit_Name(self, node: ast.Name) -> Holds:
        if node.id in self._kinds:
            return self._kinds[node.id]
        if node.id in self._names.own:
            raise not_pure(node, f"{node.id} cannot be followed")
        if not known.is_constant(self._find(node)):
            raise not_pure(node, f"{node.id} can change")
        return Holds.VALUE

    def _find(self, node: ast.expr) -> object:
        """What a name, or a member of a module, stands for; None for anything else."""
        if isinstance(node, ast.Name):
            is_own = node.id in self._kinds or node.id in self._names.own
            return None if is_own else self._names.find(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self._find(node.value)
            return self._names.member(module, node.attr) if type(module) is ModuleType else None
        return None

    def visit_Attribute(self, node: ast.Attribute) -> Holds:
        if isinstance(node.value, ast.Name) and type(self._find(node.value)) is ModuleType:
            raise not_pure(node, f"it reads {ast.unparse(node)}")
        owner, name = self.kind(node.value), node.attr
        if owner is Holds.NODE and name == "pods":
            return Holds.PODS
        if owner in PODS and name == "spec":
            return Holds.SPEC
        if owner is Holds.POD and name == "metadata":
            return Holds.METADATA
        if name not in _READABLE.get(owner, ()):
            raise not_pure(node, f"it reads {ast.unparse(node)}")
        if owner in PODS:
            self._reads.add((name,))
        elif owner in (Holds.SPEC, Holds.METADATA):
            self._reads.add((owner.name.lower(), name))
        return Holds.VALUE

    def visit_Subscript(self, node: ast.Subscript) -> Holds:
        return self._keyed(node.value, node.slice) or self._values((node.value, node.slice))

    def visit_Slice(self, node: ast.Slice) -> Holds:
        return self._values((node.lower, node.upper, node.step))

    def _keyed(self, mapping: ast.expr, key: ast.expr) -> Holds | None:
        """``pod.labels[key]``: only that key is read of the pod."""
        if not isinstance(mapping, ast.Attribute) or mapping.attr not in known.KEYED:
            return None
        owner = self.kind(mapping.value)
        text = key.value if isinstance(key, ast.Constant) else self._find(key)
        if owner not in PODS or mapping.attr not in _READABLE[owner] or type(text) is not str:
            return None
        self._reads.add((mapping.attr, text))
        return Holds.VALUE

    # -- operators

    def visit_BinOp(self, node: ast.BinOp) -> Holds:
        both = self.kind(node.left), self.kind(node.right)
        if both == (Holds.PODS, Holds.PODS) and isinstance(node.op, ast.Add):
            return Holds.PODS
        return self._values((node.left, node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Holds:
        if isinstance(node.op, ast.Not):
            self.test(node.operand)
            return Holds.VALUE
        return self.value(node.operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> Holds:
        return self._values(node.values)

    def visit_Compare(self, node: ast.Compare) -> Holds:
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            found = self._keyed(node.comparators[0], node.left)
            if found is not None:
                return found
        for operator, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.Is | ast.IsNot) and not (
                isinstance(other, ast.Constant)
                and known.is_one_of(other.value, (None, True, False))
            ):
                raise not_pure(node, "it compares with 'is'")
        return self._values((node.left, *node.comparators))

    def visit_IfExp(self, node: ast.IfExp) -> Holds:
        self.test(node.test)
        return self._same((node.body, node.orelse))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Holds:
        return self._values(node.values)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Holds:
        spec = node.format_spec
        if isinstance(spec, ast.JoinedStr) and spec.values:
            last = spec.values[-1]
            if not isinstance(last, ast.Constant) or str(last.value).endswith("n"):
                raise not_pure(node, "it may format a number as the locale says")
        return self._values((node.value, spec))

    def _same(self, nodes: Iterable[ast.expr]) -> Holds:
        kinds = {self.kind(one): one for one in nodes}
        if len(kinds) > 1:
            raise not_pure(next(iter(kinds.values())), "an expression holds different things")
        return next(iter(kinds))


def not_pure(node: ast.AST, what: str) -> NotPureError:
    """The error for a place in a function."""
    line = getattr(node, "lineno", 0)
    return NotPureError(f"{what} (line {line})" if line else what)
