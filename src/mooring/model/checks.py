"""Finds what kube-scheduler could not work with in an object: impossible amounts and selectors.

Owns the rules for quantities, label selectors and node selectors. Called for objects that did not
come from an API server, which would have rejected them. It walks all fields of all kinds, by their
declared types, so a new field of a known type is checked without further work here.
"""

import functools
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from mooring.errors import QuantityError
from mooring.model.label_syntax import is_label_key, is_label_value
from mooring.model.meta import KubeObject
from mooring.model.quantity import parse_quantity
from mooring.model.resources import ResourceList
from mooring.model.selectors import LabelSelector, NodeSelectorTerm, Requirement
from mooring.model.storage import TopologySelectorLabelRequirement

#: Where something is wrong, as a path inside what was checked, and what is wrong.
Problems = list[tuple[str, str]]
Check = Callable[[Any], Problems]

_WHOLE: Final = re.compile(r"[+-]?0*[0-9]{1,19}", re.ASCII)
_LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS: Final = (*_LABEL_OPERATORS, "Gt", "Lt")
#: So many parts that are right are remembered, if they are not longer than so many bytes.
_REMEMBERED: Final = 4096
_SHORT: Final = 1024


def check_object(thing: KubeObject) -> list[str]:
    """Everything in an object that kube-scheduler could not work with, each as one sentence.

    A sentence names kind, object and field, such as ``Pod shop/web-1: field
    spec.containers[0].resources.requests[cpu]: 'lots' is not a valid quantity; ...``.
    """
    check = _check_for(type(thing))
    problems = check(thing) if check is not None else ()
    return [f"{thing.kind_name} {thing.key}: field {path}: {text}" for path, text in problems]


@functools.cache
def _check_for(kind: Any) -> Check | None:
    """What checks a value of a declared type; None if there is nothing to check in it."""
    if kind in _CHECKS:
        return _CHECKS[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        left = tuple(one for one in arguments if one is not type(None))
        return _amount if left == typing.get_args(str | int | float) else _check_for(left[0])
    if origin is list:
        return _list_check(_check_for(arguments[0]))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct_check(kind)
    return None


def _struct_check(kind: type[msgspec.Struct]) -> Check | None:
    hints = typing.get_type_hints(kind)
    plan = [
        (field.name, field.encode_name, inner)
        for field in msgspec.structs.fields(kind)
        if (inner := _check_for(hints[field.name])) is not None
    ]

    def check(part: msgspec.Struct) -> Problems:
        found: Problems = []
        for name, key, inner in plan:
            value = getattr(part, name)
            if value is not None:
                problems = inner(value)
                if problems:
                    found += _under(key, problems)
        return found

    return check if plan else None


def _list_check(inner: Check | None) -> Check | None:
    if inner is None:
        return None

    def check(parts: list[Any]) -> Problems:
        found: Problems = []
        for number, part in enumerate(parts):
            problems = inner(part)
            if problems:
                found += _under(f"[{number}]", problems)
        return found

    return check


def _under(start: str, problems: Problems) -> Problems:
    """The same problems, seen from further outside."""
    return [
        (f"{start}.{path}" if path and path[0] != "[" else start + path, text)
        for path, text in problems
    ]


def _resource_list(resources: Mapping[str, str | int | float]) -> Problems:
    return [
        (f"[{name}]", problem)
        for name, text in resources.items()
        if (problem := _quantity_problem(text)) is not None
    ]


def _amount(text: str | int | float) -> Problems:
    problem = _quantity_problem(text)
    return [] if problem is None else [("", problem)]


def _quantity_problem(text: str | int | float) -> str | None:
    try:
        parse_quantity(text)
    except QuantityError as error:
        return str(error)
    return None


def _remembered(check: Check) -> Check:
    """The same check, done once for all parts of the same content."""
    right: set[bytes] = set()
    encode = msgspec.msgpack.Encoder().encode

    def remembered(part: msgspec.Struct) -> Problems:
        key = encode(part)
        if key in right:
            return []
        found = check(part)
        if not found and len(key) <= _SHORT:
            if len(right) >= _REMEMBERED:
                right.clear()
            right.add(key)
        return found

    return remembered


def _label_selector(selector: LabelSelector) -> Problems:
    # parity v1.36.4: apimachinery/pkg/apis/meta/v1/helpers.go LabelSelectorAsSelector
    found: Problems = []
    for key, value in (selector.match_labels or {}).items():
        texts = (_key_problem(key), _value_problem(value))
        found += [(f"matchLabels[{key}]", text) for text in texts if text]
    for number, one in enumerate(selector.match_expressions or ()):
        found += _under(f"matchExpressions[{number}]", _requirement(one, _LABEL_OPERATORS))
    return found


def _node_term(term: NodeSelectorTerm) -> Problems:
    # parity v1.36.4: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
    found: Problems = []
    for number, one in enumerate(term.match_expressions or ()):
        found += _under(f"matchExpressions[{number}]", _requirement(one, _NODE_OPERATORS))
    for number, one in enumerate(term.match_fields or ()):
        found += _under(f"matchFields[{number}]", _field(one))
    return found


def _field(one: Requirement) -> Problems:
    found: Problems = []
    if one.key != "metadata.name":
        found.append(("key", f"{one.key!r} is not supported; use metadata.name"))
    if one.operator not in ("In", "NotIn"):
        found.append(_unknown_operator(one.operator, ("In", "NotIn")))
    elif len(one.values or ()) != 1:
        found.append(("values", f"{one.operator} takes exactly one value here"))
    return found


def _topology_requirement(one: TopologySelectorLabelRequirement) -> Problems:
    # parity v1.36.4: component-helpers/scheduling/corev1: the values are read as the operator In
    return _requirement(Requirement(one.key, "In", one.values), _LABEL_OPERATORS)


def _requirement(one: Requirement, operators: tuple[str, ...]) -> Problems:
    # parity v1.36.4: apimachinery/pkg/labels/selector.go NewRequirement
    found: Problems = []
    values, operator = one.values or [], one.operator
    if operator not in operators:
        found.append(_unknown_operator(operator, operators))
    elif operator in ("In", "NotIn"):
        if not values:
            found.append(("values", f"{operator} needs at least one value"))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1 or not _is_whole(values[0]):
            found.append(("values", f"{operator} needs exactly one integer"))
    elif values:
        found.append(("values", f"{operator} takes no values; remove them"))
    if text := _key_problem(one.key):
        found.append(("key", text))
    for number, value in enumerate(values):
        if text := _value_problem(value):
            found.append((f"values[{number}]", text))
    return found


def _unknown_operator(operator: str, known: tuple[str, ...]) -> tuple[str, str]:
    return ("operator", f"{operator!r} is not supported; use one of {', '.join(known)}")


def _is_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def _key_problem(key: str) -> str | None:
    if is_label_key(key):
        return None
    return (
        f"{key!r} is not a valid label key; use up to 63 letters, digits, '-', '_' and '.', "
        f"optionally after a domain and '/', such as example.com/rack"
    )


def _value_problem(value: str) -> str | None:
    if is_label_value(value):
        return None
    return (
        f"{value!r} is not a valid label value; use up to 63 letters, digits, '-', '_' and '.', "
        f"with a letter or digit at both ends"
    )


_CHECKS: Final[dict[Any, Check]] = {
    ResourceList: _resource_list,
    LabelSelector: _remembered(_label_selector),
    NodeSelectorTerm: _remembered(_node_term),
    TopologySelectorLabelRequirement: _remembered(_topology_requirement),
}
