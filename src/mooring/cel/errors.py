"""What can go wrong with an expression.

MooringError
└── CelError
    ├── CelCompileError   the expression is wrong; nothing was evaluated
    └── CelRuntimeError   the expression failed for one device
        ├── CelValueError a value was wrong; `||`, `&&`, `all` and `exists` may absorb it
        └── CelCostError  the evaluation cost more than Kubernetes allows; nothing absorbs it
"""

from typing import NamedTuple

from mooring.errors import MooringError


class CelError(MooringError):
    """Base of the errors of expressions; the message says what is wrong."""


class Issue(NamedTuple):
    """One thing wrong with an expression: where (an offset in characters) and what."""

    offset: int
    message: str


class CelCompileError(CelError):
    """An expression cannot be used; the message shows each problem with its line and column."""


class CelRuntimeError(CelError):
    """An expression failed for one device."""


class CelValueError(CelRuntimeError):
    """A value was of the wrong type, missing, or out of range."""


class CelCostError(CelRuntimeError):
    """The evaluation cost more than the limit of Kubernetes."""


def render_issues(source: str, issues: list[Issue]) -> str:
    """All issues in the form of cel-go: position, message, the line and a mark below it."""
    return "\n".join(_render(source, issue) for issue in sorted(issues, key=lambda i: i.offset))


def _render(source: str, issue: Issue) -> str:
    start = source.rfind("\n", 0, issue.offset) + 1
    end = source.find("\n", start)
    line = source[start : end if end >= 0 else len(source)]
    number = source.count("\n", 0, start) + 1
    column = issue.offset - start
    dots = "".join("\uff0e" if ord(c) > 0x7F else "." for c in line[:column])
    return (
        f"ERROR: <input>:{number}:{column + 1}: {issue.message}\n"
        f" | {line.replace(chr(9), ' ')}\n | {dots}^"
    )
