"""Where a function is written: its file, its line and its syntax tree.

Used by the checks in this package, for one policy at a time. Nothing is run here, and what cannot
be found is simply not known: a function may come from anywhere.
"""

import ast
import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

FUNCTION_NODES: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
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


class Source(NamedTuple):
    """A file that was read.

    Attributes:
        file: its name, as the user would write it.
        tree: what is in it.
    """

    file: str
    tree: ast.Module


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
        definition = self._definition(code)
        line = definition.lineno if definition is not None else code.co_firstlineno
        return Place(self.shown(code.co_filename), line, definition)

    def _definition(self, code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        source = self.source(code.co_filename)
        for node in ast.walk(source.tree) if source is not None else ():
            # Python counts from the first decorator, the tree from ``def``.
            if isinstance(node, FUNCTION_NODES) and node.name == code.co_name:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                if first == code.co_firstlineno:
                    return node
        return None


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
