"""What is wrong with an expression although its types fit.

Called once per expression, after the checker: literal durations, timestamps and regular
expressions, literals whose elements have different types, and literal formats.
"""

from collections.abc import Iterator

from mooring.cel.ast import AstNode, Call, ListNode, Literal, MapNode, children
from mooring.cel.errors import CelRuntimeError, Issue
from mooring.cel.libraries.conversions import FUNCTIONS as CONVERSIONS
from mooring.cel.libraries.formatting import ALLOWED, Clause, FormatError, rejection, walk
from mooring.cel.regex import Regex
from mooring.cel.types import DYN, Type, equivalent, unwrap_optional
from mooring.cel.values import fits


def validate(root: AstNode) -> list[Issue]:
    """Everything wrong with a checked expression."""
    issues: list[Issue] = []
    for node, in_format in _walk(root):
        if isinstance(node, Call):
            issues += _literal_argument(node)
            issues += _format(node)
        elif isinstance(node, ListNode) and not in_format:
            issues += _list(node)
        elif isinstance(node, MapNode) and not in_format:
            issues += _map(node)
    return issues


def _walk(root: AstNode) -> Iterator[tuple[AstNode, bool]]:
    """All nodes, and whether each is below a call of ``format``."""
    stack = [(root, False)]
    seen: set[tuple[int, bool]] = set()
    while stack:
        node, in_format = stack.pop()
        if (id(node), in_format) in seen:
            continue
        seen.add((id(node), in_format))
        yield node, in_format
        below = in_format or (isinstance(node, Call) and node.function == "format")
        stack.extend((child, below) for child in reversed(children(node)))


def _literal_argument(node: Call) -> list[Issue]:
    if not node.args or not isinstance(node.args[0], Literal):
        return []
    literal = node.args[0]
    if node.function == "matches":
        # parity v1.36.4: the first argument, which for the function (not the method) is the text
        wrong = type(literal.value) is str and not _is_regex(literal.value)
    elif node.function in ("duration", "timestamp"):
        wrong = not _converts(node.function, literal)
    else:
        return []
    return [Issue(literal.pos, f"invalid {node.function} argument")] if wrong else []


def _is_regex(pattern: str) -> bool:
    try:
        Regex(pattern)
    except CelRuntimeError:
        return False
    return True


def _converts(function: str, literal: Literal) -> bool:
    for overload in CONVERSIONS[function]:
        if fits(overload.args[0], literal.value):
            try:
                overload.call(literal.value)
            except CelRuntimeError:
                return False
            return True
    return False


def _list(node: ListNode) -> list[Issue]:
    first: Type | None = None
    for i, element in enumerate(node.elements):
        type_ = unwrap_optional(element.type)[0] if i in node.optional else element.type
        if first is None:
            first = type_
        elif not equivalent(first, type_):
            return [_mismatch(element, first, type_)]
    return []


def _map(node: MapNode) -> list[Issue]:
    issues: list[Issue] = []
    first: tuple[Type, Type] | None = None
    for key, value, optional in node.entries:
        type_ = unwrap_optional(value.type)[0] if optional else value.type
        if first is None:
            first = (key.type, type_)
            continue
        if not equivalent(first[0], key.type):
            issues.append(_mismatch(key, first[0], key.type))
        if not equivalent(first[1], type_):
            issues.append(_mismatch(value, first[1], type_))
    return issues


def _mismatch(node: AstNode, wanted: Type, found: Type) -> Issue:
    return Issue(node.pos, f"expected type '{wanted}' but found '{found}'")


class _ArgumentError(Exception):
    def __init__(self, node: AstNode, letter: str) -> None:
        super().__init__()
        self.issue = Issue(
            node.pos, f"error during formatting: {rejection(letter, node.type.name)}"
        )


def _format(node: Call) -> list[Issue]:
    target = node.target
    if (
        node.function != "format"
        or not isinstance(target, Literal)
        or type(target.value) is not str
        or not isinstance(node.args[0], ListNode)
    ):
        return []
    args = node.args[0].elements
    n_used = 0

    def use(clause: Clause, index: int) -> str:
        nonlocal n_used
        n_used += 1
        bad = _unfit(args[index], ALLOWED[clause.letter], nested=clause.letter == "s")
        if bad is not None:
            raise _ArgumentError(bad, clause.letter)
        return ""

    try:
        walk(target.value, len(args), use)
    except FormatError as error:
        return [Issue(node.pos, str(error))]
    except _ArgumentError as error:
        return [error.issue]
    if len(args) > n_used:
        message = (
            f"too many arguments supplied to string.format (expected {n_used}, got {len(args)})"
        )
        return [Issue(node.pos, message)]
    return []


def _unfit(node: AstNode, allowed: tuple[str, ...], *, nested: bool) -> AstNode | None:
    """The part of an argument that cannot be formatted."""
    if node.type != DYN and node.type.name not in allowed:
        return node
    if nested and isinstance(node, ListNode | MapNode):
        for child in children(node):
            if (bad := _unfit(child, allowed, nested=True)) is not None:
                return bad
    return None
