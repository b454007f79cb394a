"""How the API server rejects a patch.

The modules that apply patches raise these; an object that is wrong after a patch is rejected with
`invalid_after_patch`, in place of the words for an object that a client sent as a whole.
"""

from mooring.embedded.patches.json_values import Malformed, Value, decode, go_quoted, json_kind
from mooring.embedded.status_errors import INVALID, StatusError, bad_request


def does_not_apply() -> StatusError:
    """The patch does not apply to the object: 422, and no word about why."""
    message = "the server rejected our request due to an error in our request"
    return StatusError(422, "Invalid", message, {})


def internal_error(message: str) -> StatusError:
    """An error that the API server has no status for: 500."""
    error = StatusError(500, "", message)
    del error.status["reason"]
    return error


def invalid_after_patch(shown: str, problem: str) -> StatusError:
    """After the patch the object is none of its kind any more: 422.

    Args:
        shown: the patched object as JSON, or a strategic patch as Go prints it.
        problem: what is wrong, such as ``cannot convert int64 to string``.
    """
    message = f"Invalid value: {go_quoted(shown)}: {problem}"
    details = {"causes": [{"reason": INVALID, "message": message, "field": "patch"}]}
    return StatusError(422, "Invalid", f' "" is invalid: patch: {message}', details)


def decode_patch(text: bytes | str, kind: str, go_type: str, prefix: str = "") -> Value:
    """The content of a patch, which is of this kind or null.

    Args:
        text: the patch as it was sent.
        kind: ``object`` or ``array``.
        go_type: the type that the API server decodes it into.
        prefix: how its message begins.

    Raises:
        StatusError: it is no JSON or of another kind.
    """
    try:
        value = decode(text)
    except Malformed as error:
        raise bad_request(f"{prefix}{error}") from None
    if value is not None and json_kind(value) != kind:
        raise bad_request(
            f"{prefix}json: cannot unmarshal {json_kind(value)} into Go value of type {go_type}"
        )
    return value
