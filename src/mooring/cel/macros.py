"""What the macros of CEL and of the libraries that Kubernetes enables expand to.

Called by the parser for every call. Expansions are those of cel-go, so that costs agree.
"""

from collections.abc import Callable
from typing import Final

from mooring.cel.ast import (
    AstNode,
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Select,
)
from mooring.cel.errors import Issue

#: The variable that a comprehension accumulates in; users cannot write it.
ACCUMULATOR: Final = "@result"
_OVERWRITES: Final = "iteration variable overwrites accumulator variable"
_LEGACY_ACCUMULATOR: Final = "__result__"


class MacroError(Exception):
    """The arguments of a macro have the wrong form."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.issue = Issue(pos, message)


def expand(pos: int, function: str, target: AstNode | None, args: list[AstNode]) -> AstNode | None:
    """The expansion of a call, or None if it is no macro.

    Raises:
        MacroError: it is a macro, but its arguments have the wrong form.
    """
    if target is None:
        return _has(pos, args[0]) if function == "has" and len(args) == 1 else None
    macro = _MACROS.get((function, len(args)))
    return macro(pos, target, args) if macro else None


def _has(pos: int, arg: AstNode) -> AstNode:
    if not isinstance(arg, Select) or arg.test_only:
        raise MacroError(arg.pos, "invalid argument to has() macro")
    return Select(pos, arg.operand, arg.field, test_only=True)


def _call(pos: int, function: str, *args: AstNode) -> AstNode:
    return Call(pos, function, None, list(args))


def _accu(pos: int) -> AstNode:
    return Ident(pos, ACCUMULATOR)


def _variable(node: AstNode, problem: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.pos, problem)
    if node.name in (ACCUMULATOR, _LEGACY_ACCUMULATOR):
        raise MacroError(node.pos, _OVERWRITES)
    return node.name


def _variables(args: list[AstNode], two: bool, problem: str) -> tuple[str, str]:
    if not two:
        return _variable(args[0], problem), ""
    for arg in args[:2]:
        if not isinstance(arg, Ident):
            raise MacroError(arg.pos, "argument must be a simple name")
    first, second = args[0], args[1]
    assert isinstance(first, Ident)  # noqa: S101 (checked above)
    assert isinstance(second, Ident)  # noqa: S101 (checked above)
    if first.name == second.name:
        raise MacroError(second.pos, f"duplicate variable name: {first.name}")
    return _variable(first, problem), _variable(second, problem)


_SIMPLE_NAME: Final = "argument must be a simple name"
_IDENTIFIER: Final = "argument is not an identifier"


def _quantifier(kind: str, two: bool) -> Callable[[int, AstNode, list[AstNode]], AstNode]:
    def macro(pos: int, target: AstNode, args: list[AstNode]) -> AstNode:
        first, second = _variables(args, two, _SIMPLE_NAME)
        predicate = args[-1]
        if kind == "one":
            more = _call(pos, "_+_", _accu(pos), Literal(pos, 1))
            return Comprehension(
                pos, target, first, second, ACCUMULATOR, Literal(pos, 0), Literal(pos, True),
                _call(pos, "_?_:_", predicate, more, _accu(pos)),
                _call(pos, "_==_", _accu(pos), Literal(pos, 1)),
            )  # fmt: skip
        going_on = _accu(pos) if kind == "all" else _call(pos, "!_", _accu(pos))
        operator = "_&&_" if kind == "all" else "_||_"
        return Comprehension(
            pos, target, first, second, ACCUMULATOR, Literal(pos, kind == "all"),
            _call(pos, "@not_strictly_false", going_on),
            _call(pos, operator, _accu(pos), predicate), _accu(pos),
        )  # fmt: skip

    return macro


def _loop(
    pos: int,
    target: AstNode,
    variables: tuple[str, str],
    step: AstNode,
    filter_: AstNode | None,
    init: AstNode,
) -> AstNode:
    if filter_ is not None:
        step = _call(pos, "_?_:_", filter_, step, _accu(pos))
    return Comprehension(
        pos, target, *variables, ACCUMULATOR, init, Literal(pos, True), step, _accu(pos)
    )


def _map(pos: int, target: AstNode, args: list[AstNode]) -> AstNode:
    variables = _variables(args, False, _IDENTIFIER)
    step = _call(pos, "_+_", _accu(pos), ListNode(pos, [args[-1]]))
    filter_ = args[1] if len(args) == 3 else None
    return _loop(pos, target, variables, step, filter_, ListNode(pos, []))


def _filter(pos: int, target: AstNode, args: list[AstNode]) -> AstNode:
    variables = _variables(args, False, _IDENTIFIER)
    step = _call(pos, "_+_", _accu(pos), ListNode(pos, [args[0]]))
    return _loop(pos, target, variables, step, args[1], ListNode(pos, []))


def _transform(kind: str) -> Callable[[int, AstNode, list[AstNode]], AstNode]:
    def macro(pos: int, target: AstNode, args: list[AstNode]) -> AstNode:
        variables = _variables(args, True, _SIMPLE_NAME)
        filter_ = args[2] if len(args) == 4 else None
        if kind == "list":
            step = _call(pos, "_+_", _accu(pos), ListNode(pos, [args[-1]]))
            return _loop(pos, target, variables, step, filter_, ListNode(pos, []))
        key = [Ident(pos, variables[0])] if kind == "map" else []
        step = _call(pos, "cel.@mapInsert", _accu(pos), *key, args[-1])
        return _loop(pos, target, variables, step, filter_, MapNode(pos, []))

    return macro


def bind(pos: int, name: str, value: AstNode, body: AstNode) -> AstNode:
    """The node that gives a value a name."""
    return Comprehension(
        pos, ListNode(pos, []), "#unused", "", name, value, Literal(pos, False), Ident(pos, name),
        body,
    )  # fmt: skip


def _bind(pos: int, target: AstNode, args: list[AstNode]) -> AstNode | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].pos, "cel.bind() variable names must be simple identifiers")
    return bind(pos, args[0].name, args[1], args[2])


def _opt_map(flat: bool) -> Callable[[int, AstNode, list[AstNode]], AstNode]:
    name = "optFlatMap" if flat else "optMap"

    def macro(pos: int, target: AstNode, args: list[AstNode]) -> AstNode:
        variable = args[0]
        if not isinstance(variable, Ident):
            raise MacroError(variable.pos, f"{name}() variable name must be a simple identifier")
        value = Call(pos, "value", target, [])
        body = bind(pos, variable.name, value, args[1])
        if not flat:
            body = _call(pos, "optional.of", body)
        has_value = Call(pos, "hasValue", target, [])
        return _call(pos, "_?_:_", has_value, body, _call(pos, "optional.none"))

    return macro


_SORT_INPUT: Final = "@__sortBy_input__"


def _sort_by(pos: int, target: AstNode, args: list[AstNode]) -> AstNode:
    if not isinstance(target, ListNode | Select | Ident | Comprehension | Call):
        raise MacroError(
            target.pos,
            "sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression",
        )
    keys = _map(pos, Ident(pos, _SORT_INPUT), args)
    sort = Call(pos, "@sortByAssociatedKeys", Ident(pos, _SORT_INPUT), [keys])
    return bind(pos, _SORT_INPUT, target, sort)


_MACROS: Final[dict[tuple[str, int], Callable[[int, AstNode, list[AstNode]], AstNode | None]]] = {
    ("all", 2): _quantifier("all", False),
    ("all", 3): _quantifier("all", True),
    ("exists", 2): _quantifier("exists", False),
    ("exists", 3): _quantifier("exists", True),
    ("exists_one", 2): _quantifier("one", False),
    ("exists_one", 3): _quantifier("one", True),
    ("existsOne", 3): _quantifier("one", True),
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("transformList", 3): _transform("list"),
    ("transformList", 4): _transform("list"),
    ("transformMap", 3): _transform("map"),
    ("transformMap", 4): _transform("map"),
    ("transformMapEntry", 3): _transform("entry"),
    ("transformMapEntry", 4): _transform("entry"),
    ("bind", 3): _bind,
    ("optMap", 2): _opt_map(False),
    ("optFlatMap", 2): _opt_map(True),
    ("sortBy", 2): _sort_by,
}
