"""Checks of ResourceQuotas."""

# parity v1.36.4: core/validation/validation.go ValidateResourceQuota
from typing import Any

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import ErrorList, invalid
from mooring.embedded.validation.object_meta import check_meta, check_meta_update
from mooring.embedded.validation.resource_amounts import (
    check_amount,
    check_resource_name,
    is_quota_name,
)
from mooring.embedded.validation.semantic_equality import same


def check_quota(obj: Obj, errors: ErrorList) -> None:
    """Check a new ResourceQuota."""
    check_meta(obj, names.subdomain, errors)
    for name, amount in ((obj.get("spec") or {}).get("hard") or {}).items():
        path = f"spec.hard[{name}]"
        check_resource_name(name, path, errors)
        if "/" not in name and not is_quota_name(name):
            errors.append(invalid(path, name, "must be a standard resource for quota"))
        check_amount(name, amount, path, errors)


def check_quota_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ResourceQuota."""
    check_meta_update(obj, old, errors)
    check_quota(obj, errors)
    scopes: Any = (obj.get("spec") or {}).get("scopes")
    if not same(scopes, (old.get("spec") or {}).get("scopes")):
        errors.append(invalid("spec.scopes", scopes, "field is immutable"))
