"""The schemas of values as server-side apply sees them, made from the definitions of the kinds.

The modules of server-side apply read them. A value is taken as a whole, or it is an object, a map
or a list whose parts have owners of their own.
"""

import functools
from typing import Final, Literal

from mooring.embedded.patches.field_sets import key_step, value_step
from mooring.embedded.patches.json_values import Value
from mooring.embedded.resources import Obj
from mooring.embedded.schema.definitions import Definition, Field, definition

Base = Literal["string", "number", "boolean", "scalar", "list", "map", "struct", "any"]

# parity v1.36.4: kube-openapi/pkg/schemaconv/smd.go
_BASES: Final[dict[str, Base]] = {
    "string": "string", "bytes": "string", "integer": "number", "number": "number",
    "boolean": "boolean", "object": "struct", "array": "list", "map": "map",
    "int-or-string": "scalar", "quantity": "scalar", "time": "scalar", "any": "any",
}  # fmt: skip

#: Objects that are there in Go even when nobody has set anything in them, beside metadata, spec and
#: status: by the name of the definition.
_ALWAYS_THERE: Final = {
    "DaemonSetSpec": ("template", "updateStrategy"),
    "DeploymentSpec": ("strategy", "template"),
    "NodeDaemonEndpoints": ("kubeletEndpoint",),
    "NodeStatus": ("daemonEndpoints", "nodeInfo"),
    "PersistentVolumeClaimSpec": ("resources",),
    "PodTemplate": ("template",),
    "ReplicaSetSpec": ("template",),
    "ResourceClaimSpec": ("devices",),
    "ServiceStatus": ("loadBalancer",),
    "StatefulSetSpec": ("template", "updateStrategy"),
}
# The only key that need not be there and has a default which is zero.
_NAME_IS_EMPTY: Final = "core.v1.LocalObjectReference"
_ZEROS: Final = {"string": "", "integer": 0, "number": 0, "boolean": False}


class SchemaMismatch(ValueError):  # noqa: N818 - reads as the sentence it is raised with
    """A list's element cannot be identified; says why."""


class TypeSchema:
    """The schema of a value.

    Attributes:
        base: what it is in JSON.
        leaf: whether it is taken as a whole.
        keys: what identifies the elements of a list; none if it is a set.
        key_defaults: the values of keys that an element does not have.
    """

    __slots__ = ("_element", "_field", "_fields", "base", "key_defaults", "keys", "leaf")

    def __init__(self, field: Field) -> None:
        self._field = field
        self._element: TypeSchema | None = None
        self._fields: dict[str, TypeSchema] | None = None
        self.base = _BASES[field.type]
        keyed = self.base == "list" and field.list_type == "map"
        self.keys = field.list_keys if keyed else ()
        self.key_defaults = _key_defaults(field) if keyed else {}
        match self.base:
            case "list":
                self.leaf = field.list_type == "atomic"
            case "map" | "struct":
                self.leaf = field.map_type == "atomic"
            case _:
                self.leaf = True

    @property
    def element(self) -> "TypeSchema":
        """The schema of a list's elements or a map's values."""
        if self._element is None:
            self._element = TypeSchema(self._field.items or _ANY)
        return self._element

    @property
    def fields(self) -> "dict[str, TypeSchema]":
        """The schemas of an object's fields."""
        if self._fields is None:
            self._fields = schemas_of(self._field.ref)
        return self._fields

    def child(self, name: str) -> "TypeSchema | None":
        """The schema of a field of an object or an entry of a map; None if there is none."""
        return self.fields.get(name) if self.base == "struct" else self.element

    def step(self, element: Value) -> str:
        """The step to an element of a list that is merged.

        Raises:
            SchemaMismatch: the element cannot be in such a list.
        """
        if self.keys:
            return self._step_by_keys(element)
        if isinstance(element, dict):
            raise SchemaMismatch("associative list without keys has an element that's a map type")
        if isinstance(element, list):
            raise SchemaMismatch("not supported: associative list with lists as elements")
        if element is None:
            raise SchemaMismatch(
                "associative list without keys has an element that's an explicit null"
            )
        return value_step(element)

    def _step_by_keys(self, element: Value) -> str:
        if element is None:
            raise SchemaMismatch("associative list with keys may not have a null element")
        if not isinstance(element, dict):
            raise SchemaMismatch("associative list with keys may not have non-map elements")
        found: Obj = {}
        for name in self.keys:
            if name in element:
                found[name] = element[name]
            elif name in self.key_defaults:
                found[name] = self.key_defaults[name]
        if not found:
            listed = " ".join(f'"{name}"' for name in self.keys)
            raise SchemaMismatch(
                f"associative list with keys has an element that omits all key fields [{listed}] "
                "(and doesn't have default values for any key fields)"
            )
        return key_step(found)


_ANY: Final = Field(type="any")


def _key_defaults(field: Field) -> Obj:
    fields = definition(field.ref).fields
    defaults: Obj = {}
    for name in field.list_keys:
        key = fields[name]
        if key.default is not None:
            defaults[name] = key.default
        elif key.required or field.ref.endswith(_NAME_IS_EMPTY):
            defaults[name] = _ZEROS[key.type]
    return defaults


@functools.cache
def schemas_of(name: str) -> dict[str, TypeSchema]:
    """The schemas of the fields of a definition."""
    return {key: TypeSchema(field) for key, field in definition(name).fields.items()}


@functools.cache
def schema_of(name: str) -> TypeSchema:
    """The schema of the objects of a definition."""
    return TypeSchema(Field(type="object", ref=name, map_type=definition(name).map_type))


def empty_object(kind: Definition) -> Obj:
    """An object of a kind in which nobody has set anything, as the API server has it."""
    there = _ALWAYS_THERE.get(kind.go_name, ())
    made: Obj = {}
    for name, field in kind.fields.items():
        if field.type == "object" and (
            field.required or name in there or name in ("metadata", "spec", "status")
        ):
            made[name] = empty_object(definition(field.ref))
        elif field.required:
            made[name] = _ZEROS.get(field.type)
    return made
