"""Reads extenders' answers exactly as kube-scheduler does: with Go's ``encoding/json``.

The case of keys does not matter, ``null`` and absent mean empty, unknown keys and whatever follows
the first JSON value are passed over, and one value of a wrong type spoils the whole answer. No I/O;
`judging` says what the values mean.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from mooring.embedded.schema.definitions import definition_of_kind
from mooring.embedded.schema.field_validation import check_fields
from mooring.embedded.status_errors import StatusError
from mooring.wording import escaped

_INT64: Final = range(-(2**63), 2**63)
_SHOWN: Final = 240


class NotJson(Exception):  # noqa: N818 - what Go says of the body
    """The body is not JSON."""


class WrongType(Exception):  # noqa: N818 - what Go says of a value
    """A value has a type that Go does not take."""


class FilterAnswer(NamedTuple):
    """A filter's answer.

    Attributes:
        nodes: the whole nodes it has, by name in order; None if it has no list.
        names: the names it has; None if it has no list.
        failed, unresolvable: the reasons for other nodes.
        error: what it says in ``Error``.
    """

    nodes: list[tuple[str, Mapping[str, Any]]] | None
    names: list[str] | None
    failed: dict[str, str]
    unresolvable: dict[str, str]
    error: str


class VictimsAnswer(NamedTuple):
    """The victims on one node: their ids, None for a ``null``, and the violated budgets."""

    pods: list[str | None]
    violations: int


class Decoded(NamedTuple):
    """A body as JSON.

    Attributes:
        value: the first value in it.
        rest: whether more than white space follows.
    """

    value: Any
    rest: bool


def decode(body: bytes) -> Decoded:
    """The first JSON value of a body.

    Raises:
        NotJson: there is none.
    """
    try:
        return Decoded(msgspec.json.decode(body), rest=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    # Go replaces bytes that are not UTF-8, and reads only the first value.
    text = body.decode(errors="replace").lstrip(" \t\r\n")
    if not text:
        raise NotJson("an empty body")
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    try:
        value, end = decoder.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"no JSON: {shortened(text)}") from error
    return Decoded(value, rest=bool(text[end:].strip()))


def shortened(text: str) -> str:
    """A text on one line, not too long, and without anything that a terminal would obey."""
    line = " ".join(text[: 16 * _SHOWN].split())
    return escaped(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…")


def read_filter(value: Any) -> FilterAnswer:
    """Read a filter's answer.

    Raises:
        WrongType: Go could not.
    """
    # parity v1.36.4: extender/v1 ExtenderFilterResult
    fields = _object(value, "the answer")
    nodes = None
    if (found := fields.get("nodes")) is not None:
        items = _list(_object(found, "Nodes").get("items"), "Nodes.items")
        nodes = [_node(one, place) for place, one in enumerate(items)]
    names = None
    if (listed := fields.get("nodenames")) is not None:
        names = [_string(one, "an element of NodeNames") for one in _list(listed, "NodeNames")]
    return FilterAnswer(
        nodes,
        names,
        _texts(fields.get("failednodes"), "FailedNodes"),
        _texts(fields.get("failedandunresolvablenodes"), "FailedAndUnresolvableNodes"),
        _string(fields.get("error"), "Error"),
    )


def read_scores(value: Any) -> list[tuple[str, int]]:
    """Read a prioritize answer: names and scores in order.

    Raises:
        WrongType: Go could not.
    """
    # parity v1.36.4: extender/v1 HostPriorityList
    found = []
    for one in _list(value, "the answer"):
        fields = _object(one, "an element of the list")
        host = _string(fields.get("host"), "Host")
        found.append((host, _int64(fields.get("score"), f"the Score of {host}")))
    return found


def read_victims(value: Any) -> dict[str, VictimsAnswer | None]:
    """Read a preempt answer: by node, the victims; None for a ``null``.

    Raises:
        WrongType: Go could not.
    """
    # parity v1.36.4: extender/v1 ExtenderPreemptionResult
    fields = _object(value, "the answer")
    by_node = _mapping(fields.get("nodenametometavictims"), "NodeNameToMetaVictims")
    found: dict[str, VictimsAnswer | None] = {}
    for node, one in by_node.items():
        if one is None:
            found[node] = None
            continue
        victims = _object(one, f"the victims on {node}")
        pods = _list(victims.get("pods"), f"the Pods of {node}")
        found[node] = VictimsAnswer(
            [
                None if pod is None else _string(_object(pod, "a victim").get("uid"), "UID")
                for pod in pods
            ],
            _int64(victims.get("numpdbviolations"), f"the NumPDBViolations of {node}"),
        )
    return found


def read_bind(value: Any) -> str:
    """Read a bind answer: the error, empty if the pod is bound.

    Raises:
        WrongType: Go could not.
    """
    # parity v1.36.4: extender/v1 ExtenderBindingResult
    return _string(_object(value, "the answer").get("error"), "Error")


def keys(value: Any) -> set[str]:
    """The keys of an object, in lower case; none of anything else."""
    return {key.lower() for key in value} if isinstance(value, dict) else set()


def _node(value: Any, place: int) -> tuple[str, Mapping[str, Any]]:
    where = f"Nodes.items[{place}]"
    if value is None:
        return "", {}
    if not isinstance(value, dict):
        raise WrongType(f"{where} is {_kind(value)} instead of an object")
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    try:
        # On a copy: what it does not know is taken out.
        node = definition_of_kind("", "v1", "Node")
        check_fields(node, msgspec.json.decode(msgspec.json.encode(value)), strict=False)
    except StatusError as error:
        problem = str(error).partition("cannot be handled as a Node: ")[2] or str(error)
        raise WrongType(f"{where} is not a Node: {shortened(problem)}") from error
    return name if isinstance(name, str) else "", value


def _object(value: Any, what: str) -> dict[str, Any]:
    return {key.lower(): one for key, one in _mapping(value, what).items()}


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WrongType(f"{what} is {_kind(value)} instead of an object")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise WrongType(f"{what} is {_kind(value)} instead of a list")
    return value


def _texts(value: Any, what: str) -> dict[str, str]:
    return {
        name: _string(one, f"{what}[{shortened(name)}]")
        for name, one in _mapping(value, what).items()
    }


def _string(value: Any, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongType(f"{what} is {_kind(value)} instead of a string")
    return value


def _int64(value: Any, what: str) -> int:
    if value is None:
        return 0
    if type(value) is not int:
        raise WrongType(f"{what} is {_kind(value)} instead of a whole number")
    if value not in _INT64:
        raise WrongType(f"{what} has more than 64 bits")
    return value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f'the string "{shortened(value)}"'
    return "a list" if isinstance(value, list) else "an object"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
