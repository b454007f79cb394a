"""Checks of Namespaces."""

# parity v1.36.4: core/validation/validation.go ValidateNamespace
from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import ErrorList, invalid, texts
from mooring.embedded.validation.object_meta import (
    check_kube_finalizer,
    check_meta,
    check_meta_update,
)


def check_namespace(obj: Obj, errors: ErrorList) -> None:
    """Check a new namespace."""
    check_meta(obj, names.dns_label, errors, namespaced=False)
    for one in (obj.get("spec") or {}).get("finalizers") or ():
        texts(errors, "spec.finalizers", one, names.label_key(one))
        check_kube_finalizer(one, "spec.finalizers", errors)


def check_namespace_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a namespace."""
    check_namespace(obj, errors)
    check_meta_update(obj, old, errors)


def check_namespace_status(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of the status of a namespace."""
    check_meta_update(obj, old, errors)
    phase = (obj.get("status") or {}).get("phase", "")
    ending = (obj.get("metadata") or {}).get("deletionTimestamp")
    if not ending and phase != "Active":
        text = "may only be 'Active' if `deletionTimestamp` is empty"
        errors.append(invalid("status.Phase", phase, text))
    elif ending and phase != "Terminating":
        text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        errors.append(invalid("status.Phase", phase, text))


def check_namespace_finalize(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of what keeps a namespace from ending."""
    check_meta_update(obj, old, errors)
    for number, one in enumerate((obj.get("spec") or {}).get("finalizers") or ()):
        path = f"spec.finalizers[{number}]"
        texts(errors, path, one, names.label_key(one))
        check_kube_finalizer(one, path, errors)
