"""Writes src/mooring/embedded/schema/schema.json from a real kube-apiserver.

Run as ``python -m tools.schema`` after a change of the Kubernetes version or of the table of
resources; needs the binaries that ``make kube`` gets. Types and merge keys are read from the
OpenAPI documents. Names of Go types, which error messages have, are learned by sending wrong
objects.
"""

import argparse
import re
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from mooring.embedded.resources import RESOURCES
from mooring.embedded.schema.definitions import Definition, Field, FieldType, go_type
from mooring.errors import ApiError
from mooring.testing.real_kubernetes import ControlPlane

FILE: Final = Path(__file__).parents[1] / "src" / "mooring" / "embedded" / "schema" / "schema.json"

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Schemas that are values, not objects with fields.
_SPECIAL: Final[dict[str, tuple[FieldType, str]]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("quantity", ""),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("int-or-string", ""),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ("any", ""),
    _META + "FieldsV1": ("any", "fields"),
    _META + "Time": ("time", ""),
    _META + "MicroTime": ("time", "micro"),
}
#: What is sent to the API server beside objects of resources, with a request that takes it.
_TAKEN: Final = {
    "io.k8s.api.autoscaling.v1.Scale": (
        "PUT", "/apis/apps/v1/namespaces/default/deployments/none/scale",
    ),
    "io.k8s.api.policy.v1.Eviction": ("POST", "/api/v1/namespaces/default/pods/none/eviction"),
    "io.k8s.api.authentication.v1.TokenRequest": (
        "POST", "/api/v1/namespaces/default/serviceaccounts/none/token",
    ),
    _META + "DeleteOptions": ("DELETE", "/api/v1/namespaces/default/pods/none"),
    **{
        f"io.k8s.api.authorization.v1.{kind}": ("POST", f"/apis/authorization.k8s.io/v1/{path}")
        for kind, path in {
            "LocalSubjectAccessReview": "namespaces/default/localsubjectaccessreviews",
            "SelfSubjectAccessReview": "selfsubjectaccessreviews",
            "SelfSubjectRulesReview": "selfsubjectrulesreviews",
            "SubjectAccessReview": "subjectaccessreviews",
        }.items()
    },
    **{
        f"io.k8s.api.authentication.v1.{kind}": ("POST", f"/apis/authentication.k8s.io/v1/{path}")
        for kind, path in {
            "SelfSubjectReview": "selfsubjectreviews",
            "TokenReview": "tokenreviews",
        }.items()
    },
}  # fmt: skip
#: What it answers with.
_ANSWERED: Final = (_META + "Status",)
_KIND: Final = "x-kubernetes-group-version-kind"
_DELETE_OPTIONS: Final = _META + "DeleteOptions"


class Root(NamedTuple):
    """A request that takes an object of some kind."""

    method: str
    path: str
    api_version: str
    kind: str


def main() -> int:
    """Write the file."""
    _options().parse_args()
    with ControlPlane() as plane:
        text = compose(plane)
    FILE.write_text(text)
    print(f"{FILE}: {text.count(chr(10)) - 2} definitions, {len(text) // 1024} KiB")
    return 0


def _options() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="python -m tools.schema",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def compose(plane: ControlPlane) -> str:
    """Return the content of the file for this API server."""
    schemas = _schemas(plane)
    roots = _roots(schemas)
    definitions: dict[str, Definition] = {}
    waiting = [*roots, *_ANSWERED]
    while waiting:
        name = waiting.pop()
        if name not in definitions:
            definitions[name] = _definition(name, schemas[name])
            waiting += [one.ref for one in _values(definitions[name]) if one.ref]
    definitions = _with_go_names(plane, definitions, roots)
    encoder = msgspec.json.Encoder(order="deterministic")
    lines = [
        f"{encoder.encode(name).decode()}:{encoder.encode(one).decode()}"
        for name, one in sorted(definitions.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _schemas(plane: ControlPlane) -> dict[str, Any]:
    groups = {(one.group, one.version) for one in RESOURCES}
    groups |= {("authorization.k8s.io", "v1"), ("authentication.k8s.io", "v1")}
    schemas: dict[str, Any] = {}
    for group, version in sorted(groups):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        schemas |= plane.request("GET", f"/openapi/v3/{path}")["components"]["schemas"]
    return schemas


def _roots(schemas: dict[str, Any]) -> dict[str, Root]:
    """How an object of each kind is sent, by the name of its definition."""
    kinds = {
        (one["group"], one["version"], one["kind"]): name
        for name, schema in schemas.items()
        if len(schema.get(_KIND, ())) == 1
        for one in schema[_KIND]
    }
    roots = {}
    for one in RESOURCES:
        space = "namespaces/default/" if one.namespaced else ""
        path = f"/{'apis' if one.group else 'api'}/{one.api_version}/{space}{one.plural}"
        name = kinds[one.group, one.version, one.kind]
        roots[name] = Root("POST", path, one.api_version, one.kind)
    for name, (method, path) in _TAKEN.items():
        kind = next(one for one in schemas[name][_KIND] if one["version"] == "v1")
        api_version = "/".join(filter(None, (kind["group"], kind["version"])))
        roots[name] = Root(method, path, api_version, kind["kind"])
    return roots


def _definition(name: str, schema: dict[str, Any]) -> Definition:
    required = schema.get("required", ())
    kind: dict[str, str] = {}
    if len(schema.get(_KIND, ())) == 1:
        kind = schema[_KIND][0]
    elif name == _DELETE_OPTIONS:  # a part of every group
        kind = {"group": "", "version": "v1", "kind": "DeleteOptions"}
    return Definition(
        fields={
            key: _field(one, required=key in required)
            for key, one in schema.get("properties", {}).items()
        },
        map_type=schema.get("x-kubernetes-map-type", ""),
        **kind,
    )


def _field(schema: dict[str, Any], *, required: bool = False) -> Field:
    kind, form, ref, items = _type(schema)
    strategies = schema.get("x-kubernetes-patch-strategy", "")
    return Field(
        type=kind,
        format=form,
        ref=ref,
        items=items,
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        map_type=schema.get("x-kubernetes-map-type", ""),
        patch_strategies=frozenset(filter(None, strategies.split(","))),
        merge_key=schema.get("x-kubernetes-patch-merge-key", ""),
        required=required,
        default=schema.get("default") or None,
        enum=tuple(schema.get("enum", ())),
    )


def _type(schema: dict[str, Any]) -> tuple[FieldType, str, str, Field | None]:
    """Type, format, reference and element of a value."""
    reference = schema.get("$ref") or schema.get("allOf", [{}])[0].get("$ref")
    if reference is not None:
        name = reference.removeprefix("#/components/schemas/")
        if name in _SPECIAL:
            kind, form = _SPECIAL[name]
            return kind, form, "", None
        return "object", "", name, None
    if schema["type"] == "array":
        return "array", "", "", _field(schema["items"])
    if schema["type"] == "object":
        return "map", "", "", _field(schema["additionalProperties"])
    if schema.get("format") == "byte":
        return "bytes", "", "", None
    return schema["type"], schema.get("format", ""), "", None


def _values(definition: Definition) -> Iterator[Field]:
    """The fields, their elements, the elements of those."""
    for field in definition.fields.values():
        one: Field | None = field
        while one is not None:
            yield one
            one = one.items


# What the API server says of a value of the wrong type; the path has names of embedded structs.
_COMPLAINT: Final = re.compile(r"into Go struct field (\w+)\.([\w.$-]+) of type (\S+?)\.?$")


class Place(NamedTuple):
    """Where an object of some definition is in an object that can be sent."""

    root: Root
    steps: tuple[tuple[str, Field], ...]
    prefix: str  # as error messages have it

    def send(self, plane: ControlPlane, name: str, value: object) -> str:
        """Send an object with this value in it and return what the API server says."""
        body: Any = {name: value}
        for key, field in reversed(self.steps):
            body = {key: _wrapped(field, body)}
        body = {"apiVersion": self.root.api_version, "kind": self.root.kind, **body}
        try:
            plane.request(self.root.method, f"{self.root.path}?dryRun=All", body)
        except ApiError as error:
            return str(error)
        return ""


def _wrapped(field: Field, value: object) -> object:
    if field.type == "array" and field.items is not None:
        return [_wrapped(field.items, value)]
    if field.type == "map" and field.items is not None:
        return {"a": _wrapped(field.items, value)}
    return value


def _with_go_names(
    plane: ControlPlane, definitions: dict[str, Definition], roots: dict[str, Root]
) -> dict[str, Definition]:
    """The definitions with `go` and `via` of their fields, where they are not plain."""
    places = {name: Place(root, (), "") for name, root in roots.items()}
    waiting = deque(places)
    result = dict(definitions)
    while waiting:
        name = waiting.popleft()
        place = places[name]
        fields = {}
        for key, field in definitions[name].fields.items():
            if not place.steps and key in ("apiVersion", "kind"):
                # Read before all others, but not where the object is a part of another one.
                fields[key] = msgspec.structs.replace(field, via="TypeMeta")
                continue
            fields[key] = learned = _learn(plane, place, key, field)
            ref = next((one.ref for one in _elements(field) if one.ref), "")
            if ref and ref not in places:
                via = f"{learned.via}." if learned.via else ""
                prefix = f"{place.prefix}{via}{key}."
                places[ref] = Place(place.root, (*place.steps, (key, field)), prefix)
                waiting.append(ref)
        result[name] = msgspec.structs.replace(definitions[name], fields=fields)
    return result


def _elements(field: Field) -> Iterator[Field]:
    one: Field | None = field
    while one is not None:
        yield one
        one = one.items


def _learn(plane: ControlPlane, place: Place, name: str, field: Field) -> Field:
    """The field with the names of its own type and of its elements' types."""
    levels = list(_elements(field))
    learned: Field | None = None
    for depth in reversed(range(len(levels))):
        level = msgspec.structs.replace(levels[depth], items=learned)
        wrong: object = {} if level.type in ("string", "integer", "number", "boolean") else 1.5
        for outer in reversed(levels[:depth]):
            wrong = [wrong] if outer.type == "array" else {"a": wrong}
        match = _COMPLAINT.search(place.send(plane, name, wrong))
        if match is not None and level.type not in _CUSTOM:
            path = match[2].removeprefix(place.prefix)
            if depth == 0 and path != name:
                level = msgspec.structs.replace(level, via=path.removesuffix(f".{name}"))
            if match[3] != go_type(level):
                level = msgspec.structs.replace(level, go=match[3])
        learned = level
    if learned is None:
        raise AssertionError("a field has at least one level")
    return learned


# These read themselves, and complain about the type they are made of.
_CUSTOM: Final = ("any", "int-or-string", "quantity", "time")


if __name__ == "__main__":
    sys.exit(main())
