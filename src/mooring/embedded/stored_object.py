"""One object as the store keeps it: its JSON, its version and what selectors read of it."""

from typing import Any, Final

import msgspec

from mooring.embedded.resources import Obj, Resource
from mooring.embedded.selectors import selectable_fields

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_NO_LABELS: Final[dict[str, str]] = {}


class StoredObject:
    """One object in one version.

    Attributes:
        namespace: empty for objects that are in none.
        name: its name.
        version: the store's version when it was written.
        uid: its unique id.
        body: the whole object as JSON.
        labels: its labels.
        fields: the values of the resource's selectable fields, in their order.
        creator: the field manager that created it.
    """

    __slots__ = ("body", "creator", "fields", "labels", "name", "namespace", "uid", "version")

    def __init__(self, resource: Resource, obj: Obj, version: int, creator: str) -> None:
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(version)
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.version = version
        self.uid: str = metadata.get("uid", "")
        self.labels: dict[str, str] = metadata.get("labels") or _NO_LABELS
        self.fields = selectable_fields(resource, obj) if resource.selectable else ()
        self.body = _encode(obj)
        self.creator = creator

    @classmethod
    def unstored(cls, resource: Resource, obj: Obj) -> "StoredObject":
        """An object that is only shown: it has no version."""
        item = cls(resource, obj, 0, "")
        del obj["metadata"]["resourceVersion"]
        item.body = _encode(obj)
        return item

    @property
    def obj(self) -> Obj:
        """The object, decoded afresh: the caller may change it."""
        return _decode(self.body)
