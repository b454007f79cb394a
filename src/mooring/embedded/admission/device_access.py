"""Who may ask for admin access to devices: those in namespaces with a certain label.

`admission` calls it for new claims and templates of claims.
"""

from typing import Final

from mooring.embedded.resources import NAMESPACES, Obj, Resource
from mooring.embedded.status_errors import invalid
from mooring.embedded.store import Store
from mooring.embedded.validation.field_errors import forbidden

_LABEL: Final = "resource.kubernetes.io/admin-access"


def check_admin_access(store: Store, resource: Resource, obj: Obj, spec: Obj) -> None:
    """Reject a claim for admin access from elsewhere.

    Args:
        store: has the namespace.
        resource: what the object is.
        obj: the claim, or the template.
        spec: of the claim.

    Raises:
        StatusError: it may not have admin access.
    """
    # parity v1.36.4: pkg/registry/resource/utils.go AuthorizedForAdmin
    for number, request in enumerate(spec["devices"].get("requests") or ()):
        if not (request.get("exactly") or {}).get("adminAccess"):
            continue
        metadata = obj["metadata"]
        namespace = store.get(NAMESPACES, "", metadata.get("namespace", ""))
        if namespace is None or namespace.labels.get(_LABEL) != "true":
            path = f"spec.devices.requests[{number}].adminAccess"
            text = (
                f"admin access to devices requires the `{_LABEL}: true` label on the containing "
                "namespace"
            )
            name = metadata.get("name") or metadata.get("generateName") or ""
            raise invalid(resource.kind, resource.group, name, [forbidden(path, text)])
        return
