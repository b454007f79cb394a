"""What runs and how it is reached: Deployment, Service, budget, network, priority.

`manifest_set` calls it. Containers are made in `containers`.
"""

from typing import Final

from mooring.deploy.manifests.access import needs_the_api
from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.deploy.manifests.containers import (
    checksums,
    extender_container,
    kube_scheduler_container,
    moor_run_container,
    pod_security,
)
from mooring.deploy.manifests.extender_paths import HEALTH_PORT, SCHEDULER_PORT
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, labels, metadata, selector
from mooring.deploy.manifests.nodes import (
    Noted,
    Setting,
    Tree,
    extensible,
    more_entries,
    setting,
)
from mooring.deploy.manifests.object_names import (
    full_name,
    namespace_of,
    priority_class_name,
    service_account_name,
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
    spec: dict[str, Tree] = {"serviceAccountName": service_account_name(one)}
    if not needs_the_api(one):
        spec["automountServiceAccountToken"] = Noted(value=False, note="nothing is read or bound")
    spec["imagePullSecrets"] = pull_secrets(one)
    spec["priorityClassName"] = _priority_class_name(one)
    spec["securityContext"] = setting("podSecurityContext", pod_security(one))
    spec["nodeSelector"] = setting("nodeSelector", {})
    spec["affinity"] = setting("affinity", {})
    spec["tolerations"] = setting("tolerations", _tolerations(one))
    spec["topologySpreadConstraints"] = setting("topologySpreadConstraints", _spread(one))
    spec |= _containers(one)
    return spec | {"volumes": _volumes(one)}


def pull_secrets(one: Installation) -> Setting:
    """What images are pulled with."""
    return setting("imagePullSecrets", [{"name": name} for name in one.pull_secrets])


def _priority_class_name(one: Installation) -> Setting:
    """An existing class, or the one that is made."""
    if one.existing_priority_class:
        return setting("priorityClass.name", one.existing_priority_class)
    return priority_class_name(one)


def _tolerations(one: Installation) -> list[Tree]:
    """Control-plane nodes are there when others are not, which have to be waited for."""
    if not one.replaces_kube_scheduler:
        return []
    key = "node-role.kubernetes.io/control-plane"
    return [{"key": key, "operator": "Exists", "effect": "NoSchedule"}]


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
    # A kustomization gives ConfigMaps another name when they change.
    found = {} if one.format is ManifestFormat.KUSTOMIZE else checksums(one)
    annotations: Tree = setting("podAnnotations", {})
    if found:
        annotations = found | {"more": more_entries("podAnnotations")}
    return {
        "labels": {**labels(one), "more": more_entries("podLabels")},
        "annotations": annotations,
    }


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


def _volumes(one: Installation) -> Tree:
    found: list[Tree] = []
    if one.mode is not Mode.EXTENDER:
        found.append({"name": "kube-scheduler", "configMap": {"name": full_name(one, "-config")}})
    if one.policy.text:
        found.append({"name": "policy", "configMap": {"name": full_name(one, "-policy")}})
    if one.tls is not TlsSource.NONE:
        mode = Noted(0o440, "0440: nobody but the pod's user and group")
        secret = {"secretName": full_name(one, "-tls"), "defaultMode": mode}
        found.append({"name": "tls", "secret": secret})
    return extensible(found, "extraVolumes")


def service(installation: Installation) -> Manifest:
    """How kube-scheduler reaches an extender of its own."""
    one = installation
    port: dict[str, Tree] = {"name": "extender", "port": one.paths.port, "targetPort": "extender"}
    if one.node_port:
        port["nodePort"] = setting("service.nodePort", one.node_port)
    spec: dict[str, Tree] = {
        "type": setting("service.type", str(one.service)),
        "selector": selector(one),
        "ports": [port],
    }
    if one.node_cache and one.policy.policy.usage:
        note = "who bound the last pod knows where it is before a watch tells it"
        spec["sessionAffinity"] = Noted("ClientIP", note)
    made = {"apiVersion": "v1", "kind": "Service", "metadata": metadata(one), "spec": spec}
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
        ports.insert(0, {"port": one.paths.port})
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
        "Nothing else can be reached from outside. kube-scheduler and the kubelet are not pods\n"
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
        "metadata": {"name": _priority_class_name(installation), "labels": labels(installation)},
        "value": setting("priorityClass.value", _PRIORITY),
        "globalDefault": False,
        "description": "Pods that schedule other pods.",
    }
    comment = "Pods that schedule others are not preempted by them."
    return Manifest("deployment", made, comment, "priorityClass.create")


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
