"""Kubernetes events as values and as the JSON the API server takes; no I/O, no clock.

`event_cache` and `events` call it. A thousand of them may come in a second, so that nothing is
built before it is sent.
"""

import re
import socket
import uuid
from typing import Final, Literal, NamedTuple

import msgspec

from mooring.kube.resources import api_version
from mooring.kube.timestamps import micro_time
from mooring.model.kinds import BY_NAME
from mooring.model.meta import KubeObject

EventType = Literal["Normal", "Warning"]

# parity v1.36.4: pkg/apis/core/validation/events.go
NOTE_BYTES: Final = 1024
_INSTANCE_BYTES: Final = 128
_NAME_CHARACTERS: Final = 253
_CUT: Final = " ..."
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class ObjectReference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Which object an event is about, and which version of it."""

    kind: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


def reference(thing: KubeObject) -> ObjectReference:
    """The reference to an object, with the fields client-go fills."""
    # parity v1.36.4: client-go/tools/reference/ref.go
    meta = thing.metadata
    kind = thing.kind_name
    return ObjectReference(
        kind,
        meta.namespace or "",
        meta.name,
        meta.uid or "",
        _API_VERSIONS.get(kind, ""),
        meta.resource_version or "",
    )


_API_VERSIONS = {name: api_version(kind) for name, kind in BY_NAME.items()}


class Reporter(NamedTuple):
    """Who records an event.

    Attributes:
        controller: the scheduler's name.
        instance: which of several processes; usually the controller's and the host's name.
    """

    controller: str
    instance: str


def reporter_here(controller: str) -> Reporter:
    """A reporter on this machine, named as client-go names it."""
    return Reporter(controller, f"{controller}-{socket.gethostname()}"[:_INSTANCE_BYTES])


class EventKey(NamedTuple):
    """What makes two records the same event, repeated; client-go's ``eventKey``.

    Attributes:
        regarding: whom it is about.
        related: the other object it is about.
        type: ``Normal`` or ``Warning``.
        reason: such as ``Scheduled``.
        action: such as ``Binding``.
        reporter: who records it.
    """

    regarding: ObjectReference
    related: ObjectReference | None
    type: EventType
    reason: str
    action: str
    reporter: Reporter


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str


class _Series(msgspec.Struct, rename="camel", gc=False):
    count: int
    last_observed_time: str


class _SeriesPatch(msgspec.Struct, gc=False):
    series: _Series


class _Event(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    api_version: str
    kind: str
    metadata: _Metadata
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: ObjectReference
    note: str
    type: str
    related: ObjectReference | None = None
    series: _Series | None = None


_encode = msgspec.json.Encoder().encode


def namespace_of(key: EventKey) -> str:
    """The namespace an event belongs to: that of the object, ``default`` if it has none."""
    return key.regarding.namespace or "default"


def event_name(object_name: str, nanoseconds: int) -> str:
    """A name for an event that no other has, from the object's name and the time."""
    # parity v1.36.4: client-go/tools/record/util/util.go GenerateEventName
    name = f"{object_name}.{nanoseconds:x}"
    if len(name) > _NAME_CHARACTERS or _NAME.fullmatch(name) is None:
        return str(uuid.uuid4())
    return name


def cut_note(note: str) -> str:
    """A note of at most 1,024 bytes: the API server rejects longer ones."""
    # parity v1.36.4: schedule_one.go truncateMessage, which may cut a character in two
    if len(note) * 4 <= NOTE_BYTES:
        return note
    data = note.encode()
    if len(data) <= NOTE_BYTES:
        return note
    return data[: NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT


def event_body(name: str, began_ns: int, key: EventKey, note: str, series: bytes) -> bytes:
    """The whole event, to create it.

    Args:
        name: see `event_name`.
        began_ns: when it happened first, nanoseconds since 1970.
        key: what happened, to what, and who records it.
        note: the text, see `cut_note`.
        series: what `series_patch` makes, if it happened again before it was created.
    """
    regarding, related, type_, reason, action, reporter = key
    body = _encode(
        _Event(
            "events.k8s.io/v1",
            "Event",
            _Metadata(name, namespace_of(key)),
            micro_time(began_ns),
            reporter.controller,
            reporter.instance,
            action,
            reason,
            regarding,
            note,
            type_,
            related,
        )
    )
    return body[:-1] + b"," + series[1:] if series else body


def series_patch(count: int, last_ns: int) -> bytes:
    """The patch that says how often and when last it happened again."""
    return _encode(_SeriesPatch(_Series(count, micro_time(last_ns))))
