"""Which names a function's own scope binds, and which of them mean more than one thing.

For those who look at code without running it: a name that is bound twice, deleted, or tested for
what it is, may be anything.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Final

FUNCTION_NODES: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: Who asks one of these about something does not know what it is.
_QUESTIONS: Final = ("isinstance", "issubclass", "hasattr", "getattr", "type", "callable")

#: What binds its own name.
_NAMED: Final = (
    *FUNCTION_NODES, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar,
)  # fmt: skip


def own_scope(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Everything that runs in the scope of a block, without the bodies of what is defined there."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, (*FUNCTION_NODES, ast.ClassDef)):
            todo += node.decorator_list
        elif isinstance(node, COMPREHENSIONS):
            # Its variables are its own, save for those of ``:=``.
            todo += [one.target for one in ast.walk(node) if isinstance(one, ast.NamedExpr)]
        elif not isinstance(node, ast.Lambda):
            todo += ast.iter_child_nodes(node)


def bound_in(body: list[ast.stmt]) -> Counter[str]:
    """How often each name is bound in the scope of a block, or by functions inside of it."""
    found = Counter(name for node in own_scope(body) for name in _bound(node))
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Global | ast.Nonlocal):
                found.update(node.names)
    return found


def _bound(node: ast.AST) -> list[str]:
    found: list[str | None] = []
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        found = [node.id]
    elif isinstance(node, _NAMED):
        found = [node.name]
    elif isinstance(node, ast.MatchMapping):
        found = [node.rest]
    elif isinstance(node, ast.Import | ast.ImportFrom):
        found = [one.asname or one.name.partition(".")[0] for one in node.names]
    return [name for name in found if name is not None]


def imported_in(body: list[ast.stmt]) -> set[str]:
    """The names that a block binds to what it imports."""
    imports = (one for one in own_scope(body) if isinstance(one, ast.Import | ast.ImportFrom))
    return {name for node in imports for name in _bound(node)}


def parameters_of(function: FunctionNode) -> list[ast.arg]:
    """The parameters that are given by position."""
    return [*function.args.posonlyargs, *function.args.args]


def all_parameters(function: FunctionNode) -> list[str]:
    """The names of all parameters."""
    args = function.args
    more = [one for one in (args.vararg, args.kwarg) if one is not None]
    return [one.arg for one in (*parameters_of(function), *args.kwonlyargs, *more)]


def questioned_in(function: ast.AST) -> set[str]:
    """The names that a function tests for what they are."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Match) and isinstance(node.subject, ast.Name):
            found.add(node.subject.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            first = node.args[0]
            if node.func.id in _QUESTIONS and isinstance(first, ast.Name):
                found.add(first.id)
    return found
