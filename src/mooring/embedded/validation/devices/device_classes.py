"""Checks of DeviceClasses."""

# parity v1.36.4: pkg/apis/resource/validation/validation.go
from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.devices.claim_specs import (
    CONFIGS_LIMIT,
    check_config,
    check_selectors,
)
from mooring.embedded.validation.devices.device_names import check_list
from mooring.embedded.validation.field_errors import ErrorList, invalid
from mooring.embedded.validation.object_meta import check_meta, check_meta_update
from mooring.embedded.validation.resource_amounts import is_extended


def check_class(obj: Obj, errors: ErrorList) -> None:
    """Check a new DeviceClass."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    _check_spec(obj, errors)


def check_class_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a DeviceClass."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    check_meta_update(obj, old, errors)
    _check_spec(obj, errors)


def _check_spec(obj: Obj, errors: ErrorList) -> None:
    spec = obj.get("spec") or {}
    check_selectors(spec.get("selectors") or (), "spec.selectors", errors)
    check_list(spec.get("config") or (), CONFIGS_LIMIT, check_config, "spec.config", errors)
    resource = spec.get("extendedResourceName")
    if resource is not None and not is_extended(resource):
        text = "must be a valid extended resource name"
        errors.append(invalid("spec.extendedResourceName", resource, text))
