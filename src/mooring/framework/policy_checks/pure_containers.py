"""Following lists, comprehensions and what binds variables; see `pure_expressions`.

A list or a tuple of pods is followed; a set or a dict would compare them.
"""

# ruff: noqa: D102, N802, N815 - ast names the methods

import ast
from collections.abc import Callable

from mooring.framework.policy_checks.pure_expressions import PODS, PureExpressions, not_pure
from mooring.framework.policy_checks.pure_reads import Holds


class PureContainers(PureExpressions):
    """The same, and containers."""

    def visit_List(self, node: ast.List | ast.Tuple) -> Holds:
        kinds = {self.element(one) for one in node.elts}
        if kinds and kinds <= set(PODS):
            return Holds.PODS
        return self._values(one.value if isinstance(one, ast.Starred) else one for one in node.elts)

    visit_Tuple = visit_List

    def element(self, node: ast.expr) -> Holds:
        """What an element of a list, or an argument, holds, which may be starred."""
        if not isinstance(node, ast.Starred):
            return self.kind(node)
        return Holds.OTHER if self.kind(node.value) is Holds.PODS else self.kind(node.value)

    def visit_Set(self, node: ast.Set) -> Holds:
        return self._values(node.elts)

    def visit_Dict(self, node: ast.Dict) -> Holds:
        return self._values((*node.keys, *node.values))

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> Holds:
        def each() -> Holds:
            found = self.kind(node.elt)
            return Holds.PODS if found in PODS else self.value(node.elt)

        return self._comprehension(node.generators, each)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Holds:
        found = self.visit_ListComp(node)
        return Holds.ITERATOR if found is Holds.VALUE else found

    def visit_SetComp(self, node: ast.SetComp) -> Holds:
        return self._comprehension(node.generators, lambda: self.value(node.elt))

    def visit_DictComp(self, node: ast.DictComp) -> Holds:
        parts = (node.key, node.value)
        return self._comprehension(node.generators, lambda: self._values(parts))

    def _comprehension(self, loops: list[ast.comprehension], each: Callable[[], Holds]) -> Holds:
        before = self._kinds, self._inside_comprehension
        self._kinds = dict(self._kinds)
        for loop in loops:
            if loop.is_async:
                raise not_pure(loop.iter, "it uses async for")
            one = self.each_of(loop.iter)
            self._inside_comprehension = True
            for target in ast.walk(loop.target):
                if isinstance(target, ast.Name):
                    self._kinds.pop(target.id, None)
            self.bind(loop.target, one)
            for condition in loop.ifs:
                self.test(condition)
        found = each()
        self._kinds, self._inside_comprehension = before
        return found

    def each_of(self, node: ast.expr) -> Holds:
        """What one of the things is that an expression holds."""
        found = self.kind(node)
        if found is Holds.PODS:
            return Holds.OTHER
        return Holds.VALUE if found is Holds.ITERATOR else self.value(node)

    def bind(self, target: ast.expr, found: Holds) -> None:
        """A variable holds something from now on."""
        if isinstance(target, ast.Tuple | ast.List) and found is Holds.VALUE:
            for one in target.elts:
                self.bind(one.value if isinstance(one, ast.Starred) else one, found)
            return
        if not isinstance(target, ast.Name):
            raise not_pure(target, f"it changes {ast.unparse(target)}")
        if self._kinds.setdefault(target.id, found) is not found:
            raise not_pure(target, f"{target.id} holds different things")

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Holds:
        if self._inside_comprehension:
            raise not_pure(node, "it uses := in a comprehension")
        found = self.kind(node.value)
        self.bind(node.target, found)
        return found
