"""What the API server says when it refuses: Kubernetes' own Status objects, word for word.

Everything in `embedded` that refuses a request raises `Refused`, made by one of these functions.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from mooring.embedded.resources import Obj, Resource


class Cause(msgspec.Struct, frozen=True):
    """One thing that is wrong with an object.

    Attributes:
        field: where, such as ``spec.containers[0].image``.
        reason: such as ``FieldValueRequired``.
        message: such as ``Required value``; without the field.
    """

    field: str
    reason: str
    message: str


class Refused(Exception):  # noqa: N818 - reads as the sentence it is raised with
    """A request is refused.

    Attributes:
        code: the HTTP status.
        status: the Status object of the answer.
    """

    def __init__(self, code: int, reason: str, message: str, details: Obj | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            **({"details": details} if details is not None else {}),
            "code": code,
        }


# How field.Error of apimachinery puts the reasons into words.
REQUIRED: Final = "FieldValueRequired"
INVALID: Final = "FieldValueInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
FORBIDDEN: Final = "FieldValueForbidden"
DUPLICATE: Final = "FieldValueDuplicate"
NOT_FOUND: Final = "FieldValueNotFound"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refused:
    """An object whose content is refused: 422."""
    # What is wrong twice is told once; all causes are listed.
    told = list(dict.fromkeys(f"{one.field}: {one.message}" for one in causes))
    whole = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    full = f"{kind}.{group}" if group else kind
    details = {
        "name": name,
        **({"group": group} if group else {}),
        "kind": kind,
        "causes": [
            {"reason": one.reason, "message": one.message, "field": one.field} for one in causes
        ],
    }
    return Refused(422, "Invalid", f'{full} "{name}" is invalid: {whole}', details)


def not_found(resource: Resource, name: str) -> Refused:
    """There is no such object: 404."""
    return Refused(
        404, "NotFound", f'{resource.full_name} "{name}" not found', _named(resource, name)
    )


def already_exists(resource: Resource, name: str) -> Refused:
    """An object of this name is there already: 409."""
    message = f'{resource.full_name} "{name}" already exists'
    return Refused(409, "AlreadyExists", message, _named(resource, name))


def conflict(resource: Resource, name: str, what: str) -> Refused:
    """The object is not as the request supposes: 409."""
    message = f'Operation cannot be fulfilled on {resource.full_name} "{name}": {what}'
    return Refused(409, "Conflict", message, _named(resource, name))


def forbidden(resource: Resource, name: str, what: str) -> Refused:
    """Admission refuses it: 403."""
    message = f'{resource.full_name} "{name}" is forbidden: {what}'
    return Refused(403, "Forbidden", message, _named(resource, name))


def bad_request(message: str) -> Refused:
    """What was sent makes no sense: 400."""
    return Refused(400, "BadRequest", message)


def expired(message: str) -> Refused:
    """The history asked for is gone: 410."""
    return Refused(410, "Expired", message)


def method_not_allowed(resource: Resource) -> Refused:
    """The resource has no such verb: 405."""
    message = "the server does not allow this method on the requested resource"
    return Refused(405, "MethodNotAllowed", message, _kind_only(resource))


def unknown_path() -> Refused:
    """There is nothing at this path: 404."""
    return Refused(404, "NotFound", "the server could not find the requested resource", {})


def unauthorized() -> Refused:
    """Nobody we know: 401."""
    return Refused(401, "Unauthorized", "Unauthorized")


def too_large(limit: int) -> Refused:
    """More than anybody should send: 413."""
    message = f"Request entity too large: limit is {limit}"
    return Refused(413, "RequestEntityTooLarge", message)


def unsupported_media_type(supported: Sequence[str]) -> Refused:
    """A body in a form we do not read: 415."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(supported)
    )
    return Refused(415, "UnsupportedMediaType", message)


def not_acceptable(offered: Sequence[str]) -> Refused:
    """An answer is wanted in a form we do not write: 406."""
    message = f"only the following media types are accepted: {', '.join(offered)}"
    return Refused(406, "NotAcceptable", message)


def too_many_requests(message: str, causes: Sequence[Cause] = ()) -> Refused:
    """Not now: 429, as an eviction that a disruption budget does not allow."""
    details: Obj = {}
    if causes:
        details["causes"] = [{"reason": one.reason, "message": one.message} for one in causes]
    return Refused(429, "TooManyRequests", message, details)


_REASONS: Final = {400: "BadRequest", 403: "Forbidden", 415: "UnsupportedMediaType"}


def refusal_body(code: int, message: str) -> bytes:
    """The Status of a request that is refused before anybody looks at what it asks for."""
    return msgspec.json.encode(Refused(code, _REASONS[code], message).status)


def _named(resource: Resource, name: str) -> Obj:
    return {"name": name, **_kind_only(resource)}


def _kind_only(resource: Resource) -> Obj:
    group = {"group": resource.group} if resource.group else {}
    return {**group, "kind": resource.plural}
