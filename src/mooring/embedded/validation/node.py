"""Checks of Nodes and Namespaces."""

# parity v1.36.4: core/validation/validation.go ValidateNode, ValidateNodeUpdate, ValidateNamespace
from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    texts,
)
from mooring.embedded.validation.object_meta import (
    check_kube_finalizer,
    check_meta,
    check_meta_update,
)
from mooring.embedded.validation.pod_scheduling import check_taints
from mooring.embedded.validation.resources import check_amount


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
        texts(errors, f"spec.podCIDRs[{number}]", one, names.cidr(one))
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
