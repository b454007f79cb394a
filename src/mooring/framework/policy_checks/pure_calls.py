"""Following calls: of builtins, of mooring's verdicts, of methods, of the policy's own functions.

See `pure_expressions`.
"""

# ruff: noqa: D102, N802 - ast names the methods

import ast

from mooring.framework.policy_checks import pure_reads as known
from mooring.framework.policy_checks.pure_containers import PureContainers
from mooring.framework.policy_checks.pure_expressions import NotPureError, not_pure
from mooring.framework.policy_checks.pure_reads import Holds


class PureCalls(PureContainers):
    """The same, and calls."""

    def visit_Call(self, node: ast.Call) -> Holds:
        function = self._find(node.func)
        if function is None and isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        unknown = not_pure(node, f"it calls {ast.unparse(node.func)}")
        if function is isinstance and len(node.args) == 2 and not node.keywords:
            if not known.is_one_of(self._find(node.args[1]), known.TYPES):
                raise unknown
            return self.value(node.args[0])
        if function is None:
            raise unknown
        kinds = self._arguments(node)
        if known.is_one_of(function, (*known.PLAIN, *known.CONSUMING, *known.ITERATING)):
            return _of_builtin(function, kinds, unknown)
        if known.is_helper(function):
            if set(kinds) <= {Holds.VALUE}:
                return Holds.VALUE
            raise unknown
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            raise unknown
        try:
            return self._names.call(function, kinds)
        except NotPureError as error:
            raise (error if str(error) else unknown) from None

    def _arguments(self, node: ast.Call) -> tuple[Holds, ...]:
        for option in node.keywords:
            helper = known.is_helper(self._find(node.func))
            if option.arg is None or not (helper or option.arg in known.OPTIONS):
                raise not_pure(node, f"it calls {ast.unparse(node.func)} with {option.arg or '**'}")
            self.value(option.value)
        return tuple(self.element(one) for one in node.args)

    def _method(self, node: ast.Call, func: ast.Attribute) -> Holds:
        name, owner = func.attr, func.value
        plain = node.args and not node.keywords
        if name == "get" and plain and self._keyed(owner, node.args[0]):
            return self._values(node.args[1:])
        changes = name in known.CHANGING and self._is_made(owner)
        if node.keywords or not (changes or name in known.METHODS):
            raise not_pure(node, f"it calls {ast.unparse(func)}")
        self.value(owner)
        legal = {Holds.VALUE, Holds.ITERATOR} if name in known.CONSUMING_METHODS else {Holds.VALUE}
        if not legal.issuperset(map(self.element, node.args)):
            raise not_pure(node, f"it calls {ast.unparse(func)}")
        return Holds.VALUE

    def _is_made(self, node: ast.expr) -> bool:
        """Whether an expression is an object that the function has made itself."""
        return isinstance(node, ast.Name) and node.id in self._made


def _of_builtin(function: object, kinds: tuple[Holds, ...], unknown: NotPureError) -> Holds:
    if kinds == (Holds.PODS,):
        if known.is_one_of(function, (len, any, all)):
            return Holds.VALUE
        if known.is_one_of(function, (list, tuple)):
            return Holds.PODS
        raise unknown
    legal = (
        {Holds.VALUE} if known.is_one_of(function, known.PLAIN) else {Holds.VALUE, Holds.ITERATOR}
    )
    if not set(kinds) <= legal:
        raise unknown
    return Holds.ITERATOR if known.is_one_of(function, known.ITERATING) else Holds.VALUE
