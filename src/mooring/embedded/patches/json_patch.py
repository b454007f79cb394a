"""JSON patches, as the API server applies them.

`patch` calls it. Follows RFC 6902, with the liberties of the library that the API server uses:
``replace`` also adds, an index may be negative, and a pointer's text before the first slash counts
for nothing. Why a patch does not apply is never said.
"""

import re
from collections.abc import Sequence
from typing import Final

from mooring.embedded.patches.json_values import Value, copied, json_kind, same
from mooring.embedded.patches.patch_errors import decode_patch, does_not_apply
from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import StatusError, bad_request

_MOST_OPERATIONS: Final = 10_000
_INDEX: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MISSING: Final = object()

# parity v1.36.4: apiserver/pkg/endpoints/handlers/patch.go, gopkg.in/evanphx/json-patch.v4


class _DoesNotApply(Exception):  # noqa: N818 - reads as the sentence it is raised with
    """An operation cannot be done."""


def apply_json_patch(obj: Obj, operations: bytes | Sequence[Obj]) -> Obj:
    """The object with the operations done one after the other; the given one is not changed.

    Raises:
        StatusError: this is no JSON patch, or one of its operations cannot be done.
    """
    todo = _operations(operations)
    if len(todo) > _MOST_OPERATIONS:
        message = (
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{_MOST_OPERATIONS}, got {len(todo)}"
        )
        raise StatusError(413, "RequestEntityTooLarge", message)
    whole: Value = copied(obj)
    try:
        for operation in todo:
            do = _DO.get(operation.get("op", ""))
            if do is None:
                raise does_not_apply()
            whole = do(whole, operation)
    except _DoesNotApply:
        raise does_not_apply() from None
    if not isinstance(whole, dict):
        raise does_not_apply()
    return whole


def _operations(operations: bytes | Sequence[Obj]) -> Sequence[Obj]:
    if isinstance(operations, bytes):
        operations = (
            decode_patch(operations, "array", "[]handlers.jsonPatchOp", "error decoding patch: ")
            or ()
        )
    for operation in operations:
        if not isinstance(operation, dict):
            raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            if not isinstance(operation.get(name, ""), str | None):
                where = f"Go struct field jsonPatchOp.{name} of type string"
                raise _undecodable(operation[name], where)
    return operations


def _undecodable(value: Value, where: str) -> StatusError:
    return bad_request(
        f"error decoding patch: json: cannot unmarshal {json_kind(value)} into {where}"
    )


def _add(whole: Value, operation: Obj) -> Value:
    _put(whole, _pointer(operation, "path"), copied(operation.get("value")))
    return whole


def _remove(whole: Value, operation: Obj) -> Value:
    _take(whole, _pointer(operation, "path"))
    return whole


def _replace(whole: Value, operation: Obj) -> Value:
    path = _pointer(operation, "path")
    value = copied(operation.get("value"))
    if path == "":
        if not isinstance(value, dict | list):
            raise _DoesNotApply
        return value
    container, key = _find(whole, path)
    if isinstance(container, list):
        container[_index(key, len(container))] = value
    else:
        container[key] = value
    return whole


def _move(whole: Value, operation: Obj) -> Value:
    value = _take(whole, _pointer(operation, "from"))
    _put(whole, _pointer(operation, "path"), value)
    return whole


def _copy(whole: Value, operation: Obj) -> Value:
    value = copied(_get(whole, _pointer(operation, "from")))
    _put(whole, _pointer(operation, "path"), value)
    return whole


def _test(whole: Value, operation: Obj) -> Value:
    path = _pointer(operation, "path")
    found = whole if path == "" else _get(whole, path)
    if not same(found, operation.get("value")):
        raise _DoesNotApply
    return whole


_DO: Final = {
    "add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy,
    "test": _test,
}  # fmt: skip


def _pointer(operation: Obj, name: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise _DoesNotApply
    return pointer


def _find(whole: Value, pointer: str) -> tuple[Value, str]:
    """The object or list that has what the pointer names, and its key there."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]
    if len(steps) < 2:
        raise _DoesNotApply
    container = whole
    for step in steps[1:-1]:
        container = _child(container, step)
    if not isinstance(container, dict | list):
        raise _DoesNotApply
    return container, steps[-1]


def _child(container: Value, key: str) -> Value:
    if isinstance(container, dict):
        return container.get(key)
    if isinstance(container, list):
        return container[_index(key, len(container))]
    raise _DoesNotApply


def _get(whole: Value, pointer: str) -> Value:
    return _child(*_find(whole, pointer))


def _put(whole: Value, pointer: str, value: Value) -> None:
    container, key = _find(whole, pointer)
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _take(whole: Value, pointer: str) -> Value:
    container, key = _find(whole, pointer)
    if isinstance(container, list):
        return container.pop(_index(key, len(container)))
    found = container.pop(key, _MISSING)
    if found is _MISSING:
        raise _DoesNotApply
    return found


def _index(key: str, length: int) -> int:
    if _INDEX.fullmatch(key) is None:
        raise _DoesNotApply
    index = int(key)
    if index < 0:
        index += length
    if not 0 <= index < length:
        raise _DoesNotApply
    return index
