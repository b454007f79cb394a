"""Object metadata and the shape every modelled Kubernetes object shares.

Owns `ObjectMeta`, the base struct settings and `raw`. Structs hold what scheduling reads; JSON keys
are camel case, fields are snake case, unknown keys are ignored, ``null`` means absent where a field
is optional in Kubernetes.
"""

import functools
import re
from collections.abc import Callable
from typing import Any, ClassVar, Self

import msgspec

from mooring.errors import InputError
from mooring.model.deep_json import decode_deep

EMPTY: dict[str, str] = {}


class KubeStruct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of every struct inside an object."""


class OwnerReference(KubeStruct, frozen=True, rename="camel"):
    """The object this one belongs to."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None


class ObjectMeta(KubeStruct, frozen=True, rename="camel"):
    """An object's metadata, without managed fields."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None


class KubeObject(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, dict=True):
    """Base of all Kubernetes objects: metadata, convenience properties and the raw object."""

    kind_name: ClassVar[str] = "object"
    #: Whether objects of this kind live in a namespace.
    namespaced: ClassVar[bool] = True

    #: The JSON that the object was read from; None if it was made otherwise, or nobody needs it.
    #: Not a field, because two objects are equal whatever they were read from.
    source: ClassVar[bytes | None] = None

    metadata: ObjectMeta = ObjectMeta()
    # Read for every node in every decision, so they are fields, the fastest there is, and not
    # properties. Their keys are in no JSON.
    #: The object's name.
    name: str = msgspec.field(default="", name=".name")
    #: The labels; treat them as read-only.
    labels: dict[str, str] = msgspec.field(default_factory=dict, name=".labels")

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "name", self.metadata.name)
        msgspec.structs.force_setattr(self, "labels", self.metadata.labels or EMPTY)

    @classmethod
    def from_json(
        cls, data: bytes | memoryview, *, keep_source: bool | Callable[[Self], bool] = True
    ) -> Self:
        """Read one object from JSON.

        Args:
            data: the object as the API server writes it.
            keep_source: keep the bytes, so that `raw` has all fields and not only the modelled
            ones; or a function that tells whether to keep those of this object.

        Raises:
            InputError: the JSON is invalid, or a field has the wrong type.
        """
        try:
            found: Self = decode_deep(_decoder(cls).decode, data)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _unreadable(cls, data, error) from error
        if keep_source is True or (keep_source and keep_source(found)):
            found.__dict__["source"] = bytes(data)
        return found

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read one object from parsed JSON or YAML.

        Raises:
            InputError: a field has the wrong type.
        """
        try:
            found = msgspec.convert(data, cls)
        except msgspec.MsgspecError as error:
            raise _unreadable(cls, data, error) from error
        found.__dict__["raw"] = data
        return found

    @property
    def namespace(self) -> str:
        """The namespace, ``default`` if none is set; empty for cluster-scoped kinds."""
        return self.metadata.namespace or ("default" if self.namespaced else "")

    @property
    def key(self) -> str:
        """Namespace and name, as in ``default/web-0``; only the name for cluster-scoped kinds."""
        metadata = self.metadata
        if self.namespaced:
            return f"{metadata.namespace or 'default'}/{metadata.name}"
        return metadata.name

    @property
    def uid(self) -> str:
        """The object's UID; empty if it was never stored."""
        return self.metadata.uid or ""

    @property
    def resource_version(self) -> str:
        """The API server's version of this object; empty if it was never stored."""
        return self.metadata.resource_version or ""

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations; treat them as read-only."""
        return self.metadata.annotations or EMPTY

    @property
    def controller(self) -> OwnerReference | None:
        """The reference to the controller that the object belongs to, if there is one."""
        for one in self.metadata.owner_references or ():
            if one.controller:
                return one
        return None

    @property
    def deleting(self) -> bool:
        """Whether the object is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @functools.cached_property
    def raw(self) -> dict[str, Any]:
        """The whole object as parsed JSON, as it was read.

        Objects made by hand, and pods that the node cache keeps, hold only the modelled fields.
        """
        if self.source is not None:
            return _parse(self.source)
        # What others than the API server know of an object is no part of it.
        whole: dict[str, Any] = msgspec.to_builtins(self, enc_hook=lambda _: None)
        return {key: value for key, value in whole.items() if not key.startswith(".")}

    def __hash__(self) -> int:
        return hash((self.metadata.namespace, self.metadata.name, self.metadata.uid))


def keep_raw(copy: KubeObject, thing: KubeObject) -> None:
    """Give a changed copy of an object the `raw` of that object: what was read."""
    for kept in ("source", "raw"):
        if kept in thing.__dict__:
            copy.__dict__[kept] = thing.__dict__[kept]


_parse = msgspec.json.Decoder(dict[str, Any]).decode


_PLACE = re.compile(r"(?P<problem>.*) - at (?P<key>`key` in )?`\$\.?(?P<path>[^`]*)`", re.DOTALL)


def _unreadable(cls: type[KubeObject], data: object, error: Exception) -> InputError:
    """The sentence for an object that does not parse: which object, which field, what is wrong."""
    problem = str(error)
    found = _PLACE.fullmatch(problem)
    if found is not None and found["path"]:
        a_key = "a key of " if found["key"] else ""
        problem = f"{a_key}field {found['path']}: {found['problem']}"
    return InputError(f"{cls.kind_name}{_label(cls, data)} cannot be read: {problem}")


def _label(cls: type[KubeObject], data: object) -> str:
    """A space and the key of an object that may be broken anywhere; empty if it has no name."""
    try:
        content = _parse(data) if isinstance(data, bytes | memoryview) else data
        metadata = msgspec.convert(content, _Named).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    if not metadata.name:
        return ""
    return (
        f" {metadata.namespace or 'default'}/{metadata.name}"
        if cls.namespaced
        else f" {metadata.name}"
    )


class _Name(msgspec.Struct):
    name: str = ""
    namespace: str | None = None


class _Named(msgspec.Struct):
    metadata: _Name


@functools.cache
def _decoder(cls: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cls)
