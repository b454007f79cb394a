"""Whether a piece of code runs at all, as far as its conditions can tell.

For the static look at attributes. A condition that mentions nothing of the function itself (no
parameter, no variable) says what the process is like, and not what is scheduled: ``if DEBUG``,
``if mr.__version__ >= "2"``, ``if False``. What stands behind it may never run.
"""

import ast
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

_LEAVING: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def may_never_run(test: ast.expr, own: AbstractSet[str]) -> tuple[bool, bool]:
    """Whether what runs if a condition holds, and if it does not, may never run.

    Args:
        test: the condition.
        own: the names of the function's own parameters and variables.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yes, no = may_never_run(test.operand, own)
        return no, yes
    if isinstance(test, ast.BoolOp):
        parts = [may_never_run(one, own) for one in test.values]
        # All parts of an `and` hold if it does; of one that does not, one of the parts.
        each, other = any(yes for yes, _ in parts), any(no for _, no in parts)
        return each, other
    if isinstance(test, ast.Constant):
        return not test.value, bool(test.value)
    outside = not any(isinstance(one, ast.Name) and one.id in own for one in ast.walk(test))
    return outside, outside


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing that follows a block runs after it."""
    return any(_leaves(one) for one in body)


def _leaves(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return leaves(statement.body) and leaves(statement.orelse)
    return isinstance(statement, _LEAVING)


def hides_the_rest(statement: ast.stmt, own: AbstractSet[str]) -> bool:
    """Whether what follows a statement may never run.

    Args:
        statement: the statement.
        own: the names of the function's own parameters and variables.
    """
    if isinstance(statement, ast.Assert):
        return may_never_run(statement.test, own)[0]
    if isinstance(statement, ast.If) and not _leaves(statement):
        yes, no = may_never_run(statement.test, own)
        return (no and leaves(statement.body)) or (yes and leaves(statement.orelse))
    return _leaves(statement)
