"""The spec of a claim as the API server prints it: with the fields of its own Go structs."""

# parity v1.36.4: pkg/apis/resource/types.go
from typing import Any, Final

from mooring.embedded.resources import Obj

#: For each Go struct, its fields: their names in Go and in JSON, and what is there if they are
#: left out. A field with a list or a map of structs, or with a struct, names its type.
_STRUCTS: Final[dict[str, tuple[tuple[str, str, Any, str], ...]]] = {
    "Claim": (
        ("Requests", "requests", None, "Request"),
        ("Constraints", "constraints", None, "Constraint"),
        ("Config", "config", None, "Config"),
    ),
    "Request": (
        ("Name", "name", "", ""),
        ("Exactly", "exactly", None, "Exact"),
        ("FirstAvailable", "firstAvailable", None, "Choice"),
    ),
    "Exact": (
        ("DeviceClassName", "deviceClassName", "", ""),
        ("Selectors", "selectors", None, "Selector"),
        ("AllocationMode", "allocationMode", "", ""),
        ("Count", "count", 0, ""),
        ("AdminAccess", "adminAccess", None, ""),
        ("Tolerations", "tolerations", None, "Toleration"),
        ("Capacity", "capacity", None, "Capacity"),
    ),
    "Choice": (
        ("Name", "name", "", ""),
        ("DeviceClassName", "deviceClassName", "", ""),
        ("Selectors", "selectors", None, "Selector"),
        ("AllocationMode", "allocationMode", "", ""),
        ("Count", "count", 0, ""),
        ("Tolerations", "tolerations", None, "Toleration"),
        ("Capacity", "capacity", None, "Capacity"),
    ),
    "Selector": (("CEL", "cel", None, "CEL"),),
    "CEL": (("Expression", "expression", "", ""),),
    "Toleration": (
        ("Key", "key", "", ""),
        ("Operator", "operator", "", ""),
        ("Value", "value", "", ""),
        ("Effect", "effect", "", ""),
        ("TolerationSeconds", "tolerationSeconds", None, ""),
    ),
    "Capacity": (("Requests", "requests", None, ""),),
    "Constraint": (
        ("Requests", "requests", None, ""),
        ("MatchAttribute", "matchAttribute", None, ""),
        ("DistinctAttribute", "distinctAttribute", None, ""),
    ),
    "Config": (("Requests", "requests", None, ""), ("Opaque", "opaque", None, "Opaque")),
    "Opaque": (("Driver", "driver", "", ""), ("Parameters", "parameters", None, "")),
    "Result": (
        ("Request", "request", "", ""),
        ("Driver", "driver", "", ""),
        ("Pool", "pool", "", ""),
        ("Device", "device", "", ""),
        ("AdminAccess", "adminAccess", None, ""),
        ("Tolerations", "tolerations", None, "Toleration"),
        ("BindingConditions", "bindingConditions", None, ""),
        ("BindingFailureConditions", "bindingFailureConditions", None, ""),
        ("ShareID", "shareID", None, ""),
        ("ConsumedCapacity", "consumedCapacity", None, ""),
    ),
    "AllocationConfig": (
        ("Source", "source", "", ""),
        ("Requests", "requests", None, ""),
        ("Opaque", "opaque", None, "Opaque"),
    ),
    "Devices": (
        ("Results", "results", None, "Result"),
        ("Config", "config", None, "AllocationConfig"),
    ),
    "Allocation": (
        ("Devices", "devices", {}, "Devices"),
        ("NodeSelector", "nodeSelector", None, "NodeSelector"),
        ("AllocationTimestamp", "allocationTimestamp", None, ""),
    ),
    "NodeSelector": (("NodeSelectorTerms", "nodeSelectorTerms", None, "Term"),),
    "Term": (
        ("MatchExpressions", "matchExpressions", None, "Expression"),
        ("MatchFields", "matchFields", None, "Expression"),
    ),
    "Expression": (
        ("Key", "key", "", ""),
        ("Operator", "operator", "", ""),
        ("Values", "values", None, ""),
    ),
}


def printed_claim_spec(spec: Obj) -> Obj:
    """The spec of a claim."""
    return {"Devices": _printed("Claim", spec.get("devices") or {})}


def printed_allocation(allocation: Obj | None) -> Any:
    """The allocation of a claim."""
    return None if allocation is None else _printed("Allocation", allocation)


def _printed(struct: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_printed(struct, one) for one in value]
    return {
        name: _printed(kind, part) if kind and (part := value.get(field, absent)) is not None
        else value.get(field, absent)
        for name, field, absent, kind in _STRUCTS[struct]
    }  # fmt: skip
