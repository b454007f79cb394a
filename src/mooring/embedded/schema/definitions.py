"""What the fields of Kubernetes objects are: types, list keys, patch strategies.

Owns the classes and `schema.json`, which `python -m tools.schema` writes from what a real
kube-apiserver says. `schema`, the patches and `openapi` read it. Knows nothing about the content of
an object.
"""

import functools
from importlib import resources as files
from typing import Final, Literal

import msgspec

from mooring.embedded.resources import Resource

FieldType = Literal[
    "string", "integer", "number", "boolean", "bytes",
    "object", "array", "map",
    "int-or-string", "quantity", "time", "any",
]  # fmt: skip


class Field(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a definition, or an element of a list or map.

    Attributes:
        name: its name; empty for an element.
        type: what its value is. `bytes` is base64, `any` is whatever JSON can say.
        format: ``int32`` or ``int64`` of an integer, ``micro`` of a time with microseconds,
            ``fields`` of managed fields.
        ref: the definition of the value, of the list's elements or of the map's values; empty
            where that is no object.
        items: the list's elements or the map's values.
        list_type: how a list is merged by server-side apply: as a whole, by keys, or as a set.
        list_keys: the keys, where `list_type` is ``map``.
        map_type: ``atomic`` where server-side apply takes the whole map or object as one value.
        patch_strategies: of a strategic merge patch: ``merge``, ``retainKeys``, ``replace``.
        merge_key: of a strategic merge patch of a list of objects.
        required: whether the definition wants it; nobody checks that while decoding.
        default: what the API server takes for a missing value, where that is not zero.
        enum: the values that are allowed, where there are few.
        go: the name of the type in Go, where `go_type` does not know it.
        via: the Go struct that is embedded in the definition's and has this field.
    """

    name: str = ""
    type: FieldType = "string"
    format: str = ""
    ref: str = ""
    items: "Field | None" = None
    list_type: Literal["atomic", "map", "set"] = "atomic"
    list_keys: tuple[str, ...] = ()
    map_type: Literal["", "atomic", "granular"] = ""
    patch_strategies: frozenset[str] = frozenset()
    merge_key: str = ""
    required: bool = False
    default: str | int | bool | None = None
    enum: tuple[str, ...] = ()
    go: str = ""
    via: str = ""


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object, or a part of one.

    Attributes:
        name: such as ``io.k8s.api.core.v1.PodSpec``.
        fields: by name.
        map_type: ``atomic`` where server-side apply takes it as one value.
        group, version, kind: of a whole object.
    """

    name: str = ""
    fields: dict[str, Field] = {}
    map_type: Literal["", "atomic", "granular"] = ""
    group: str = ""
    version: str = ""
    kind: str = ""

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the fields it must have."""
        return tuple(name for name, field in self.fields.items() if field.required)

    @property
    def go_name(self) -> str:
        """The name of the struct in Go."""
        return self.name.rpartition(".")[2]


_GO_NAMES: Final = {
    "string": "string", "number": "float64", "boolean": "bool", "bytes": "[]uint8",
    "int-or-string": "intstr.IntOrString", "quantity": "resource.Quantity", "time": "v1.Time",
    "any": "runtime.RawExtension",
}  # fmt: skip


def go_type(field: Field) -> str:
    """The Go type of a field's value, as error messages of the API server have it."""
    if field.go:
        return field.go
    if field.type == "object":
        return ".".join(field.ref.split(".")[-2:])
    if field.type == "integer":
        return field.format
    if field.type == "array" and field.items is not None:
        return "[]" + go_type(field.items)
    if field.type == "map" and field.items is not None:
        return "map[string]" + go_type(field.items)
    return _GO_NAMES[field.type]


@functools.cache
def definitions() -> dict[str, Definition]:
    """All of them, by name."""
    text = files.files("mooring.embedded.schema").joinpath("schema.json").read_bytes()
    stored = msgspec.json.decode(text, type=dict[str, Definition])
    return {
        name: msgspec.structs.replace(
            one,
            name=name,
            fields={
                key: _complete(key, field, stored) for key, field in one.fields.items()
            },
        )
        for name, one in stored.items()
    }  # fmt: skip


def _complete(name: str, field: Field, stored: dict[str, Definition]) -> Field:
    """The field with its name, and an element's reference also on the list or map itself."""
    items = field.items
    ref = field.ref or (items.ref if items is not None else "")
    map_type = field.map_type
    if field.type == "object" and not map_type:
        map_type = stored[ref].map_type
    if items is not None and items.type == "object" and stored[ref].map_type:
        items = msgspec.structs.replace(items, map_type=stored[ref].map_type)
    return msgspec.structs.replace(field, name=name, ref=ref, map_type=map_type, items=items)


@functools.cache
def definition(name: str) -> Definition:
    """The definition of a full name, such as ``io.k8s.api.core.v1.PodSpec``."""
    return definitions()[name]


@functools.cache
def definition_of_kind(group: str, version: str, kind: str) -> Definition:
    """The definition of a kind of objects, which need not have a resource: ``DeleteOptions``."""
    for one in definitions().values():
        if one.kind == kind and one.group == group and one.version == version:
            return one
    raise KeyError((group, version, kind))


@functools.cache
def definition_of(resource: Resource) -> Definition:
    """The definition of the objects of a resource."""
    return definition_of_kind(resource.group, resource.version, resource.kind)
