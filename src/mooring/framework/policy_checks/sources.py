"""Where a function is written: its file, its line and its syntax tree.

Used by the checks in this package, for one policy at a time. Nothing is run here, and what cannot
be found is simply not known: a function may come from anywhere.
"""

import ast
import functools
import inspect
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

from mooring.framework.policy_checks.scopes import FUNCTION_NODES, bound_in

#: What policies import of ours.
OUR_MODULES: Final = ("mooring", "mooring.hook")


class Problem(NamedTuple):
    """One mistake in a policy.

    Attributes:
        file: where it is, as the user would write it.
        line: the line, 0 if it is not known.
        text: what is wrong and what to do.
    """

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line else ""
        return f"{self.file}{line}: {self.text}"


class Source:
    """A file that was read.

    Attributes:
        file: its name, as the user would write it.
        tree: what is in it.
    """

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file = file
        self.tree = tree

    @functools.cached_property
    def definitions(self) -> dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions by name and first line, as their code has them."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, FUNCTION_NODES):
                # Python counts from the first decorator, the tree from ``def``.
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                found[node.name, first] = node
        return found

    @functools.cached_property
    def codes(self) -> frozenset[CodeType]:
        """The code of all functions in the file; none if it cannot be compiled."""
        try:
            with warnings.catch_warnings(action="ignore"):  # Python has warned when it loaded it
                whole = compile(self.tree, self.file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return frozenset()
        return frozenset(_codes(whole))

    @functools.cached_property
    def bound(self) -> Counter[str]:
        """How often each name of the module is bound in the file."""
        return bound_in(self.tree.body)


class Place(NamedTuple):
    """Where a function is written; the definition is None if it could not be found."""

    file: str
    line: int
    definition: ast.FunctionDef | ast.AsyncFunctionDef | None = None


class Sources:
    """The files of one policy, each read once.

    Args:
        place: how the user named the policy's own file or module.
    """

    def __init__(self, place: str = "") -> None:
        self._place = place
        self._read: dict[str, Source | None] = {}

    def source(self, filename: str) -> Source | None:
        """A file's contents; None if they cannot be read or do not parse."""
        if filename not in self._read:
            try:
                tree = ast.parse(Path(filename).read_bytes())
            except (OSError, SyntaxError, ValueError, RecursionError):
                self._read[filename] = None
            else:
                self._read[filename] = Source(self.shown(filename), tree)
        return self._read[filename]

    def shown(self, filename: str) -> str:
        """A file's name as the user would write it."""
        path = Path(filename)
        try:
            if self._place.endswith(".py") and Path(self._place).samefile(path):
                return self._place
            return str(path.relative_to(Path.cwd()))
        except (ValueError, OSError):
            return filename

    def place_of(self, function: Callable[..., Any]) -> Place:
        """Where a function is written; the policy's own file if that is not known."""
        code = code_of(function)
        if code is None:
            return Place(self._place, 0)
        source = self.source(code.co_filename)
        key = code.co_name, code.co_firstlineno
        definition = source.definitions.get(key) if source is not None else None
        line = definition.lineno if definition is not None else code.co_firstlineno
        return Place(self.shown(code.co_filename), line, definition)


def neighbours(own: Path) -> set[Path]:
    """The Python files of a file's folder that were imported."""
    folder = own.resolve().parent
    names = [getattr(one, "__file__", None) for one in list(sys.modules.values())]
    return {Path(name) for name in names if name and Path(name).parent == folder}


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """The code that runs when something is called; None if it is not written in Python."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType):
        return function.__code__
    call = inspect.getattr_static(type(function), "__call__", None)
    return call.__code__ if isinstance(call, FunctionType) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)
