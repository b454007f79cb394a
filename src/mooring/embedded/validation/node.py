"""Checks of Nodes."""

# parity v1.36.4: core/validation/validation.go ValidateNode, ValidateNodeUpdate
from mooring.embedded.resources import Obj
from mooring.embedded.validation import addresses, names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    texts,
)
from mooring.embedded.validation.object_meta import (
    check_meta,
    check_meta_update,
)
from mooring.embedded.validation.pod.pod_scheduling import check_taints
from mooring.embedded.validation.resource_amounts import check_amount


def check_node(node: Obj, errors: ErrorList) -> None:
    """Check a new node."""
    check_meta(node, names.subdomain, errors, namespaced=False)
    spec = node.get("spec") or {}
    # Taints are said to be in the metadata: the API server's own mistake.
    if spec.get("taints"):
        check_taints(spec["taints"], "metadata.taints", errors)
    _check_resources(node, errors)
    networks = spec.get("podCIDRs") or []
    for number, one in enumerate(networks):
        texts(errors, f"spec.podCIDRs[{number}]", one, addresses.cidr(one))
    if len(networks) > 2 or (len(networks) == 2 and len({":" in one for one in networks}) == 1):
        text = "may specify no more than one CIDR for each IP family"
        errors.append(invalid("spec.podCIDRs", networks, text))


def _check_resources(node: Obj, errors: ErrorList) -> None:
    status = node.get("status") or {}
    for kind in ("capacity", "allocatable"):
        for name, amount in (status.get(kind) or {}).items():
            check_amount(name, amount, f"status.{kind}.{name}", errors)


def check_node_update(node: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a node."""
    check_node(node, errors)
    check_node_status(node, old, errors)


def check_node_status(node: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of the status of a node."""
    check_meta_update(node, old, errors)
    _check_resources(node, errors)
    spec, before = node.get("spec") or {}, old.get("spec") or {}
    seen: set[tuple[str, str]] = set()
    for number, one in enumerate((node.get("status") or {}).get("addresses") or ()):
        kind, address = one.get("type", ""), one.get("address", "")
        if (kind, address) in seen:
            value = {"Type": kind, "Address": address}
            errors.append(duplicate(f"status.addresses[{number}]", value))
        seen.add((kind, address))
    networks = before.get("podCIDRs") or []
    if networks and networks != (spec.get("podCIDRs") or []):
        text = 'node updates may not change podCIDR except from "" to valid'
        errors.append(forbidden("spec.podCIDRs", text))
    provider = before.get("providerID")
    if provider and provider != spec.get("providerID", ""):
        text = 'node updates may not change providerID except from "" to valid'
        errors.append(forbidden("spec.providerID", text))
    if spec.get("taints"):
        check_taints(spec["taints"], "metadata.taints", errors)
    if spec.get("externalID", "") != before.get("externalID", ""):
        errors.append(forbidden("spec.externalID", "may not be updated"))
