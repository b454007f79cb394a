"""What runs and how it is reached: Deployment, Service, budget, network, priority, metrics.

`manifest_set` calls it. Containers are made in `containers`.
"""

from typing import Final

from mooring.deploy.manifests.access import needs_the_api
from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.deploy.manifests.containers import (
    HEALTH_PORT,
    SCHEDULER_PORT,
    extender_container,
    kube_scheduler_container,
    moor_run_container,
    pod_security,
    policy_checksum,
)
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, labels, metadata, selector
from mooring.deploy.manifests.nodes import Noted, Tree, setting
from mooring.deploy.manifests.scheduler_configuration import (
    PORT,
    namespace_of,
    scheduler_names,
)

#: The highest value that a PriorityClass of users may have.
_PRIORITY: Final = 1_000_000_000
_HOSTNAME: Final = "kubernetes.io/hostname"


def deployment(installation: Installation) -> Manifest:
    """The Deployment."""
    one = installation
    spec: dict[str, Tree] = {
        "replicas": setting("replicaCount", one.replicas),
        "selector": {"matchLabels": selector(one)},
        "template": {"metadata": _pod_metadata(one), "spec": pod_spec(one)},
    }
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(one),
        "spec": spec,
    }
    return Manifest("deployment", made)


def pod_spec(installation: Installation) -> dict[str, Tree]:
    """What a pod of the Deployment is."""
    one = installation
    spec: dict[str, Tree] = {"serviceAccountName": one.name}
    if not needs_the_api(one):
        spec["automountServiceAccountToken"] = Noted(value=False, note="nothing is read or bound")
    spec["imagePullSecrets"] = setting(
        "imagePullSecrets", [{"name": name} for name in one.pull_secrets]
    )
    spec["priorityClassName"] = setting("priorityClass.name", one.priority_class or one.name)
    spec["securityContext"] = pod_security(one)
    spec["nodeSelector"] = setting("nodeSelector", {})
    spec["affinity"] = setting("affinity", {})
    spec["tolerations"] = setting("tolerations", [])
    spec["topologySpreadConstraints"] = setting("topologySpreadConstraints", _spread(one))
    spec |= _containers(one)
    return spec | {"volumes": _volumes(one)}


def _containers(one: Installation) -> dict[str, Tree]:
    if one.mode is Mode.SCHEDULER:
        return {"containers": [moor_run_container(one)]}
    if one.mode is Mode.EXTENDER:
        return {"containers": [extender_container(one)]}
    return sidecar_containers(one)


def sidecar_containers(one: Installation) -> dict[str, Tree]:
    """kube-scheduler and the extender in one pod."""
    extender = extender_container(one)
    if not one.kubernetes.sidecars:
        del extender["startupProbe"]
        return {"containers": [extender, kube_scheduler_container(one)]}
    # kube-scheduler is started when the startup probe has succeeded, and stopped first: it never
    # asks before or after there is someone to answer.
    note = "a sidecar: it starts before kube-scheduler and ends after it"
    made = {"name": extender.pop("name"), "restartPolicy": Noted("Always", note), **extender}
    return {"initContainers": [made], "containers": [kube_scheduler_container(one)]}


def _pod_metadata(one: Installation) -> dict[str, Tree]:
    made: dict[str, Tree] = {"labels": labels(one)}
    # A kustomization gives the policy's ConfigMap another name when it changes.
    checksum = {} if one.format is ManifestFormat.KUSTOMIZE else policy_checksum(one)
    if checksum:
        made["annotations"] = checksum
    return made


def _spread(one: Installation) -> list[Tree]:
    if one.replicas < 2:
        return []
    return [
        {
            "maxSkew": 1,
            "topologyKey": _HOSTNAME,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector(one)},
        }
    ]


def _volumes(one: Installation) -> list[Tree]:
    found: list[Tree] = []
    if one.mode is not Mode.EXTENDER:
        found.append({"name": "kube-scheduler", "configMap": {"name": f"{one.name}-config"}})
    if one.policy.text:
        found.append({"name": "policy", "configMap": {"name": f"{one.name}-policy"}})
    if one.tls is not TlsSource.NONE:
        found.append({"name": "tls", "secret": {"secretName": f"{one.name}-tls"}})
    return found


def service(installation: Installation) -> Manifest:
    """How kube-scheduler reaches an extender of its own."""
    one = installation
    port: dict[str, Tree] = {"name": "extender", "port": PORT, "targetPort": "extender"}
    if one.node_port:
        port["nodePort"] = setting("service.nodePort", one.node_port)
    made = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(one),
        "spec": {
            "type": setting("service.type", str(one.service)),
            "selector": selector(one),
            "ports": [port],
        },
    }
    comment = "Where kube-scheduler finds the extender."
    if one.service is ServiceType.NODE_PORT:
        comment = "Every node answers at the node port, so kube-scheduler asks its own node."
    return Manifest("service", made, comment)


def disruption_budget(installation: Installation) -> Manifest:
    """At most one pod at a time is drained."""
    made = {
        "apiVersion": installation.kubernetes.disruption_api,
        "kind": "PodDisruptionBudget",
        "metadata": metadata(installation),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector(installation)}},
    }
    comment = "When nodes are drained, one pod at a time leaves."
    return Manifest("deployment", made, comment, "podDisruptionBudget.enabled")


def network_policy(installation: Installation) -> Manifest:
    """Only ports that somebody has to reach."""
    one = installation
    ports: list[Tree] = [{"port": health_port(one)}]
    if one.mode is Mode.EXTENDER:
        ports.insert(0, {"port": PORT})
    elif one.mode is Mode.SIDECAR:
        ports.append({"port": SCHEDULER_PORT})
    made = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(one),
        "spec": {
            "podSelector": {"matchLabels": selector(one)},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": ports}],
        },
    }
    comment = (
        "Nothing else can be reached from outside. kube-scheduler and the kubelet are no pods\n"
        "that could be selected, so ports are limited and not callers."
    )
    off = not one.network_policy
    return Manifest("network", made, comment, "networkPolicy.enabled", off)


def health_port(installation: Installation) -> int:
    """Where metrics are."""
    return SCHEDULER_PORT if installation.mode is Mode.SCHEDULER else HEALTH_PORT


def priority_class(installation: Installation) -> Manifest:
    """Its pods come before those that they place."""
    made = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": installation.name, "labels": labels(installation)},
        "value": setting("priorityClass.value", _PRIORITY),
        "globalDefault": False,
        "description": "Pods that schedule other pods.",
    }
    comment = "Pods that schedule others are not preempted by them."
    return Manifest("deployment", made, comment, "priorityClass.create")


def monitoring(installation: Installation) -> list[Manifest]:
    """A Service for metrics and a ServiceMonitor for Prometheus' operator."""
    one = installation
    wanted = {**selector(one), "app.kubernetes.io/component": "metrics"}
    head = metadata(one, "-metrics")
    head["labels"] = {**labels(one), "app.kubernetes.io/component": "metrics"}
    metrics_service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": head,
        "spec": {
            "clusterIP": Noted("None", "each pod is scraped"),
            "selector": selector(one),
            "ports": [{"name": "metrics", "port": health_port(one), "targetPort": "health"}],
        },
    }
    monitor = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(one),
        "spec": {
            "selector": {"matchLabels": wanted},
            "endpoints": [
                {
                    "port": "metrics",
                    "path": "/metrics",
                    "interval": setting("serviceMonitor.interval", "30s"),
                }
            ],
        },
    }
    toggle, off = "serviceMonitor.enabled", not one.service_monitor
    comment = "Metrics, for Prometheus' operator."
    return [
        Manifest("monitoring", metrics_service, comment, toggle, off),
        Manifest("monitoring", monitor, "", toggle, off),
    ]


def namespace_object(installation: Installation) -> Manifest:
    """The namespace."""
    made = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": namespace_of(installation),
            "labels": {
                "pod-security.kubernetes.io/enforce": Noted(
                    "restricted", "nothing here needs more"
                ),
                "pod-security.kubernetes.io/warn": "restricted",
            },
        },
    }
    return Manifest("namespace", made)


def pod_to_try(installation: Installation) -> Manifest:
    """A pod to try it with."""
    one = installation
    limits = {"limits": dict.fromkeys(one.managed_resources, 1)} if one.managed_resources else {}
    container: dict[str, Tree] = {
        "name": "main",
        "image": setting("testPod.image", "registry.k8s.io/pause:3.10"),
    }
    if limits:
        container["resources"] = limits
    security: dict[str, Tree] = {"runAsNonRoot": True, "runAsUser": 65532}
    if one.kubernetes.seccomp_profiles:
        security["seccompProfile"] = {"type": "RuntimeDefault"}
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(one, "-test") | {"labels": {"app.kubernetes.io/part-of": "mooring"}},
        "spec": {
            "schedulerName": scheduler_names(one)[0],
            "securityContext": security,
            "containers": [
                container
                | {
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    }
                }
            ],
        },
    }
    return Manifest("test-pod", made, "A pod to try it with.", "testPod.enabled", not one.test_pod)
