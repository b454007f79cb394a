"""Bodies of Bindings, Evictions, Scales and TokenRequests in which something is wrong.

The unit tests send them to our server and compare with the record of kube-apiserver's answers; the
end-to-end tests compare the record with kube-apiserver.
"""

import copy
import re
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("subresource_answers.json")

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {
        "containers": [{"name": "c", "image": "nginx"}],
        "automountServiceAccountToken": False,
    },
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        },
    },
}
ACCOUNT: dict[str, Any] = {
    "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"},
}  # fmt: skip

_PODS = "/api/v1/namespaces/NAMESPACE/pods/web"
_SCALE = "/apis/apps/v1/namespaces/NAMESPACE/deployments/web/scale"
_TOKEN = "/api/v1/namespaces/NAMESPACE/serviceaccounts/robot/token"
_BINDING: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "web"},
    "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
}
_EVICTION: dict[str, Any] = {
    "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"},
}  # fmt: skip
_SCALED: dict[str, Any] = {
    "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"},
    "spec": {"replicas": 2},
}  # fmt: skip
_REQUEST: dict[str, Any] = {
    "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"name": "robot"},
    "spec": {"audiences": [], "expirationSeconds": 600},
}  # fmt: skip

_ODD: dict[str, Any] = {
    "number": 7, "true": True, "list": ["x"], "object": {"x": "y"}, "text": "x", "fraction": 0.5,
    "null": None,
}  # fmt: skip


def _with(body: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    *path, last = place.split(".")
    inner = changed
    for step in path:
        inner = inner.setdefault(step, {})
    inner[last] = value
    return changed


def _cases() -> dict[str, tuple[str, str, dict[str, Any]]]:
    found: dict[str, tuple[str, str, dict[str, Any]]] = {}
    places = {
        "binding": (
            "POST", f"{_PODS}/binding", _BINDING,
            ("metadata", "metadata.annotations", "metadata.annotations.why", "metadata.labels",
             "metadata.labels.why", "metadata.uid", "metadata.resourceVersion", "metadata.name",
             "target", "target.name", "target.kind", "target.namespace", "target.other", "other"),
        ),
        "a Binding of its own": (
            "POST", "/api/v1/namespaces/NAMESPACE/bindings", _BINDING,
            ("metadata.annotations.why", "metadata.labels", "target.name"),
        ),
        "eviction": (
            "POST", f"{_PODS}/eviction", _EVICTION,
            ("metadata", "metadata.annotations.why", "deleteOptions",
             "deleteOptions.gracePeriodSeconds", "deleteOptions.preconditions",
             "deleteOptions.preconditions.uid", "deleteOptions.dryRun", "other"),
        ),
        "delete": (
            "DELETE", _PODS, {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]},
            ("gracePeriodSeconds", "preconditions", "preconditions.uid", "propagationPolicy",
             "orphanDependents", "other"),
        ),
        "scale": (
            "PUT", _SCALE, _SCALED,
            ("metadata", "spec", "spec.replicas", "metadata.annotations.why", "other"),
        ),
        "token": (
            "POST", _TOKEN, _REQUEST,
            ("spec.expirationSeconds", "spec.audiences", "spec.boundObjectRef",
             "metadata.annotations.why"),
        ),
    }  # fmt: skip
    for what, (method, path, body, fields) in places.items():
        for field in fields:
            for kind, value in _ODD.items():
                found[f"{what}: {field} is a {kind}"] = method, path, _with(body, field, value)
    return found


CASES = _cases()


def told(code: int, status: dict[str, Any]) -> Any:
    """An answer, in short."""
    if code < 400:
        return code
    message = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", status["message"])
    # What is stored, and where, is the server's own business.
    message = re.sub(r"Key: /pods/[^/]+/", "Key: /pods/NAMESPACE/", message)
    message = re.sub(r"in object meta: [0-9]+", "in object meta: VERSION", message)
    return [code, status.get("reason", ""), message]
