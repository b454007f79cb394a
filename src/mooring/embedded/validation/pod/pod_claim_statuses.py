"""Checks of what a pod's status says about the claims that were created for the pod."""

# parity v1.36.4: core/validation/validation.go
from collections.abc import Sequence
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    invalid,
    required,
    texts,
)

_PATH: Final = "status.extendedResourceClaimStatus"
_NO_CONTAINER: Final = (
    "must match the name of an entry in spec.initContainers.name or spec.containers.name"
)
_NO_REQUEST: Final = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests "
    "or spec.containers.resources.requests"
)


def check_claim_statuses(spec: Obj, status: Obj, errors: ErrorList) -> None:
    """Check which claims were created from templates, or for extended resources."""
    _check_generated(spec, status.get("resourceClaimStatuses") or (), errors)
    extended = status.get("extendedResourceClaimStatus")
    if extended is not None:
        _check_extended(spec, extended, errors)


def _check_generated(spec: Obj, statuses: Sequence[Obj], errors: ErrorList) -> None:
    known = {one.get("name") for one in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for number, one in enumerate(statuses):
        path, name = f"status.resourceClaimStatuses[{number}]", one.get("name", "")
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{path}.name", name, text))
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        claim = one.get("resourceClaimName")
        if claim is not None:
            texts(errors, f"{path}.resourceClaimName", claim, names.subdomain(claim))


def _check_extended(spec: Obj, status: Obj, errors: ErrorList) -> None:
    containers = {
        one.get("name", ""): one
        for kind in ("initContainers", "containers")
        for one in spec.get(kind) or ()
    }
    mappings = status.get("requestMappings") or ()
    if not mappings:
        text = "at least one request mapping is required"
        errors.append(required(f"{_PATH}.requestMappings", text))
    seen: set[tuple[str, ...]] = set()
    fields = "containerName", "resourceName", "requestName"
    for number, mapping in enumerate(mappings):
        path = f"{_PATH}.requestMappings[{number}]"
        key = container, resource, request = tuple(mapping.get(one, "") for one in fields)
        found = containers.get(container)
        if found is None:
            errors.append(invalid(f"{path}.containerName", container, _NO_CONTAINER))
        elif resource not in ((found.get("resources") or {}).get("requests") or {}):
            errors.append(invalid(f"{path}.resourceName", resource, _NO_REQUEST))
        texts(errors, f"{_PATH}.requestName", request, names.dns_label(request))
        if key in seen:
            for name, value in zip(fields, key, strict=True):
                errors.append(duplicate(f"{path}.{name}", value))
        seen.add(key)
    claim = status.get("resourceClaimName", "")
    if not claim:
        errors.append(required(f"{_PATH}.resourceClaimName"))
    else:
        texts(errors, f"{_PATH}.resourceClaimName", claim, names.subdomain(claim))
