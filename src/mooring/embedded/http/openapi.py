"""OpenAPI documents, as far as kubectl needs them.

kubectl looks up in version 3 whether the server checks fields itself (``fieldValidation`` of
PATCH), how lists are merged (for ``apply``) and what fields there are (``explain``). It asks for
version 2 only about a ``List`` and about kinds that have no PATCH, such as Binding, and checks
nothing if they are not in it: so version 2 is empty here. `app` answers with the bytes, which are
made once.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from mooring.embedded.http.discovery import (
    GROUPS,
    Subresource,
    resources_of,
    subresources_of,
)
from mooring.embedded.resources import Obj, Resource
from mooring.embedded.schema.definitions import (
    Definition,
    Field,
    definition,
    definition_of,
    definition_of_kind,
)
from mooring.version import KUBERNETES_VERSION

#: How kubectl asks for version 2, and how it is answered; others get JSON.
V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V2_PROTOBUF_ANSWER: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_KIND: Final = "x-kubernetes-group-version-kind"
_INFO: Final = {"title": "Kubernetes", "version": KUBERNETES_VERSION}
#: Values with a schema of their own.
_SPECIAL: Final[dict[tuple[str, str], str]] = {
    ("quantity", ""): "io.k8s.apimachinery.pkg.api.resource.Quantity",
    ("int-or-string", ""): "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    ("any", ""): "io.k8s.apimachinery.pkg.runtime.RawExtension",
    ("any", "fields"): _META + "FieldsV1",
    ("time", ""): _META + "Time",
    ("time", "micro"): _META + "MicroTime",
}
_SPECIAL_SCHEMAS: Final[dict[str, Obj]] = {
    _SPECIAL["quantity", ""]: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    _SPECIAL["int-or-string", ""]: {
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "format": "int-or-string",
    },
    _SPECIAL["any", ""]: {"type": "object"},
    _SPECIAL["any", "fields"]: {"type": "object"},
    _SPECIAL["time", ""]: {"type": "string", "format": "date-time"},
    _SPECIAL["time", "micro"]: {"type": "string", "format": "date-time"},
    _META + "Patch": {"type": "object"},
}
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_SELECT: Final = (
    "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds",
)  # fmt: skip
_DELETE: Final = ("dryRun", "gracePeriodSeconds", "propagationPolicy")
_PATCH_TYPES: Final = (
    "application/apply-patch+yaml", "application/json-patch+json",
    "application/merge-patch+json", "application/strategic-merge-patch+json",
)  # fmt: skip
_METHODS: Final = {
    "create": "post", "deletecollection": "delete", "list": "get",
    "delete": "delete", "get": "get", "patch": "patch", "update": "put",
}  # fmt: skip
_COLLECTION: Final = ("create", "deletecollection", "list")
_SINGLE: Final = ("delete", "get", "patch", "update")
_PARAMETERS: Final = {
    "create": _WRITE, "deletecollection": (*_DELETE, *_SELECT),
    "list": ("allowWatchBookmarks", *_SELECT, "watch"),
    "delete": _DELETE, "get": (), "patch": (*_WRITE, "force"), "update": _WRITE,
}  # fmt: skip


@functools.lru_cache(maxsize=64)
def openapi_bytes(path: str) -> bytes | None:
    """The document at a path, such as ``/openapi/v3/apis/apps/v1``, as JSON; None if there is none.

    A slash at the end makes no difference.
    """
    document = openapi_document(path)
    return None if document is None else msgspec.json.encode(document)


def openapi_document(path: str) -> Obj | None:
    """The same, not encoded."""
    match path.strip("/").split("/"):
        case ["openapi", "v2"]:
            return {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": {}}
        case ["openapi", "v3"]:
            return {"paths": {name: {"serverRelativeURL": _url(name)} for name in _names()}}
        case ["openapi", "v3", "api", "v1"]:
            return _document("", "v1")
        case ["openapi", "v3", "apis", group, "v1"] if group in GROUPS:
            return _document(group, "v1")
    return None


def openapi_v2_protobuf() -> bytes:
    """The empty document of version 2 in the form in which kubectl wants it."""
    info = _text(1, _INFO["title"]) + _text(2, _INFO["version"])
    return _text(1, "2.0") + bytes([2 << 3 | 2, len(info)]) + info


def _text(number: int, text: str) -> bytes:
    """A field of a protobuf message; for short texts."""
    return bytes([number << 3 | 2, len(text)]) + text.encode()


def _names() -> Iterator[str]:
    yield "api/v1"
    for group in sorted(GROUPS):
        yield f"apis/{group}/v1"


def _url(name: str) -> str:
    """Where a document is, with a text that changes when the document does."""
    path = f"/openapi/v3/{name}"
    return f"{path}?hash={hashlib.sha256(openapi_bytes(path) or b'').hexdigest().upper()}"


def _document(group: str, version: str) -> Obj:
    resources = resources_of(group, version)
    roots = [definition_of(one) for one in resources]
    for one in resources:
        roots += [_subresource_definition(one, subresource) for subresource in subresources_of(one)]
    roots.append(definition(_META + "DeleteOptions"))
    roots.append(definition(_META + "Status"))
    schemas = {one.name: _schema(one) for one in _reachable(roots)}
    paths: Obj = {}
    for one in resources:
        paths.update(_resource_paths(one))
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths,
        "components": {"schemas": dict(sorted({**schemas, **_SPECIAL_SCHEMAS}.items()))},
    }


def _subresource_definition(resource: Resource, subresource: Subresource) -> Definition:
    group, version = (
        (subresource.group, subresource.version)
        if subresource.group
        else (resource.group, resource.version)
    )
    return definition_of_kind(group, version, subresource.kind)


def _reachable(roots: Iterable[Definition]) -> Iterator[Definition]:
    """The definitions that these refer to, and they themselves; each once."""
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if one.name not in seen:
            seen.add(one.name)
            yield one
            waiting += [definition(field.ref) for field in one.fields.values() if field.ref]


# -- schemas


def _schema(one: Definition) -> Obj:
    schema: Obj = {"type": "object"}
    if one.required:
        schema["required"] = list(one.required)
    schema["properties"] = {name: _property(field) for name, field in one.fields.items()}
    if one.kind:
        schema[_KIND] = [{"group": one.group, "version": one.version, "kind": one.kind}]
    if one.map_type:
        schema["x-kubernetes-map-type"] = one.map_type
    return schema


def _property(field: Field) -> Obj:
    schema = _type(field)
    if field.default is not None:
        schema["default"] = field.default
    if field.enum:
        schema["enum"] = list(field.enum)
    if field.type == "array":
        schema["x-kubernetes-list-type"] = field.list_type
        if field.list_keys:
            schema["x-kubernetes-list-map-keys"] = list(field.list_keys)
    if field.map_type and (field.type == "map" or field.map_type != definition(field.ref).map_type):
        schema["x-kubernetes-map-type"] = field.map_type
    if field.patch_strategies:
        schema["x-kubernetes-patch-strategy"] = ",".join(sorted(field.patch_strategies))
    if field.merge_key:
        schema["x-kubernetes-patch-merge-key"] = field.merge_key
    return schema


def _type(field: Field) -> Obj:
    match field.type:
        case "object":
            return {"allOf": [_reference(field.ref)]}
        case "array" if field.items is not None:
            return {"type": "array", "items": _property(field.items)}
        case "map" if field.items is not None:
            return {"type": "object", "additionalProperties": _property(field.items)}
        case "bytes":
            return {"type": "string", "format": "byte"}
        case "quantity" | "int-or-string" | "time" | "any":
            return {"allOf": [_reference(_SPECIAL[field.type, field.format])]}
    return {"type": field.type, **({"format": field.format} if field.format else {})}


def _reference(name: str) -> Obj:
    return {"$ref": f"#/components/schemas/{name}"}


# -- paths


def _resource_paths(resource: Resource) -> Iterator[tuple[str, Obj]]:
    base = f"/{'apis' if resource.group else 'api'}/{resource.api_version}"
    whole = definition_of(resource)
    place = f"{base}/{resource.plural}"
    if resource.namespaced:
        if "list" in resource.verbs:
            yield place, {"get": _operation("list", whole)}
        place = f"{base}/namespaces/{{namespace}}/{resource.plural}"
    collection = [verb for verb in resource.verbs if verb in _COLLECTION]
    yield place, _operations(collection, whole, _named(resource))
    single = [verb for verb in resource.verbs if verb in _SINGLE]
    if single:
        yield f"{place}/{{name}}", _operations(single, whole, _named(resource, "name"))
    for subresource in subresources_of(resource):
        taken = _subresource_definition(resource, subresource)
        yield (
            f"{place}/{{name}}/{subresource.name}",
            _operations(subresource.verbs, taken, _named(resource, "name")),
        )


def _named(resource: Resource, *names: str) -> list[Obj]:
    """The parameters that are parts of a path."""
    every = (*names, "namespace") if resource.namespaced else names
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in every
    ]


def _operations(verbs: Iterable[str], taken: Definition, parameters: list[Obj]) -> Obj:
    operations: Obj = {_METHODS[verb]: _operation(verb, taken) for verb in verbs}
    return {**operations, **({"parameters": parameters} if parameters else {})}


def _operation(verb: str, taken: Definition) -> Obj:
    content = {"application/json": {"schema": _reference(taken.name)}}
    operation: Obj = {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string"}}
            for name in _PARAMETERS[verb]
        ],
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": {"create": "post", "update": "put"}.get(verb, verb),
        _KIND: {"group": taken.group, "version": taken.version, "kind": taken.kind},
    }
    if verb in ("create", "update"):
        operation["requestBody"] = {"content": {"*/*": content["application/json"]}}
    elif verb == "patch":
        patch = {"schema": _reference(_META + "Patch")}
        operation["requestBody"] = {"content": dict.fromkeys(_PATCH_TYPES, patch)}
    elif verb == "delete":
        options = {"schema": _reference(_META + "DeleteOptions")}
        operation["requestBody"] = {"content": {"*/*": options}}
    return operation
