"""The API's errors: Kubernetes' own Status objects, word for word.

Everything in `embedded` that rejects a request raises a `StatusError`, made by one of these
functions, which have the names of apimachinery's api/errors.
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


class StatusError(Exception):
    """A request is rejected.

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


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """An object whose content is rejected: 422."""
    # The message names a cause once; all are listed in the details.
    messages = list(dict.fromkeys(f"{one.field}: {one.message}" for one in causes))
    whole = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
    full = f"{kind}.{group}" if group else kind
    details = {
        "name": name,
        **({"group": group} if group else {}),
        "kind": kind,
        "causes": [
            {"reason": one.reason, "message": one.message, "field": one.field} for one in causes
        ],
    }
    return StatusError(422, "Invalid", f'{full} "{name}" is invalid: {whole}', details)


def not_found(resource: Resource, name: str) -> StatusError:
    """There is no such object: 404."""
    return StatusError(
        404, "NotFound", f'{resource.full_name} "{name}" not found', _named(resource, name)
    )


def already_exists(resource: Resource, name: str) -> StatusError:
    """An object of this name is there already: 409."""
    message = f'{resource.full_name} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _named(resource, name))


def conflict(resource: Resource, name: str, what: str) -> StatusError:
    """The object is not as the request supposes: 409."""
    message = f'Operation cannot be fulfilled on {resource.full_name} "{name}": {what}'
    return StatusError(409, "Conflict", message, _named(resource, name))


def forbidden(resource: Resource, name: str, what: str) -> StatusError:
    """Admission rejects it: 403."""
    message = f'{resource.full_name} "{name}" is forbidden: {what}'
    return StatusError(403, "Forbidden", message, _named(resource, name))


def bad_request(message: str) -> StatusError:
    """What was sent makes no sense: 400."""
    return StatusError(400, "BadRequest", message)


def resource_expired(message: str) -> StatusError:
    """The history asked for is gone: 410."""
    return StatusError(410, "Expired", message)


def method_not_supported(resource: Resource) -> StatusError:
    """The resource has no such verb: 405."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, _kind_only(resource))


def unknown_path() -> StatusError:
    """There is nothing at this path: 404."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def unauthorized() -> StatusError:
    """The client is not known: 401."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def request_entity_too_large(limit: int) -> StatusError:
    """More than anybody should send: 413."""
    message = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", message)


def unsupported_media_type(supported: Sequence[str]) -> StatusError:
    """A body in a form we do not read: 415."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(supported)
    )
    return StatusError(415, "UnsupportedMediaType", message)


def not_acceptable(offered: Sequence[str]) -> StatusError:
    """An answer is wanted in a form we do not write: 406."""
    message = f"only the following media types are accepted: {', '.join(offered)}"
    return StatusError(406, "NotAcceptable", message)


def too_many_requests(message: str, causes: Sequence[Cause] = ()) -> StatusError:
    """Not now: 429, as an eviction that a disruption budget does not allow."""
    details: Obj = {}
    if causes:
        details["causes"] = [{"reason": one.reason, "message": one.message} for one in causes]
    return StatusError(429, "TooManyRequests", message, details)


_REASONS: Final = {400: "BadRequest", 403: "Forbidden", 415: "UnsupportedMediaType"}


def status_body(code: int, message: str) -> bytes:
    """The Status of a request that is rejected before it is read."""
    return msgspec.json.encode(StatusError(code, _REASONS[code], message).status)


def _named(resource: Resource, name: str) -> Obj:
    return {"name": name, **_kind_only(resource)}


def _kind_only(resource: Resource) -> Obj:
    group = {"group": resource.group} if resource.group else {}
    return {**group, "kind": resource.plural}
