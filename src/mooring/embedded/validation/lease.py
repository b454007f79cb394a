"""Checks of Leases."""

# parity v1.36.4: coordination/validation/validation.go
from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import ErrorList, invalid
from mooring.embedded.validation.object_meta import check_meta, check_meta_update


def check_lease(obj: Obj, errors: ErrorList) -> None:
    """Check a new Lease."""
    check_meta(obj, names.subdomain, errors, kube_finalizers=False)
    _check_lease_spec(obj.get("spec") or {}, errors)


def check_lease_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a Lease."""
    check_meta_update(obj, old, errors, kube_finalizers=False)
    _check_lease_spec(obj.get("spec") or {}, errors)


def _check_lease_spec(spec: Obj, errors: ErrorList) -> None:
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        text = "must be greater than or equal to 0"
        errors.append(invalid("spec.leaseTransitions", transitions, text))
