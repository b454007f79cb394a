"""What clients send: objects in JSON, YAML or protobuf, checked before anybody uses them.

`app` calls it.
"""

from typing import Any, Final

import msgspec

from mooring.embedded.resources import BINDINGS, Obj, Resource
from mooring.embedded.schema.field_validation import check_fields, definition_of_kind
from mooring.embedded.schema.protobuf import PROTOBUF, read_protobuf
from mooring.embedded.status_errors import StatusError, bad_request, unsupported_media_type
from mooring.embedded.yaml_body import read_yaml

JSON: Final = "application/json"
YAML: Final = "application/yaml"

_decode = msgspec.json.Decoder().decode
#: What subresources take that are not the resource's own kind.
_SUBRESOURCE_KINDS: Final = {
    "binding": {("v1", "Binding")},
    "eviction": {("policy/v1", "Eviction"), ("policy/v1beta1", "Eviction")},
    "scale": {("autoscaling/v1", "Scale")},
    "token": {("authentication.k8s.io/v1", "TokenRequest")},
}
_CHECKED_AS: Final = {
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}

_OPTIONS: Final = "DeleteOptions"


def read_document(body: bytes, content_type: str) -> Obj:
    """A body as an object.

    Raises:
        StatusError: it is none, or in a form we do not read.
    """
    media = content_type.partition(";")[0].strip().lower()
    if media in (JSON, "", "*/*"):
        try:
            found: Any = _decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    elif media in (YAML, "application/x-yaml", "text/yaml"):
        found = read_yaml(body)
    elif media == PROTOBUF:
        # kubectl's own generators know no other form.
        found = read_protobuf(body)
    else:
        raise unsupported_media_type([JSON, YAML, PROTOBUF])
    if not isinstance(found, dict):
        raise bad_request("couldn't get version/kind; json parse error: it is not an object")
    return found


def read_object(body: bytes, content_type: str, resource: Resource, subresource: str = "") -> Obj:
    """An object of the kind that a path takes.

    What is no object of a resource, such as a Binding, is checked field by field here; `Api` does
    it for the others.

    Raises:
        StatusError: it is of another kind, does not say of which kind it is, or has a field of the
            wrong type.
    """
    obj = _of_its_kind(body, content_type, resource, subresource)
    if subresource in _SUBRESOURCE_KINDS or resource is BINDINGS:
        group, version, kind = _CHECKED_AS.get(subresource, ("", "v1", "Binding"))
        check_fields(definition_of_kind(group, version, kind), obj, strict=False)
    return obj


def _of_its_kind(body: bytes, content_type: str, resource: Resource, subresource: str) -> Obj:
    obj = read_document(body, content_type)
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    takes = _SUBRESOURCE_KINDS.get(subresource, {(resource.api_version, resource.kind)})
    if not kind and not api_version:
        # Clients of typed languages leave them out; the path says what is meant.
        obj["apiVersion"], obj["kind"] = next(iter(sorted(takes)))
        return obj
    if not kind:
        raise bad_request(f"Object 'Kind' is missing in '{_shown(body)}'")
    if (api_version, kind) in takes:
        return obj
    wanted_version, wanted_kind = next(iter(sorted(takes)))
    if kind == wanted_kind:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({wanted_version})"
        )
    version = str(api_version).rpartition("/")[2]
    raise bad_request(
        f'{kind} in version "{version}" cannot be handled as a {wanted_kind}: converting '
        f"({api_version}.{kind}) to ({wanted_version}.{wanted_kind}): unknown conversion"
    )


def read_options(body: bytes, content_type: str) -> Obj:
    """DeleteOptions; empty if nothing was sent.

    Raises:
        StatusError: it is something else, or a field has the wrong type.
    """
    if not body.strip():
        return {}
    options = read_document(body, content_type)
    kind = options.get("kind") or _OPTIONS
    if kind != _OPTIONS:
        # Whatever their group and version are, they are the same.
        version = options.get("apiVersion", "")
        raise bad_request(f'no kind "{kind}" is registered for version "{version}"')
    try:
        check_fields(definition_of_kind("", "v1", _OPTIONS), options, strict=False)
    except StatusError as error:
        # Here alone the API server does not say what it could not read.
        raise bad_request(str(error).partition(" as a DeleteOptions: ")[2]) from None
    return options


def _shown(body: bytes) -> str:
    return body[:200].decode("utf-8", "replace")
