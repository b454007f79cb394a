"""Finds the type of every part of an expression, and the overloads that its calls may mean.

Called once per expression, after parsing. Follows the algorithm of cel-go, because what it accepts
and the types it finds decide which expressions Kubernetes rejects.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from mooring.cel.ast import (
    AstNode,
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Select,
    StructNode,
    nodes,
)
from mooring.cel.declarations import DEVICE_FIELDS, FUNCTIONS, TYPE_NAMES, VARIABLES
from mooring.cel.errors import Issue
from mooring.cel.overloads import Overload
from mooring.cel.types import (
    BOOL,
    BYTES,
    DEVICE,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Type,
    TypeBindings,
    check_parts,
    is_dyn,
    is_dyn_or_error,
    list_of,
    map_of,
    most_general,
    optional_of,
    param,
    signature,
    unwrap_optional,
)
from mooring.cel.values import Uint


def check(root: AstNode) -> list[Issue]:
    """Annotate all nodes with types and overloads; what is wrong is returned.

    Raises:
        TypeSizeError: a type is too large.
    """
    checker = _Checker()
    checker.check(root)
    if not checker.issues:
        checker.settle(root)
    return checker.issues


class _Checker:
    def __init__(self) -> None:
        self.issues: list[Issue] = []
        self._bindings = TypeBindings()
        self._scopes: list[dict[str, Type]] = [VARIABLES]
        self._n_variables = 0
        self._checked: set[int] = set()

    def settle(self, root: AstNode) -> None:
        """Replace type parameters by what they stand for, or by dyn."""
        for node in nodes(root):
            node.type = self._bindings.substitute(node.type, free_is_dyn=True)

    def check(self, node: AstNode) -> Type:
        """Find the type of a node and of all below."""
        if id(node) in self._checked:
            return node.type
        self._checked.add(id(node))
        if isinstance(node, Literal):
            node.type = _LITERALS[type(node.value)]
        elif isinstance(node, Ident):
            node.type = self._ident(node)
        elif isinstance(node, Select):
            node.type = self._select(node)
        elif isinstance(node, Call):
            node.type = self._call(node)
        elif isinstance(node, ListNode):
            node.type = self._list(node)
        elif isinstance(node, MapNode):
            node.type = self._map(node)
        elif isinstance(node, StructNode):
            node.type = self._struct(node)
        elif isinstance(node, Comprehension):
            node.type = self._comprehension(node)
        return node.type

    def _report(self, node: AstNode, message: str) -> Type:
        self.issues.append(Issue(node.pos, message))
        return ERROR

    def _fresh(self) -> Type:
        self._n_variables += 1
        return param(f"_var{self._n_variables}")

    def _now(self, type_: Type) -> Type:
        return self._bindings.substitute(type_)

    # Names

    def _variable(self, name: str) -> Type | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _ident(self, node: Ident) -> Type:
        name = node.name.removeprefix(".")
        variable = self._variable(name)
        if variable is not None:
            node.name = name
            return variable
        if name in TYPE_NAMES:
            type_, node.constant = TYPE_NAMES[name]
            return type_
        return self._undeclared(node, node.name)

    def _undeclared(self, node: AstNode, name: str) -> Type:
        return self._report(node, f"undeclared reference to '{name}' (in container '')")

    # Fields

    def _select(self, node: Select) -> Type:
        name = None if node.test_only else _qualified(node)
        if name is not None:
            name = name.removeprefix(".")
            if name in TYPE_NAMES and self._variable(name) is None:
                type_, node.constant = TYPE_NAMES[name]
                return type_
        result = self._field(node, node.operand, node.field, optional=False)
        return BOOL if node.test_only else self._now(result)

    def _field(self, node: AstNode, operand: AstNode, field: str, *, optional: bool) -> Type:
        self.check(operand)
        target, is_opt = unwrap_optional(self._now(operand.type))
        result = DYN
        if target.kind == "map":
            result = target.params[1]
        elif target == DEVICE:
            result = DEVICE_FIELDS.get(field, ERROR)
            if result is ERROR:
                self._report(node, f"undefined field '{field}'")
        elif target.kind == "struct":
            result = self._report(node, f"undefined field '{field}'")
        elif target.kind == "param":
            self._bindings.assignable(DYN, target)
        elif not is_dyn_or_error(target):
            self._report(node, f"type '{target}' does not support field selection")
        return optional_of(result) if is_opt or optional else result

    # Calls

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            operand, field = node.args
            assert isinstance(field, Literal)  # noqa: S101 (the parser made it)
            result = self._field(node, operand, str(field.value), optional=True)
            field.type = STRING
            node.overloads = ["select_optional_field"]
            return self._now(result)
        for arg in node.args:
            self.check(arg)
        if node.function in ("_&&_", "_||_"):
            return self._logical(node)
        if node.target is None:
            name = node.function.removeprefix(".")
            if name not in FUNCTIONS:
                return self._undeclared(node, node.function)
            node.function = name
            return self._resolve(node, FUNCTIONS[name])
        prefix = _qualified(node.target)
        if prefix is not None:
            name = f"{prefix}.{node.function}".removeprefix(".")
            if name in FUNCTIONS:
                node.target = None
                node.function = name
                return self._resolve(node, FUNCTIONS[name])
        self.check(node.target)
        if node.function not in FUNCTIONS:
            return self._undeclared(node, node.function)
        return self._resolve(node, FUNCTIONS[node.function])

    def _logical(self, node: Call) -> Type:
        wrong = False
        for arg in node.args:
            if not self._bindings.assignable(arg.type, BOOL):
                self._report(arg, f"expected type 'bool' but found '{arg.type}'")
                wrong = True
        node.overloads = ["logical_and" if node.function == "_&&_" else "logical_or"]
        return ERROR if wrong else BOOL

    def _resolve(self, node: Call, overloads: list[Overload]) -> Type:
        is_method = node.target is not None
        types = [operand.type for operand in node.operands]
        result: Type | None = None
        for overload in overloads:
            if overload.is_method != is_method or len(overload.args) != len(types):
                continue
            wanted, returned = self._instance(overload)
            if not self._bindings.assignable_lists(types, wanted):
                continue
            node.overloads.append(overload.id)
            returned = self._now(returned)
            if result is None:
                result = returned
            elif not is_dyn(result) and returned != result:
                result = DYN
        if result is None:
            shown = [self._bindings.substitute(type_, free_is_dyn=True) for type_ in types]
            return self._report(
                node,
                f"found no matching overload for '{node.function}' applied to "
                f"'{signature(shown, method=is_method)}'",
            )
        return result

    def _instance(self, overload: Overload) -> tuple[list[Type], Type]:
        """The types of an overload with fresh parameters."""
        fresh: dict[str, Type] = {}

        def rename(type_: Type) -> Type:
            if type_.kind == "param":
                if type_.name not in fresh:
                    fresh[type_.name] = self._fresh()
                return fresh[type_.name]
            if type_.params:
                return type_._replace(params=tuple(rename(inner) for inner in type_.params))
            return type_

        return [rename(arg) for arg in overload.args], rename(overload.result)

    # Literals of lists, maps and messages

    def _list(self, node: ListNode) -> Type:
        joined: Type | None = None
        for i, element in enumerate(node.elements):
            type_ = self.check(element)
            if i in node.optional:
                type_ = self._optional_part(element, type_)
            joined = self._join(joined, type_)
        return list_of(self._fresh() if joined is None else joined)

    def _map(self, node: MapNode) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for key, value, optional in node.entries:
            keys = self._join(keys, self.check(key))
            type_ = self.check(value)
            if optional:
                type_ = self._optional_part(value, type_)
            values = self._join(values, type_)
        if keys is None or values is None:
            return map_of(self._fresh(), self._fresh())
        made = map_of(keys, values)
        check_parts(made)
        return made

    def _optional_part(self, node: AstNode, type_: Type) -> Type:
        inner, is_opt = unwrap_optional(type_)
        if not is_opt and not is_dyn(inner):
            self._report(node, f"expected type '{optional_of(inner)}' but found '{inner}'")
        return inner

    def _join(self, before: Type | None, type_: Type) -> Type:
        if before is None:
            return type_
        if self._bindings.assignable(before, type_):
            return most_general(before, type_)
        return DYN  # the validators reject it, except in arguments of `format`

    def _struct(self, node: StructNode) -> Type:
        for _, value, _, _ in node.fields:
            self.check(value)
        name = node.name.removeprefix(".")
        if name not in TYPE_NAMES:
            return self._undeclared(node, node.name)
        return self._report(node, f"'{name}' is not a message type")

    # Comprehensions

    @contextmanager
    def _scope(self, **names: Type) -> Iterator[None]:
        self._scopes.append(names)
        yield
        self._scopes.pop()

    def _comprehension(self, node: Comprehension) -> Type:
        self.check(node.iter_range)
        accu = self.check(node.accu_init)
        first, second = self._iterated(node, self._now(node.iter_range.type))
        with self._scope(**{node.accu_var: accu}):
            names = {node.iter_var: first}
            if node.iter_var2:
                names[node.iter_var2] = second
            with self._scope(**names):
                self._must_be(node.condition, BOOL, self.check(node.condition))
                self._must_be(node.step, accu, self.check(node.step))
            result = self.check(node.result)
        return self._now(result)

    def _must_be(self, node: AstNode, wanted: Type, type_: Type) -> None:
        if not self._bindings.assignable(wanted, type_):
            self._report(node, f"expected type '{wanted}' but found '{type_}'")

    def _iterated(self, node: Comprehension, type_: Type) -> tuple[Type, Type]:
        """The types of the iteration variables."""
        two = bool(node.iter_var2)
        if type_.kind == "list":
            return (INT, type_.params[0]) if two else (type_.params[0], ERROR)
        if type_.kind == "map":
            return type_.params[0], type_.params[1]
        if type_.kind in ("dyn", "error", "param"):  # parity: not "any"
            self._bindings.assignable(DYN, type_)
            return DYN, DYN
        self._report(
            node.iter_range,
            f"expression of type '{type_}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return ERROR, ERROR


_LITERALS: dict[type, Type] = {
    bool: BOOL,
    bytes: BYTES,
    float: DOUBLE,
    int: INT,
    type(None): NULL,
    str: STRING,
    Uint: UINT,
}


def _qualified(node: AstNode) -> str | None:
    """``a.b.c`` as one name, if it is nothing but names."""
    parts: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])
