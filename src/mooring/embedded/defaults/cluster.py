"""Defaults of what a cluster consists of besides workloads and volumes.

`defaults` calls it with objects in their stored form, so that what is empty is not there.
"""

import base64
from typing import Final

from mooring.embedded.resources import Obj
from mooring.model.defaults import NAMESPACE_LABEL, PREEMPT_LOWER_PRIORITY

_RBAC: Final = "rbac.authorization.k8s.io"
_CLIENT_SECONDS: Final = 10800


def default_node(node: Obj) -> None:
    """Complete a Node, in place."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_NodeStatus, conversion.go
    status, spec = node["status"], node["spec"]
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])
    single, several = spec.get("podCIDR"), spec.get("podCIDRs")
    if single:
        if not several or several[0] != single:
            spec["podCIDRs"] = [single]
    elif several:
        spec["podCIDR"] = several[0]


def default_namespace(namespace: Obj) -> None:
    """Complete a Namespace, in place."""
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})[NAMESPACE_LABEL] = metadata["name"]
    namespace["status"].setdefault("phase", "Active")


def default_service(service: Obj) -> None:
    """Complete a Service, in place; its addresses are given to it later."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_Service
    spec = service["spec"]
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        if "timeoutSeconds" not in client:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _CLIENT_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    outside = kind in ("LoadBalancer", "NodePort")
    if outside or (kind == "ClusterIP" and "externalIPs" in spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if outside or kind == "ClusterIP":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for one in service["status"]["loadBalancer"].get("ingress", ()):
            if one.get("ip"):
                one.setdefault("ipMode", "VIP")


def default_secret(secret: Obj) -> None:
    """Complete a Secret, in place: texts become data."""
    # parity v1.36.4: pkg/apis/core/v1/conversion.go Convert_v1_Secret_To_core_Secret
    texts = secret.pop("stringData", None)
    if texts:
        data = secret.setdefault("data", {})
        for name, text in texts.items():
            data[name] = base64.b64encode(text.encode()).decode()
    secret.setdefault("type", "Opaque")


def default_endpoints(endpoints: Obj) -> None:
    """Complete Endpoints, in place."""
    for subset in endpoints.get("subsets", ()):
        for port in subset.get("ports", ()):
            port.setdefault("protocol", "TCP")


def default_limit_range(limit_range: Obj) -> None:
    """Complete a LimitRange, in place."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem
    for item in limit_range["spec"]["limits"] or ():
        if item.get("type") != "Container":
            continue
        limits = {**item.get("max", {}), **item.get("default", {})}
        requests = {**item.get("min", {}), **limits, **item.get("defaultRequest", {})}
        if limits:
            item["default"] = limits
        if requests:
            item["defaultRequest"] = requests


def default_network_policy(policy: Obj) -> None:
    """Complete a NetworkPolicy, in place."""
    # parity v1.36.4: pkg/apis/networking/v1/defaults.go
    spec = policy["spec"]
    for rules in (spec.get("ingress") or (), spec.get("egress") or ()):
        for rule in rules:
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def default_priority_class(priority_class: Obj) -> None:
    """Complete a PriorityClass, in place."""
    priority_class.setdefault("preemptionPolicy", PREEMPT_LOWER_PRIORITY)


def default_storage_class(storage_class: Obj) -> None:
    """Complete a StorageClass, in place."""
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def default_driver(driver: Obj) -> None:
    """Complete a CSIDriver, in place."""
    # parity v1.36.4: pkg/apis/storage/v1/defaults.go SetDefaults_CSIDriver
    spec = driver["spec"]
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)


def default_role_binding(binding: Obj) -> None:
    """Complete a RoleBinding or ClusterRoleBinding, in place."""
    # parity v1.36.4: pkg/apis/rbac/v1/defaults.go
    if not binding["roleRef"].get("apiGroup"):
        binding["roleRef"]["apiGroup"] = _RBAC
    for subject in binding.get("subjects", ()):
        if "apiGroup" not in subject and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _RBAC
