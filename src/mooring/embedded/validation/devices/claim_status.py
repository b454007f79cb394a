"""Checks of the status of ResourceClaims: who uses a claim, and which devices it got."""

# parity v1.36.4: pkg/apis/resource/validation/validation.go
from functools import partial
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.devices.claim_specs import (
    CONFIGS_LIMIT,
    REQUESTS_LIMIT,
    check_claim_config,
)
from mooring.embedded.validation.devices.device_names import (
    RequestNames,
    check_driver_name,
    check_label,
    check_list,
    check_pool_name,
    check_request_reference,
    check_set,
    request_names,
)
from mooring.embedded.validation.devices.device_statuses import check_device_statuses, check_uid
from mooring.embedded.validation.devices.devices import check_binding_conditions
from mooring.embedded.validation.devices.printed_claims import printed_allocation
from mooring.embedded.validation.field_errors import (
    IMMUTABLE,
    ErrorList,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.embedded.validation.object_meta import check_meta_update
from mooring.embedded.validation.pod.pod_scheduling import check_node_selector
from mooring.embedded.validation.semantic_equality import same

_RESERVED_LIMIT: Final = 256
_SOURCES: Final = ("FromClaim", "FromClass")


def check_claim_status(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of the status of a ResourceClaim."""
    check_meta_update(obj, old, errors)
    known = request_names((obj.get("spec") or {}).get("devices") or {})
    status, before = obj.get("status") or {}, old.get("status") or {}
    reserved = status.get("reservedFor") or []
    check_set(reserved, _RESERVED_LIMIT, _check_consumer, "status.reservedFor", errors, key=_uid_of)
    allocation = status.get("allocation")
    check_device_statuses(status, errors)
    if reserved and allocation is None:
        text = "may not be specified when `allocated` is not set"
        errors.append(forbidden("status.reservedFor", text))
    elif reserved and obj["metadata"].get("deletionTimestamp"):
        earlier = before.get("reservedFor") or []
        if any(not any(same(one, other) for other in earlier) for one in reserved):
            text = (
                "new entries may not be added while `deallocationRequested` or "
                "`deletionTimestamp` are set"
            )
            errors.append(forbidden("status.reservedFor", text))
    earlier_allocation = before.get("allocation")
    if allocation is None:
        return
    if earlier_allocation is None:
        _check_allocation(allocation, known, errors)
    elif not same(allocation, earlier_allocation):
        errors.append(invalid("status.allocation", printed_allocation(allocation), IMMUTABLE))


def _uid_of(consumer: Obj) -> str:
    return str(consumer.get("uid", ""))


def _check_consumer(consumer: Obj, path: str, errors: ErrorList) -> None:
    for name in ("resource", "name", "uid"):
        if not consumer.get(name):
            errors.append(required(f"{path}.{name}"))


def _check_allocation(allocation: Obj, known: RequestNames, errors: ErrorList) -> None:
    devices = allocation.get("devices") or {}
    check_list(
        devices.get("results") or (),
        REQUESTS_LIMIT,
        partial(_check_result, known=known),
        "status.allocation.devices.results",
        errors,
    )
    check_list(
        devices.get("config") or (),
        2 * CONFIGS_LIMIT,
        partial(_check_config, known=known),
        "status.allocation.devices.config",
        errors,
    )
    selector = allocation.get("nodeSelector")
    if selector is not None:
        check_node_selector(selector, "status.allocation.nodeSelector", errors)


def _check_result(result: Obj, path: str, errors: ErrorList, *, known: RequestNames) -> None:
    check_request_reference(result.get("request", ""), f"{path}.request", errors, known=known)
    check_driver_name(result.get("driver", ""), f"{path}.driver", errors)
    check_pool_name(result.get("pool", ""), f"{path}.pool", errors)
    check_label(result.get("device", ""), f"{path}.device", errors)
    check_binding_conditions(result, path, errors)
    share = result.get("shareID")
    if share is not None:
        check_uid(share, f"{path}.shareID", errors)


def _check_config(config: Obj, path: str, errors: ErrorList, *, known: RequestNames) -> None:
    source = config.get("source", "")
    if not source:
        errors.append(required(f"{path}.source"))
    elif source not in _SOURCES:
        errors.append(not_supported(f"{path}.source", source, _SOURCES))
    check_claim_config(config, path, errors, known=known)
