"""Checks of RuntimeClasses."""

# parity v1.36.4: pkg/apis/node/validation/validation.go
from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import ErrorList, invalid, required
from mooring.embedded.validation.object_meta import check_labels, check_meta, check_meta_update
from mooring.embedded.validation.pod.pod_scheduling import check_tolerations
from mooring.embedded.validation.resource_amounts import check_requirements
from mooring.embedded.validation.semantic_equality import check_same


def check_runtime_class(obj: Obj, errors: ErrorList) -> None:
    """Check a new RuntimeClass."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    handler = obj.get("handler") or ""
    if not handler:
        errors.append(required("handler"))
    else:
        errors.extend(invalid("handler", handler, text) for text in names.dns_label(handler))
    overhead = (obj.get("overhead") or {}).get("podFixed")
    if overhead:
        check_requirements({"limits": overhead}, "overhead", errors)
    scheduling = obj.get("scheduling") or {}
    if scheduling.get("nodeSelector"):
        check_labels(scheduling["nodeSelector"], "scheduling.nodeSelector", errors)
    if scheduling.get("tolerations"):
        check_tolerations(scheduling["tolerations"], "scheduling.tolerations", errors)


def check_runtime_class_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a RuntimeClass."""
    check_runtime_class(obj, errors)
    check_meta_update(obj, old, errors)
    check_same(obj, old, "handler", "handler", errors)
