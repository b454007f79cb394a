"""JSON merge patches: RFC 7386, as the API server applies it.

`patch` calls it.
"""

from mooring.embedded.patches.json_values import Value, copied
from mooring.embedded.patches.patch_errors import decode_patch
from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import bad_request

# parity v1.36.4: gopkg.in/evanphx/json-patch.v4 merge.go


def apply_merge_patch(obj: Obj, patch: bytes | Obj) -> Obj:
    """The object with the patch merged in; the given one is not changed.

    Raises:
        StatusError: this is no merge patch.
    """
    wanted = patch
    if isinstance(wanted, bytes):
        wanted = decode_patch(wanted, "object", "map[string]interface {}", "error decoding patch: ")
        if wanted is None:
            raise bad_request("Invalid JSON Patch")
    merged: Obj = copied(obj)
    _merge(merged, wanted)
    return merged


def _merge(current: Obj, patch: Obj) -> None:
    for key, wanted in patch.items():
        if wanted is None:
            current.pop(key, None)
            continue
        found = current.get(key)
        if not isinstance(found, dict):
            current[key] = _without_nulls(wanted)
        elif isinstance(wanted, dict):
            _merge(found, wanted)
        else:
            current[key] = copied(wanted)


def _without_nulls(value: Value) -> Value:
    """A new value: fields that are null are left out, nulls in lists are not."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    return value
