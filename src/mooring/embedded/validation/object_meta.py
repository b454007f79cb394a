"""Checks of metadata and of label selectors, which all kinds share.

Called by the checks of each kind. On the way of every object through the API, so it looks for what
is there before it does anything.
"""

# parity v1.36.4: apimachinery/pkg/api/validation/objectmeta.go, apis/meta/v1/validation
from collections.abc import Mapping
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    IMMUTABLE,
    NOT_NEGATIVE,
    ErrorList,
    forbidden,
    invalid,
    required,
    shown,
    texts,
    too_long,
)

_ANNOTATIONS_LIMIT: Final = 256 * 1024
_FOREGROUND: Final = "foregroundDeletion"
_ORPHAN: Final = "orphan"
_STANDARD_FINALIZERS: Final = frozenset(("kubernetes", _ORPHAN, _FOREGROUND))
_IMMUTABLE: Final = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds",
)  # fmt: skip


def check_meta(
    obj: Obj,
    namer: names.Namer,
    errors: ErrorList,
    *,
    namespaced: bool = True,
    kube_finalizers: bool = True,
) -> None:
    """Check the metadata of a new object.

    Args:
        obj: the object.
        namer: the rule for its name.
        errors: gets what is wrong.
        namespaced: whether the kind is in namespaces.
        kube_finalizers: whether finalizers must be standard ones or have a domain, as most kinds
            want it.
    """
    meta = obj.get("metadata") or {}
    name = meta.get("name", "")
    generate = meta.get("generateName")
    if generate:
        texts(errors, "metadata.generateName", generate, names.beginning(namer)(generate))
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    elif problems := namer(name):
        texts(errors, "metadata.name", name, problems)
    namespace = meta.get("namespace", "")
    if namespaced:
        if not namespace:
            errors.append(required("metadata.namespace"))
        elif problems := names.dns_label(namespace):
            texts(errors, "metadata.namespace", namespace, problems)
    elif namespace:
        errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    generation = meta.get("generation", 0)
    if generation < 0:
        errors.append(invalid("metadata.generation", generation, NOT_NEGATIVE))
    _check_contents(meta, errors)
    finalizers = meta.get("finalizers")
    if finalizers:
        _check_finalizers(finalizers, errors)
        _check_managers(meta, errors)
        if kube_finalizers:
            _check_kube_finalizers(finalizers, errors)
    else:
        _check_managers(meta, errors)


def check_meta_update(
    obj: Obj, old: Obj, errors: ErrorList, *, kube_finalizers: bool = True
) -> None:
    """Check how the metadata of an object changes."""
    meta, before = obj.get("metadata") or {}, old.get("metadata") or {}
    finalizers = meta.get("finalizers")
    if finalizers and before.get("deletionTimestamp"):
        new = sorted(set(finalizers) - set(before.get("finalizers") or ()))
        if new:
            shown_new = ", ".join(shown(one) for one in new)
            errors.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new "
                    f"finalizers []string{{{shown_new}}}",
                )
            )
    if not meta.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    generation = meta.get("generation", 0)
    if generation < before.get("generation", 0):
        errors.append(invalid("metadata.generation", generation, "must not be decremented"))
    for name in _IMMUTABLE:
        if meta.get(name) != before.get(name):
            value = meta.get(name, "" if name in ("name", "namespace", "uid") else None)
            errors.append(invalid(f"metadata.{name}", value, IMMUTABLE))
    _check_contents(meta, errors)
    _check_managers(meta, errors)
    if finalizers and kube_finalizers:
        _check_kube_finalizers(finalizers, errors)


def _check_contents(meta: Obj, errors: ErrorList) -> None:
    labels = meta.get("labels")
    if labels:
        check_labels(labels, "metadata.labels", errors)
    annotations = meta.get("annotations")
    if annotations:
        check_annotations(annotations, "metadata.annotations", errors)
    owners = meta.get("ownerReferences")
    if owners:
        _check_owners(owners, errors)


def check_labels(labels: Mapping[str, str], path: str, errors: ErrorList) -> None:
    """Check keys and values of labels."""
    for key, value in labels.items():
        if problems := names.label_key(key):
            texts(errors, path, key, problems)
        if problems := names.label_value(value):
            texts(errors, path, value, problems)


def check_annotations(annotations: Mapping[str, str], path: str, errors: ErrorList) -> None:
    """Check the keys and the size of annotations."""
    size = 0
    for key, value in annotations.items():
        if problems := names.label_key(key.lower()):
            texts(errors, path, key, problems)
        size += len(key) + len(value)
    # Characters can have up to four bytes, so most annotations need not be encoded to know.
    if size * 4 > _ANNOTATIONS_LIMIT:
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
        if size > _ANNOTATIONS_LIMIT:
            errors.append(too_long(path, _ANNOTATIONS_LIMIT))


def _check_owners(owners: list[Obj], errors: ErrorList) -> None:
    path = "metadata.ownerReferences"
    controller = ""
    for one in owners:
        version, kind = one.get("apiVersion", ""), one.get("kind", "")
        if not version.rpartition("/")[2] or version.count("/") > 1:
            errors.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
        for name in ("kind", "name", "uid"):
            if not one.get(name):
                errors.append(invalid(f"{path}.{name}", "", "must not be empty"))
        if (version, kind) == ("v1", "Event"):
            text = "/v1, Kind=Event is disallowed from being an owner"
            errors.append(invalid(path, _owner(one), text))
        if one.get("controller"):
            this = f"{kind}/{one.get('name', '')}"
            if controller:
                text = (
                    'Only one reference can have Controller set to true. Found "true" in '
                    f"references for {controller} and {this}"
                )
                errors.append(invalid(path, [_owner(each) for each in owners], text))
            else:
                controller = this


def _owner(one: Obj) -> Obj:
    out: Obj = {name: one.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    for name in ("controller", "blockOwnerDeletion"):
        if one.get(name) is not None:
            out[name] = one[name]
    return out


def _check_finalizers(finalizers: list[str], errors: ErrorList) -> None:
    for one in finalizers:
        texts(errors, "metadata.finalizers", one, names.label_key(one))
    if _FOREGROUND in finalizers and _ORPHAN in finalizers:
        text = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        errors.append(invalid("metadata.finalizers", finalizers, text))


def _check_kube_finalizers(finalizers: list[str], errors: ErrorList) -> None:
    for number, one in enumerate(finalizers):
        check_kube_finalizer(one, f"metadata.finalizers[{number}]", errors)


def check_kube_finalizer(text: str, path: str, errors: ErrorList) -> None:
    """Check that a finalizer is one of Kubernetes' own or has a domain."""
    if "/" not in text and text not in _STANDARD_FINALIZERS:
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        errors.append(invalid(path, text, detail))


def _check_managers(meta: Obj, errors: ErrorList) -> None:
    for number, one in enumerate(meta.get("managedFields") or ()):
        path = f"metadata.managedFields[{number}]"
        operation = one.get("operation", "")
        if operation not in ("Apply", "Update"):
            text = "must be `Apply` or `Update`"
            errors.append(invalid(f"{path}.operation", operation, text))
        form = one.get("fieldsType", "")
        if form not in ("", "FieldsV1"):
            errors.append(invalid(f"{path}.fieldsType", form, "must be `FieldsV1`"))


def check_selector(selector: Obj | None, path: str, errors: ErrorList) -> None:
    """Check a label selector; there may be none."""
    if not selector:
        return
    labels = selector.get("matchLabels")
    if labels:
        check_labels(labels, f"{path}.matchLabels", errors)
    for number, one in enumerate(selector.get("matchExpressions") or ()):
        _check_requirement(one, f"{path}.matchExpressions[{number}]", errors)


def _check_requirement(one: Obj, path: str, errors: ErrorList) -> None:
    operator, values = one.get("operator", ""), one.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(required(f"{path}.values", text))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = one.get("key", "")
    if problems := names.label_key(key):
        texts(errors, f"{path}.key", key, problems)
    for number, value in enumerate(values):
        if problems := names.label_value(value):
            texts(errors, f"{path}.values[{number}]", value, problems)


def selects(selector: Obj | None, labels: Mapping[str, str] | None) -> bool | None:
    """Whether a selector matches labels; None if it makes no sense.

    No selector matches nothing, an empty one everything.
    """
    # parity v1.36.4: apis/meta/v1/helpers.go LabelSelectorAsSelector
    if selector is None:
        return False
    errors: ErrorList = []
    check_selector(selector, "", errors)
    if errors:
        return None
    have: Mapping[str, Any] = labels or {}
    for key, value in (selector.get("matchLabels") or {}).items():
        if have.get(key) != value:
            return False
    return all(_satisfied(one, have) for one in selector.get("matchExpressions") or ())


def _satisfied(one: Obj, labels: Mapping[str, Any]) -> bool:
    value, values = labels.get(one.get("key", "")), one.get("values") or ()
    operator = one.get("operator")
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    return (value is not None) is (operator == "Exists")
