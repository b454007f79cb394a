"""What our scheduler sends to other extenders, and what their replies say.

Bytes to values and back, no I/O; `http_extender` carries them. Requests look exactly as
kube-scheduler writes them. Replies are read as generously as kube-scheduler reads them: the case of
keys does not matter, ``null`` and absent mean empty, and unknown keys are passed over.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from mooring.extender.wire import (
    ExtenderBindingArgs,
    ExtenderPreemptionArgs,
    HostPriority,
    MetaPod,
    MetaVictims,
    Victims,
)
from mooring.framework.binding import Binding
from mooring.framework.filtering import Candidate
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod

T = TypeVar("T")

#: What the decoders below raise.
UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
#: Kind and version stand in front of an object that came by watch; kube-scheduler sends neither.
_TYPE_META: Final = re.compile(
    rb'\{(?:"kind":"[^"\\]*","apiVersion"|"apiVersion":"[^"\\]*","kind"):"[^"\\]*",'
)
_INT64: Final = range(-(2**63), 2**63)


class _NodeList(msgspec.Struct):
    metadata: dict[str, str]
    items: list[msgspec.Raw]


class _Args(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw
    nodes: _NodeList | None = None
    node_names: list[str] | None = None


class _Name(msgspec.Struct):
    name: str | None = None


class _Named(msgspec.Struct):
    metadata: _Name | None = None


_NULL: Final = msgspec.Raw(b"null")


class _UsualList(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    kind: msgspec.Raw = _NULL
    api_version: msgspec.Raw = _NULL
    metadata: msgspec.Raw = _NULL
    items: list[_Named] | None = None


class _UsualReply(msgspec.Struct, rename="pascal", forbid_unknown_fields=True):
    """A filter's reply with the keys as Go writes them; read in one go."""

    nodes: _UsualList | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str = ""


class FilterReply(NamedTuple):
    """What an extender said about nodes.

    Attributes:
        kept: the names of the nodes that remain.
        failed: why others do not.
        unresolvable: why others do not, where preempting pods would not help.
        error: why the extender could not answer; empty if it could.
    """

    kept: list[str]
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]
    error: str


def question(pod: Pod, nodes: Sequence[Node], *, names_only: bool) -> bytes:
    """The body of a filter or prioritize request."""
    if names_only:
        args = _Args(_whole(pod), node_names=[node.name for node in nodes])
    else:
        args = _Args(_whole(pod), nodes=_NodeList({}, [_whole(node) for node in nodes]))
    return msgspec.json.encode(args)


def preemption(pod: Pod, candidates: Mapping[str, Candidate], *, ids_only: bool) -> bytes:
    """The body of a preempt request."""
    args = ExtenderPreemptionArgs(_whole(pod))
    if ids_only:
        args.node_name_to_meta_victims = {
            name: MetaVictims([MetaPod(one.uid) for one in found.victims], found.pdb_violations)
            for name, found in candidates.items()
        }
    else:
        args.node_name_to_victims = {
            name: Victims([_whole(one) for one in found.victims], found.pdb_violations)
            for name, found in candidates.items()
        }
    return msgspec.json.encode(args)


def binding(wanted: Binding) -> bytes:
    """The body of a bind request."""
    return msgspec.json.encode(
        ExtenderBindingArgs(wanted.name, wanted.namespace, wanted.uid, wanted.node_name)
    )


def read_filter(body: bytes, *, names_only: bool) -> FilterReply:
    """Read a filter's reply.

    Args:
        body: the reply.
        names_only: whether names were sent; then names are looked for first.
    """
    # parity v1.36.4: extender.go Filter
    try:
        usual = msgspec.json.decode(body, type=_UsualReply)
    except msgspec.ValidationError:
        usual = _unusual_reply(body)
    if names_only and usual.node_names is not None:
        kept = usual.node_names
    else:
        items = (usual.nodes.items if usual.nodes is not None else None) or []
        kept = [(one.metadata.name or "") if one.metadata is not None else "" for one in items]
    return FilterReply(
        kept, usual.failed_nodes or {}, usual.failed_and_unresolvable_nodes or {}, usual.error
    )


def _unusual_reply(body: bytes) -> _UsualReply:
    fields = _fields(body)
    names = _field(fields, "nodenames", list[str | None])
    return _UsualReply(
        _UsualList(items=_field(_fields(fields.get("nodes", _NULL)), "items", list[_Named])),
        None if names is None else [name or "" for name in names],
        _texts(fields, "failednodes"),
        _texts(fields, "failedandunresolvablenodes"),
        _field(fields, "error", str) or "",
    )


def read_scores(body: bytes) -> list[HostPriority]:
    """Read a prioritize reply."""
    try:
        found = msgspec.json.decode(body, type=list[HostPriority])
    except msgspec.ValidationError:
        entries = msgspec.json.decode(body, type=list[dict[str, msgspec.Raw] | None] | None)
        found = [_host_priority(_lower(entry or {})) for entry in entries or ()]
    for one in found:
        if one.score not in _INT64:
            raise msgspec.ValidationError(f"the score of {one.host!r} has more than 64 bits")
    return found


def read_victims(body: bytes) -> dict[str, MetaVictims]:
    """Read a preempt reply: by node, the ids of the victims."""
    by_node = _field(_fields(body), "nodenametometavictims", dict[str, msgspec.Raw])
    return {name: _meta_victims(raw) for name, raw in (by_node or {}).items()}


def read_bind_error(body: bytes) -> str:
    """Read a bind reply: why the pod could not be bound, empty if it is."""
    return _field(_fields(body), "error", str) or ""


def _whole(thing: KubeObject) -> msgspec.Raw:
    """An object in full, as kube-scheduler would write it: without kind and version."""
    source = thing.source
    if source is None:
        source = msgspec.json.encode(
            {key: value for key, value in thing.raw.items() if key not in ("kind", "apiVersion")}
        )
    head = _TYPE_META.match(source)
    return msgspec.Raw(b"{" + source[head.end() :] if head is not None else source)


def _host_priority(fields: Mapping[str, msgspec.Raw]) -> HostPriority:
    return HostPriority(_field(fields, "host", str) or "", _field(fields, "score", int) or 0)


def _meta_victims(raw: msgspec.Raw) -> MetaVictims:
    fields = _fields(raw)
    pods = _field(fields, "pods", list[msgspec.Raw]) or []
    return MetaVictims(
        [MetaPod(_field(_fields(pod), "uid", str) or "") for pod in pods],
        _field(fields, "numpdbviolations", int) or 0,
    )


def _texts(fields: Mapping[str, msgspec.Raw], key: str) -> dict[str, str]:
    found = _field(fields, key, dict[str, str | None]) or {}
    return {name: text or "" for name, text in found.items()}


def _fields(body: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    return _lower(msgspec.json.decode(body, type=dict[str, msgspec.Raw] | None) or {})


def _lower(fields: Mapping[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    return {key.lower(): value for key, value in fields.items()}


def _field(fields: Mapping[str, msgspec.Raw], key: str, kind: type[T]) -> T | None:
    raw = fields.get(key)
    return None if raw is None else msgspec.json.decode(raw, type=kind | None)
