"""Strategic merge patches: merge patches that know which lists are merged, and by which key.

`patch` calls it; `kubectl patch`, `label`, `taint`, `cordon` and `apply` send such patches.
`strategic_lists` does the lists. What comes out may have nulls and unknown fields, as what a
client sends may: it is checked afterwards in the same way.
"""

from typing import Final

from mooring.embedded.patches.json_values import Value, copied, go_kind, go_text
from mooring.embedded.patches.patch_errors import decode_patch, internal_error
from mooring.embedded.patches.strategic_lists import (
    DELETE,
    DIRECTIVE,
    MERGE,
    REPLACE,
    check_order,
    in_order,
    kind_of_elements,
    merged_list,
    split_by,
    without_elements,
)
from mooring.embedded.resources import Obj
from mooring.embedded.schema.definitions import Definition, Field, definition
from mooring.embedded.status_errors import bad_request

_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"

# parity v1.36.4: apimachinery/pkg/util/strategicpatch/patch.go


def apply_strategic_patch(obj: Obj, patch: bytes | Obj, kind: Definition) -> Obj:
    """The object with the patch merged in; neither of the given ones is changed.

    Args:
        obj: an object.
        patch: what is to be changed.
        kind: the definition of the object.

    Raises:
        StatusError: the patch makes no sense.
    """
    wanted = patch
    if isinstance(wanted, bytes):
        wanted = decode_patch(wanted, "object", "map[string]interface {}") or {}
    return _merged(copied(obj), copied(wanted), kind)


def _merged(original: Obj, patch: Obj, kind: Definition | None) -> Obj:
    """Merge an object into another one; both are changed. Without a kind it is a plain map."""
    if DIRECTIVE in patch:
        return _directed(patch)
    _retain_keys(original, patch)
    _merge_ordered(original, patch, kind)
    for key, value in patch.items():
        deleting = key.startswith(_DELETE_FROM)
        if deleting:
            key = _key_after(_DELETE_FROM, key, "invalid patch format of primitive list")
        if value is None:
            original.pop(key, None)
        elif type(original.get(key)) is not type(value):
            if not deleting:
                _take(original, key, value)
        elif isinstance(value, dict):
            field = _field(kind, key)
            if _strategy(field) == REPLACE:
                original[key] = value
            else:
                inner = definition(field.ref) if field.type == "object" else None
                original[key] = _merged(original[key], value, inner)
        elif isinstance(value, list):
            field = _list_field(kind, key)
            original[key] = _joined(original[key], value, field, deleting=deleting)
        else:
            original[key] = value
    return original


def _directed(patch: Obj) -> Obj:
    directive = patch[DIRECTIVE]
    if directive == REPLACE:
        del patch[DIRECTIVE]
        return patch
    if directive == DELETE:
        return {}
    raise internal_error(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def _take(original: Obj, key: str, value: Value) -> None:
    """Set what was not there, or was something else, without nulls and directives."""
    _discard_nulls(value)
    kept, value = _without_directives(value)
    if kept:
        original[key] = value
    else:
        original.pop(key, None)


def _joined(
    original: list[Value],
    patch: list[Value],
    field: Field,
    *,
    deleting: bool = False,
    before: list[Value] | None = None,
) -> list[Value]:
    if deleting:
        return without_elements(original, patch)
    if _strategy(field) != MERGE:
        return patch
    inner = definition(field.ref) if field.ref else None

    def merge(old: Obj, new: Obj) -> Obj:
        return _merged(old, new, inner)

    return merged_list(original, patch, field.merge_key, merge, before)


def _retain_keys(original: Obj, patch: Obj) -> None:
    """Leave only fields that the patch lists; it must list all that it sets."""
    if _RETAIN_KEYS not in patch:
        return
    listed = patch.pop(_RETAIN_KEYS)
    known = isinstance(listed, list) and all(
        value is None or key.startswith((_DELETE_FROM, _ORDER)) or key in listed
        for key, value in patch.items()
    )
    if not known:
        raise bad_request("invalid patch format of retainKeys")
    for key in [key for key in original if key not in listed]:
        del original[key]


def _merge_ordered(original: Obj, patch: Obj, kind: Definition | None) -> None:
    """Merge those lists whose order the patch gives; they are taken out of the patch."""
    for directive in [key for key in patch if key.startswith(_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise internal_error(f"expected a []interface {{}}, but received a {go_kind(order)}")
        key = _key_after(_ORDER, directive, "invalid patch format of setElementOrder list")
        lists = [one[key] for one in (original, patch) if key in one]
        for one in lists:
            if not isinstance(one, list):
                raise internal_error(f"expected a []interface {{}}, but received a {go_kind(one)}")
        field = _list_field(kind, key)
        check_order(patch.get(key, []), order, field.merge_key)
        if not lists:
            continue
        elements = kind_of_elements(*lists)
        before = list(original.get(key, ()))
        if key not in patch:
            merged = before
        elif key not in original:
            _, merged = _without_directives(patch[key])
        else:
            merged = _joined(original[key], patch[key], field, before=before)
        named, others = split_by(merged, order, field.merge_key)
        if not elements:
            raise internal_error("no elements in any of the given slices")
        original[key] = in_order(named, others, order, before, field.merge_key)
        patch.pop(key, None)


def _key_after(prefix: str, key: str, problem: str) -> str:
    start, slash, name = key.partition("/")
    if not slash or start != prefix:
        raise bad_request(problem)
    return name


def _discard_nulls(value: Value) -> None:
    if isinstance(value, dict):
        for key in [key for key, one in value.items() if one is None]:
            del value[key]
        for one in value.values():
            _discard_nulls(one)
    elif isinstance(value, list):
        for one in value:
            _discard_nulls(one)


def _without_directives(value: Value) -> tuple[bool, Value]:
    """Whether to keep a new value, and what of it: objects with a directive are not kept."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return False, None
        pairs = [(key, *_without_directives(one)) for key, one in value.items()]
        return True, {key: one for key, kept, one in pairs if kept}
    if isinstance(value, list):
        return True, [one for kept, one in map(_without_directives, value) if kept]
    return True, value


def _field(kind: Definition | None, key: str) -> Field:
    if kind is None:
        raise internal_error(
            "merging an object in json but data type is not struct, instead is: map"
        )
    field = kind.fields.get(key)
    if field is None:
        raise internal_error(
            f'unable to find api field in struct {kind.go_name} for the json field "{key}"'
        )
    return field


def _list_field(kind: Definition | None, key: str) -> Field:
    field = _field(kind, key)
    if field.type != "array":
        raise internal_error("expected slice or array type, but got: struct")
    return field


def _strategy(field: Field) -> str:
    """How a field is merged; whether its keys are retained is for whoever makes a patch."""
    for strategy in field.patch_strategies:
        if strategy != "retainKeys":
            return strategy
    return ""
