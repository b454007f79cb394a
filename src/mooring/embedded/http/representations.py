"""The representations of objects: whole, as rows of a table, or as metadata only.

`app` and `watches` call it. A whole object goes out as the bytes it is stored as.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from mooring.embedded.event_conversion import to_events_v1
from mooring.embedded.http.lists import Page
from mooring.embedded.resources import EVENTS, Obj, Resource
from mooring.embedded.status_errors import not_acceptable
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.tables.tables import (
    Include,
    accepts_table,
    metadata_only,
    table,
    wants_metadata_only,
)

JSON: Final = "application/json"
RepresentationName = Literal["object", "table", "metadata"]

_encode = msgspec.json.Encoder().encode


class Representation:
    """How a client wants objects represented.

    Args:
        resource: what they are.
        accept: the request's Accept header.
        include: what a row of a table carries of its object.
        clock: seconds since 1970, for ages.

    Attributes:
        name: which representation it is.

    Raises:
        StatusError: the client understands nothing that we write.
    """

    def __init__(
        self, resource: Resource, accept: str, include: str, clock: Callable[[], float]
    ) -> None:
        self._resource = resource
        self._clock = clock
        self._include: Include = "Metadata"
        if include == "None":
            self._include = "None"
        elif include == "Object":
            self._include = "Object"
        self.name: RepresentationName = "object"
        if accept and "as=" in accept:
            if accepts_table(accept):
                self.name = "table"
            elif wants_metadata_only(accept):
                self.name = "metadata"
        elif accept and not _takes_json(accept):
            raise not_acceptable([JSON])
        self._headed = False

    def encode_object(self, item: StoredObject) -> bytes:
        """One object."""
        if self.name == "object":
            return self._body(item)
        obj = self._decoded(item)
        if self.name == "metadata":
            return _encode(metadata_only(obj))
        return _encode(self._table([obj], str(item.version), {}))

    def encode_watched(self, item: StoredObject) -> bytes:
        """One of a stream of objects: only the first table says what its columns are."""
        if self.name != "table":
            return self.encode_object(item)
        objs, version = [self._decoded(item)], str(item.version)
        found = self._table(objs, version, {}, headers=not self._headed)
        self._headed = True
        return _encode(found)

    def encode_list(self, page: Page) -> bytes:
        """A list."""
        version = str(page.version)
        more: Obj = {}
        if page.token:
            more = {"continue": page.token, "remainingItemCount": page.remaining}
        if self.name == "table":
            return _encode(self._table([self._decoded(one) for one in page.items], version, more))
        resource = self._resource
        metadata = _encode({"resourceVersion": version, **more})
        if self.name == "metadata":
            kind, api_version = "PartialObjectMetadataList", "meta.k8s.io/v1"
            bodies = [_encode(metadata_only(self._decoded(one))) for one in page.items]
        else:
            kind, api_version = f"{resource.kind}List", resource.api_version
            bodies = [self._body(one) for one in page.items]
        return b"".join(
            (
                b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":['
                % (kind.encode(), api_version.encode(), metadata),
                b",".join(bodies),
                b"]}\n",
            )
        )

    def _body(self, item: StoredObject) -> bytes:
        if self._resource is EVENTS:
            return _encode(to_events_v1(item.obj))
        return item.body

    def _decoded(self, item: StoredObject) -> Obj:
        return to_events_v1(item.obj) if self._resource is EVENTS else item.obj

    def _table(self, objs: Sequence[Obj], version: str, more: Obj, *, headers: bool = True) -> Obj:
        now = self._clock()
        return table(self._resource, objs, now, self._include, version, more, headers=headers)


def _takes_json(accept: str) -> bool:
    names = [part.partition(";")[0].strip() for part in accept.split(",")]
    return any(name in (JSON, "*/*", "application/*", "") for name in names)
