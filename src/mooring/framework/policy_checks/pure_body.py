"""Following the statements of one function; see `pure_expressions`.

A function may change what it has made itself: a number that it adds to, a list or a dict of its
own. It may never change what it was given.
"""

# ruff: noqa: D102, N802, N815 - ast names the methods

import ast
from typing import Final

from mooring.framework.policy_checks import pure_reads as known
from mooring.framework.policy_checks.pure_calls import PureCalls
from mooring.framework.policy_checks.pure_expressions import Lookup, NotPureError, not_pure
from mooring.framework.policy_checks.pure_reads import Holds, Read

#: What makes an object of its own, or one that cannot be changed.
_MADE: Final = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.BinOp, ast.UnaryOp, ast.Compare,
)  # fmt: skip


class PureBody(PureCalls):
    """One function, followed from its first statement to its last.

    Args:
        definition: the function.
        parameters: what its parameters hold.
        names: what other names stand for.
        reads: takes what is read of the pod.
    """

    def __init__(
        self,
        definition: ast.FunctionDef,
        parameters: dict[str, Holds],
        names: Lookup,
        reads: set[Read],
    ) -> None:
        super().__init__(parameters, names, reads)
        self._made = frozenset(self._made_in(definition) - parameters.keys())
        self._body = definition.body
        self._returned: set[Holds] = set()

    def follow(self) -> Holds:
        """What the function returns.

        Raises:
            NotPureError: that cannot be told, or may change.
        """
        self._block(self._body)
        if len(self._returned) > 1:
            raise NotPureError("it returns different things")
        return next(iter(self._returned), Holds.VALUE)

    def _block(self, statements: list[ast.stmt]) -> None:
        for one in statements:
            self.visit(one)

    def visit_Return(self, node: ast.Return) -> None:
        self._returned.add(Holds.VALUE if node.value is None else self.kind(node.value))

    def visit_Expr(self, node: ast.Expr) -> None:
        self.kind(node.value)

    def visit_If(self, node: ast.If | ast.While) -> None:
        self.test(node.test)
        self._block(node.body)
        self._block(node.orelse)

    visit_While = visit_If

    def visit_For(self, node: ast.For) -> None:
        self.bind(node.target, self.each_of(node.iter))
        self._block(node.body)
        self._block(node.orelse)

    def visit_Pass(self, node: ast.Pass | ast.Break | ast.Continue) -> None:
        pass

    visit_Break = visit_Pass
    visit_Continue = visit_Pass

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self.kind(node.value)
        for target in node.targets:
            self._store(target, found)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._store(node.target, self.kind(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.value(node.value)
        # Of a list that the function was given, ``+=`` would change that list; of a list in one of
        # its own as well, but no number can be added to a list.
        target = node.target
        if isinstance(target, ast.Subscript) and _is_number(node.value) and _adds(node):
            self._store(target, Holds.VALUE)
        elif not self._is_made(target):
            raise not_pure(node, f"it changes {ast.unparse(target)}")

    def _store(self, target: ast.expr, found: Holds) -> None:
        if not isinstance(target, ast.Subscript):
            self.bind(target, found)
        elif not self._is_made(target.value) or found is not Holds.VALUE:
            raise not_pure(target, f"it changes {ast.unparse(target.value)}")
        else:
            self.value(target.value)
            self.value(target.slice)

    def _made_in(self, definition: ast.FunctionDef) -> set[str]:
        """The variables that only ever hold what the function makes itself."""
        made: set[str] = set()
        others: set[str] = set()
        plain: set[ast.AST] = set()
        for node in ast.walk(definition):
            if isinstance(node, ast.AugAssign):
                plain.add(node.target)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                # With two names for one object, one of them may be given away.
                if (
                    len(targets) == 1
                    and isinstance(targets[0], ast.Name)
                    and self._makes(node.value)
                ):
                    plain.add(targets[0])
                    made.add(targets[0].id)
        for node in ast.walk(definition):
            if (
                isinstance(node, ast.Name)
                and not isinstance(node.ctx, ast.Load)
                and node not in plain
            ):
                others.add(node.id)
        return made - others

    def _makes(self, value: ast.expr) -> bool:
        if not isinstance(value, ast.Call):
            return isinstance(value, _MADE)
        alone = len(value.args) <= 1 and not value.keywords
        return alone and known.is_one_of(self._find(value.func), known.FRESH)


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _adds(node: ast.AugAssign) -> bool:
    return isinstance(node.op, ast.Add | ast.Sub)
