"""Checks of ResourceSlices: the devices that a driver publishes."""

# parity v1.36.4: pkg/apis/resource/validation/validation.go
from functools import partial
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.devices.device_names import (
    by_name,
    check_driver_name,
    check_pool_name,
    check_set,
)
from mooring.embedded.validation.devices.devices import (
    check_counter_set_name,
    check_counters,
    check_device,
)
from mooring.embedded.validation.field_errors import (
    POSITIVE,
    ErrorList,
    invalid,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import check_meta, check_meta_update
from mooring.embedded.validation.pod.pod_scheduling import check_node_selector
from mooring.embedded.validation.semantic_equality import check_same

DEVICES_LIMIT: Final = 128
#: If a device of the slice has taints or consumes counters.
ADVANCED_DEVICES_LIMIT: Final = 64
COUNTER_SETS_LIMIT: Final = 8
_ONE_PLACE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)


def check_slice(obj: Obj, errors: ErrorList) -> None:
    """Check a new ResourceSlice."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    _check_spec(obj.get("spec") or {}, None, errors)


def check_slice_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ResourceSlice."""
    check_meta_update(obj, old, errors)
    _check_spec(obj.get("spec") or {}, old.get("spec") or {}, errors)


def _check_spec(spec: Obj, old: Obj | None, errors: ErrorList) -> None:
    check_driver_name(spec.get("driver", ""), "spec.driver", errors)
    pool = spec.get("pool") or {}
    _check_pool(pool, errors)
    if old is not None:
        check_same(pool, old.get("pool") or {}, "name", "spec.pool.name", errors)
        check_same(spec, old, "driver", "spec.driver", errors)
        check_same(spec, old, "nodeName", "spec.nodeName", errors)
    _check_place(spec, errors)
    counter_sets, devices = spec.get("sharedCounters"), spec.get("devices")
    if counter_sets is not None and devices is not None:
        text = "only one of `sharedCounters` or `devices` is allowed"
        errors.append(invalid("spec", "", text))
    devices = devices or ()
    advanced = any(one.get("taints") or one.get("consumesCounters") for one in devices)
    check_set(
        devices,
        ADVANCED_DEVICES_LIMIT if advanced else DEVICES_LIMIT,
        partial(check_device, per_device=bool(spec.get("perDeviceNodeSelection"))),
        "spec.devices",
        errors,
        key=by_name,
    )
    check_set(
        counter_sets or (),
        COUNTER_SETS_LIMIT,
        _check_counter_set,
        "spec.sharedCounters",
        errors,
        key=by_name,
    )


def _check_pool(pool: Obj, errors: ErrorList) -> None:
    check_pool_name(pool.get("name", ""), "spec.pool.name", errors)
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, POSITIVE))
    if generation < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid("spec.pool.generation", generation, text))


def _check_place(spec: Obj, errors: ErrorList) -> None:
    """A slice says for which nodes its devices are, in one of four ways."""
    given: list[str] = []
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if node == "":
        text = "must be either unset or set to a non-empty string"
        errors.append(invalid("spec.nodeName", node, text))
    elif node is not None:
        given.append("`nodeName`")
        texts(errors, "spec.nodeName", node, names.subdomain(node))
    if selector is not None:
        given.append("`nodeSelector`")
        check_node_selector(selector, "spec.nodeSelector", errors)
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            text = "must have exactly one node selector term"
            errors.append(invalid("spec.nodeSelector.nodeSelectorTerms", terms, text))
    for name in ("allNodes", "perDeviceNodeSelection"):
        value = spec.get(name)
        if value:
            given.append(f"`{name}`")
        elif value is not None:
            text = "must be either unset or set to true"
            errors.append(invalid(f"spec.{name}", value, text))
    if not given:
        errors.append(required("spec", _ONE_PLACE))
    elif len(given) > 1:
        text = f"{_ONE_PLACE}, but multiple fields are set"
        errors.append(invalid("spec", f"{{{', '.join(given)}}}", text))


def _check_counter_set(counters: Obj, path: str, errors: ErrorList) -> None:
    check_counter_set_name(counters.get("name", ""), f"{path}.name", errors)
    check_counters(counters, path, errors)
