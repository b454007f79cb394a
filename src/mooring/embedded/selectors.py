"""Label and field selectors of requests: which objects a list, a watch or a deletion is about.

Owns the reading of the two query parameters, with the server's words for wrong ones, and the values
of an object that field selectors ask for. The store keeps those values beside each object;
`api`, `app` and `watches` ask the queries. Nothing here reads a whole object twice.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from mooring.embedded.resources import (
    CORE_EVENTS,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICATION_CONTROLLERS,
    RESOURCE_SLICES,
    Obj,
    Resource,
)
from mooring.embedded.status_errors import bad_request
from mooring.embedded.validation.field_errors import shown
from mooring.embedded.validation.names import label_key, label_value

_LabelTest = Callable[[str | None], bool]


class Selectable(Protocol):
    """What a field selector reads of an object in the store."""

    @property
    def namespace(self) -> str:
        """Its namespace; empty for a cluster-wide one."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def fields(self) -> tuple[str, ...]:
        """What `selectable_fields` gives for it."""


class LabelRequirements:
    """What ``labelSelector`` asks for.

    Attributes:
        everything: whether it lets every object pass.
    """

    __slots__ = ("_tests", "everything")

    def __init__(self, tests: Sequence[tuple[str, _LabelTest]]) -> None:
        self._tests = tuple(tests)
        self.everything = not tests

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is meant."""
        get = labels.get
        for key, test in self._tests:  # noqa: SIM110 - a generator costs more than the tests
            if not test(get(key)):
                return False
        return True


class FieldRequirements:
    """What ``fieldSelector`` asks for.

    Attributes:
        everything: whether it lets every object pass.
        name: the only name an object may have, if one is required.
    """

    __slots__ = ("_fields", "_names", "_namespaces", "everything", "name")

    def __init__(self, terms: Sequence[tuple[str, bool, str]], positions: Mapping[str, int]):
        self.everything = not terms
        self.name = next((value for at, same, value in terms if same and at == _NAME), None)
        self._names = tuple((same, value) for at, same, value in terms if at == _NAME)
        self._namespaces = tuple((same, value) for at, same, value in terms if at == _NAMESPACE)
        self._fields = tuple(
            (positions.get(at, -1), same, value)
            for at, same, value in terms
            if at not in (_NAME, _NAMESPACE)
        )

    def matches(self, item: Selectable) -> bool:
        """Whether this object is meant."""
        for same, value in self._names:
            if (item.name == value) is not same:
                return False
        for same, value in self._namespaces:
            if (item.namespace == value) is not same:
                return False
        fields = item.fields
        for at, same, value in self._fields:
            if ((fields[at] if at >= 0 else "") == value) is not same:
                return False
        return True


# --- labels -------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")
_SIGNS: Final = frozenset(("", "==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


class _SelectorError(Exception):
    """A selector cannot be read."""


@functools.lru_cache(maxsize=1024)
def parse_labels(text: str) -> LabelRequirements:
    """Read a label selector such as ``app=web,tier in (a,b),!old``.

    Raises:
        StatusError: it cannot be read.
    """
    # parity v1.36.4: apimachinery/pkg/labels/selector.go Parser.parse
    tokens = _Tokens(text)
    tests: list[tuple[str, _LabelTest]] = []
    try:
        while tokens.lookahead:
            if tokens.lookahead in _SIGNS and tokens.lookahead != "!":
                raise _SelectorError(
                    f"found '{tokens.lookahead}', expected: !, identifier, or 'end of string'"
                )
            try:
                tests.append(_requirement(tokens))
            except _SelectorError as wrong:
                raise _SelectorError(f"unable to parse requirement: {wrong}") from None
            after = tokens.consume()
            if not after:
                break
            if after != ",":
                raise _SelectorError(f"found '{after}', expected: ',' or 'end of string'")
            if tokens.lookahead in _SIGNS and tokens.lookahead != "!":
                raise _SelectorError(f"found '{tokens.lookahead}', expected: identifier after ','")
    except _SelectorError as wrong:
        raise bad_request(str(wrong)) from None
    return LabelRequirements(tests)


class _Tokens:
    """The words and signs of a label selector, one after the other; empty at the end."""

    __slots__ = ("_rest", "lookahead")

    def __init__(self, text: str) -> None:
        self._rest: Iterator[str] = iter(_TOKEN.findall(text))
        self.lookahead = next(self._rest, "")

    def consume(self) -> str:
        """The next one, left behind."""
        taken, self.lookahead = self.lookahead, next(self._rest, "")
        return taken


def _requirement(tokens: _Tokens) -> tuple[str, _LabelTest]:
    key = tokens.consume()
    absent = key == "!"
    if absent:
        key = tokens.consume()
    if key in _SIGNS:
        raise _SelectorError(f"found '{key}', expected: identifier")
    problems = label_key(key)
    if problems:
        raise _SelectorError(f"<nil>: Invalid value: {shown(key)}: {'; '.join(problems)}")
    if absent:
        return key, _is_absent
    if tokens.lookahead in ("", ","):
        return key, _is_there
    operator = tokens.consume()
    if operator in ("in", "notin"):
        values = _values(tokens)
    elif operator in ("=", "==", "!=", ">", "<"):
        values = [_value(tokens)]
    else:
        raise _SelectorError(f"found '{operator}', expected: {', '.join(_OPERATORS)}")
    _check_values(key, operator, values)
    if operator in (">", "<"):
        return key, _bound(operator, int(values[0]))
    wanted = frozenset(values)
    return key, (wanted.__contains__ if operator in ("in", "=", "==") else _not_in(wanted))


def _values(tokens: _Tokens) -> list[str]:
    """What is between parentheses, in order and each once."""
    opening = tokens.consume()
    if opening != "(":
        raise _SelectorError(f"found '{opening}' expected: '('")
    if tokens.lookahead == ")":
        tokens.consume()
        return [""]
    if tokens.lookahead in _SIGNS and tokens.lookahead != ",":
        raise _SelectorError(f"found '{tokens.lookahead}', expected: ',', ')' or identifier")
    found: set[str] = set()
    while tokens.lookahead != ")":
        one = tokens.consume()
        if one == ",":
            if not found or tokens.lookahead in (",", ")"):
                found.add("")
        elif one in _SIGNS:
            raise _SelectorError(f"found '{one}', expected: ',', or identifier")
        else:
            found.add(one)
            if tokens.lookahead not in (",", ")"):
                raise _SelectorError(f"found '{tokens.lookahead}', expected: ',' or ')'")
    tokens.consume()
    return sorted(found)


def _value(tokens: _Tokens) -> str:
    if tokens.lookahead in ("", ","):
        return ""
    value = tokens.consume()
    if value in _SIGNS:
        raise _SelectorError(f"found '{value}', expected: identifier")
    return value


def _check_values(key: str, operator: str, values: Sequence[str]) -> None:
    problems = []
    if operator in (">", "<") and _integer(values[0]) is None:
        rule = "for 'Gt', 'Lt' operators, the value must be an integer"
        problems.append(f"values[0]: Invalid value: {shown(values[0])}: {rule}")
    for at, value in enumerate(values):
        wrong = label_value(value)
        if wrong:
            message = f"Invalid value: {shown(value)}: {'; '.join(wrong)}"
            problems.append(f"values[{at}][{key}]: {message}")
    if problems:
        raise _SelectorError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


def _is_there(value: str | None) -> bool:
    return value is not None


def _is_absent(value: str | None) -> bool:
    return value is None


def _not_in(unwanted: frozenset[str]) -> _LabelTest:
    return lambda value: value not in unwanted


def _bound(operator: str, limit: int) -> _LabelTest:
    def test(value: str | None) -> bool:
        number = None if value is None else _integer(value)
        return number is not None and (number > limit if operator == ">" else number < limit)

    return test


def _integer(text: str) -> int | None:
    """A text as Go's ParseInt reads it with 64 bits."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


# --- fields -------------------------------------------------------------------------------------

_NAME: Final = "metadata.name"
_NAMESPACE: Final = "metadata.namespace"
#: Kinds whose objects have no namespace a selector could name; other cluster-wide ones allow it.
_NO_NAMESPACE: Final = (NODES, NAMESPACES, RESOURCE_SLICES)
#: Events are stored in their core form, so the newer names of fields are other words for the old.
_EVENT_FIELDS: Final = {
    **{f"regarding.{part}": f"involvedObject.{part}" for part in (
        "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
    )},
    "reportingController": "reportingComponent",
}  # fmt: skip
#: Read for the sake of old clients, and never true of anything but nothing.
_EMPTY_FIELDS: Final = {PODS: ("status.podIPs",)}


@functools.lru_cache(maxsize=1024)
def parse_fields(text: str, resource: Resource) -> FieldRequirements:
    """Read a field selector such as ``spec.nodeName=a,status.phase!=Failed``.

    For both kinds of events the query is about the core form, which is what the store has.

    Raises:
        StatusError: it cannot be read, or names a field the resource does not offer.
    """
    # parity v1.36.4: apimachinery/pkg/fields/selector.go parseSelector, which sorts the terms
    terms = [_term(text, part) for part in sorted(_split(text)) if part]
    known = [(_field(name, resource), same, value) for name, same, value in terms]
    return FieldRequirements(known, _positions(resource))


def _positions(resource: Resource) -> dict[str, int]:
    stored = CORE_EVENTS if resource == EVENTS else resource
    return {name: at for at, name in enumerate(stored.selectable)}


def _split(text: str) -> Iterator[str]:
    """The terms between commas that no backslash precedes."""
    start = 0
    escaped = False
    for at, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == ",":
            yield text[start:at]
            start = at + 1
    yield text[start:]


_FIELD_OPERATOR: Final = re.compile("!=|==|=")


def _term(text: str, part: str) -> tuple[str, bool, str]:
    found = _FIELD_OPERATOR.search(part)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return part[: found.start()], found[0] != "!=", _unescaped(part[found.end() :])


def _unescaped(value: str) -> str:
    if not any(special in value for special in "\\,="):
        return value
    plain = []
    characters = iter(value)
    for one in characters:
        if one == "\\":
            one = next(characters, "")
            if one not in ("\\", ",", "="):
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{one}")
        elif one in ",=":
            # Go prints the number of the character here, not the character.
            message = f"invalid field selector: unescaped character in value: {ord(one)}"
            raise bad_request(message)
        plain.append(one)
    return "".join(plain)


def _field(name: str, resource: Resource) -> str:
    """The name under which the values of a field are kept."""
    if name == _NAME or (name == _NAMESPACE and resource not in _NO_NAMESPACE):
        return name
    if name in resource.selectable:
        return _EVENT_FIELDS.get(name, name) if resource == EVENTS else name
    if resource == PODS and name == "spec.host":
        return "spec.nodeName"
    if name in _EMPTY_FIELDS.get(resource, ()):
        return name
    # parity v1.36.4: AddFieldLabelConversionFunc in pkg/apis/*/v1/conversion.go
    if not resource.selectable:
        raise bad_request(
            f'{shown(name)} is not a known field selector: only "{_NAME}", "{_NAMESPACE}"'
        )
    if resource == JOBS:
        raise bad_request(f"field label {shown(name)} not supported for Job")
    if resource == RESOURCE_SLICES:
        kind = f"{resource.api_version}, Kind={resource.kind}"
        raise bad_request(f"field label not supported for {kind}: {name}")
    raise bad_request(f"field label not supported: {name}")


# --- the values ---------------------------------------------------------------------------------


def selectable_fields(resource: Resource, obj: Obj) -> tuple[str, ...]:
    """The values of `resource.selectable` in an object, as text.

    An event is in its core form, for either of its resources.
    """
    readers = _readers(resource)
    return tuple([read(obj) for read in readers]) if readers else ()


@functools.cache
def _readers(resource: Resource) -> tuple[Callable[[Obj], str], ...]:
    stored = CORE_EVENTS if resource == EVENTS else resource
    special = _SPECIAL.get(stored, {})
    return tuple(special.get(name) or _reader(name) for name in stored.selectable)


def _reader(path: str, absent: str = "") -> Callable[[Obj], str]:
    """Reads the text or number at a path."""
    first, _, second = path.partition(".")
    if not second:
        return lambda obj: _text(obj.get(first), absent)

    def read(obj: Obj) -> str:
        part = obj.get(first)
        return _text(part.get(second), absent) if part else absent

    return read


def _text(value: Any, absent: str) -> str:
    if isinstance(value, str):
        return value or absent
    if value is None:
        return absent
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _pod_ip(pod: Obj) -> str:
    """The first of the pod's addresses, which the server reads the older field from."""
    status = pod.get("status") or {}
    addresses = status.get("podIPs")
    return str((addresses[0].get("ip") if addresses else status.get("podIP")) or "")


def _event_source(event: Obj) -> str:
    source = event.get("source") or {}
    return str(source.get("component") or event.get("reportingComponent") or "")


#: Fields that are no text at the place they are named after.
_SPECIAL: Final[Mapping[Resource, Mapping[str, Callable[[Obj], str]]]] = {
    PODS: {
        "spec.hostNetwork": _reader("spec.hostNetwork", "false"),
        "status.podIP": _pod_ip,
    },
    NODES: {"spec.unschedulable": _reader("spec.unschedulable", "false")},
    CORE_EVENTS: {"source": _event_source},
    REPLICATION_CONTROLLERS: {"status.replicas": _reader("status.replicas", "0")},
    JOBS: {"status.successful": _reader("status.succeeded", "0")},
}
