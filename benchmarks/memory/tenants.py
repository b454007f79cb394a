"""Tenants who invent names: pods that differ in one thing that nobody has named before.

Called by `measuring`. Every tenant has a reason why its pods are placed or rejected, so that the
scheduler comes to an end with each of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from benchmarks.embedded.client import request

#: Where the pods of all tenants are.
PODS_PATH: Final = "/api/v1/namespaces/default/pods"
_DOMAIN: Final = "tenant.example"
#: Two names each.
TERM_AND_LABEL: Final = "a pod affinity term and a label"


class Tenant(NamedTuple):
    """One way to invent names.

    Attributes:
        name: what is invented.
        change: makes the pod of a number out of an ordinary one.
        ours: whether the pods are for this scheduler to decide.
    """

    name: str
    change: Callable[[dict[str, Any], int], None]
    ours: bool = True


def _invent_nothing(pod: dict[str, Any], number: int) -> None:
    del pod, number


def _invent_resource(pod: dict[str, Any], number: int) -> None:
    amounts = {f"{_DOMAIN}/card-{number}": "1"}
    pod["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}


def _invent_placed_resource(pod: dict[str, Any], number: int) -> None:
    _invent_resource(pod, number)
    pod["spec"]["nodeName"] = f"node-{number % 100}"


def _invent_node_selector(pod: dict[str, Any], number: int) -> None:
    pod["spec"]["nodeSelector"] = {f"{_DOMAIN}/rack-{number}": f"row-{number}"}


def _invent_node_affinity(pod: dict[str, Any], number: int) -> None:
    wish = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [f"node-{number}"]}
    pod["spec"]["affinity"] = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [wish]}}
            ]
        }
    }


def _invent_topology_key(pod: dict[str, Any], number: int) -> None:
    pod["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": f"{_DOMAIN}/floor-{number}",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {f"{_DOMAIN}/app-{number}": "yes"}},
        }
    ]


def _invent_affinity_term(pod: dict[str, Any], number: int) -> None:
    selector = {"matchLabels": {f"{_DOMAIN}/app-{number}": "yes"}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    pod["spec"]["affinity"] = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    }


def _invent_term_and_label(pod: dict[str, Any], number: int) -> None:
    _invent_affinity_term(pod, number)
    pod["metadata"]["labels"][f"{_DOMAIN}/app-{number}"] = "yes"


def _invent_affinity_terms(pod: dict[str, Any], number: int) -> None:
    _invent_term_and_label(pod, number)
    anti = pod["spec"]["affinity"]["podAntiAffinity"]
    other = {"topologyKey": f"{_DOMAIN}/floor-{number}", "labelSelector": {}}
    anti["requiredDuringSchedulingIgnoredDuringExecution"].append(other)
    anti["preferredDuringSchedulingIgnoredDuringExecution"] = [
        {"weight": 1, "podAffinityTerm": other}
    ]


def _invent_labels(pod: dict[str, Any], number: int) -> None:
    pod["metadata"]["labels"] = {f"{_DOMAIN}/app-{number}": f"{number}"}


def _invent_four_labels(pod: dict[str, Any], number: int) -> None:
    pod["metadata"]["labels"] = {f"{_DOMAIN}/{key}-{number}": f"{number}" for key in "abcd"}


def _invent_toleration(pod: dict[str, Any], number: int) -> None:
    pod["spec"]["tolerations"] = [
        {"key": f"{_DOMAIN}/dirt-{number}", "operator": "Exists", "effect": "NoSchedule"}
    ]


def _invent_image(pod: dict[str, Any], number: int) -> None:
    pod["spec"]["containers"][0]["image"] = f"registry.example/team-{number}/app:{number}"


def _invent_host_port(pod: dict[str, Any], number: int) -> None:
    pod["spec"]["containers"][0]["ports"] = [
        {"containerPort": 8080, "hostPort": 20_000 + number, "hostIP": f"10.0.{number % 250}.1"}
    ]


def _invent_claim(pod: dict[str, Any], number: int) -> None:
    claim = {"claimName": f"disk-{number}"}
    pod["spec"]["volumes"] = [{"name": "disk", "persistentVolumeClaim": claim}]


def _invent_scheduler(pod: dict[str, Any], number: int) -> None:
    pod["spec"]["schedulerName"] = f"scheduler-{number}"
    pod["spec"]["nodeName"] = f"node-{number % 100}"


TENANTS: Final = (
    Tenant("nothing (ordinary pods)", _invent_nothing),
    Tenant("resources", _invent_resource),
    Tenant("resources of placed pods", _invent_placed_resource, ours=False),
    Tenant("node selector keys", _invent_node_selector),
    Tenant("node affinity terms", _invent_node_affinity),
    Tenant("topology keys", _invent_topology_key),
    Tenant("pod affinity terms", _invent_affinity_term),
    Tenant("pod labels", _invent_labels),
    Tenant("tolerations", _invent_toleration),
    Tenant("images", _invent_image),
    Tenant("host ports", _invent_host_port),
    Tenant("claims", _invent_claim),
    Tenant("scheduler names", _invent_scheduler, ours=False),
    Tenant(TERM_AND_LABEL, _invent_term_and_label),
)
#: Each of their pods invents several names: no goal is set for them, and nothing may grow either.
LARGER: Final = (
    Tenant("three affinity terms", _invent_affinity_terms),
    Tenant("four pod labels", _invent_four_labels),
)


def pod_requests(tenant: Tenant, count: int) -> Sequence[bytes]:
    """Requests that create a tenant's pods."""
    return [request("POST", PODS_PATH, pod_of(tenant, number)) for number in range(count)]


def delete_requests(count: int) -> Sequence[bytes]:
    """Requests that delete them, at once."""
    return [
        request("DELETE", f"{PODS_PATH}/{_name(number)}?gracePeriodSeconds=0")
        for number in range(count)
    ]


def _name(number: int) -> str:
    return f"pod-{number}"


def pod_of(tenant: Tenant, number: int) -> dict[str, Any]:
    """The manifest of one of a tenant's pods."""
    container = {
        "name": "main",
        "image": "registry.example/shop/web:1.27.3",
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
    }
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _name(number), "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [container]},
    }
    tenant.change(pod, number)
    return pod
