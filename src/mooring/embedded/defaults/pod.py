"""Defaults of pods and of the pod templates in workloads.

`defaults` calls it with objects in their stored form, so that what is empty is not there. It is
on the path of every pod that is created: plain loops, nothing copied.
"""

from typing import Final

from mooring.embedded.defaults.images import pull_policy
from mooring.embedded.defaults.pod_level_resources import default_pod_level
from mooring.embedded.defaults.volumes import default_volume
from mooring.embedded.resources import Obj

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINERS: Final = ("containers", "initContainers")


def default_pod(pod: Obj) -> None:
    """Complete a pod, in place."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_Pod, conversion.go
    spec = pod["spec"]
    for field in _CONTAINERS:
        for container in spec.get(field) or ():
            resources = container["resources"]
            limits = resources.get("limits")
            if limits is not None:
                requests = resources.get("requests")
                if requests is None:
                    resources["requests"] = dict(limits)
                else:
                    for name, amount in limits.items():
                        requests.setdefault(name, amount)
    if "resources" in spec:
        default_pod_level(spec)
    spec.setdefault("enableServiceLinks", True)
    default_pod_spec(spec)
    if spec.get("hostNetwork"):
        _open_host_ports(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    status = pod.get("status")
    if status:
        _agree_on_addresses(status)


def default_template(template: Obj) -> None:
    """Complete a pod template, in place."""
    default_pod_spec(template["spec"])


def default_pod_spec(spec: Obj) -> None:
    """Complete the spec of a pod or of a pod template, in place."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_PodSpec
    if "restartPolicy" not in spec:
        spec["restartPolicy"] = "Always"
    if "terminationGracePeriodSeconds" not in spec:
        spec["terminationGracePeriodSeconds"] = 30
    if "dnsPolicy" not in spec:
        spec["dnsPolicy"] = "ClusterFirst"
    if "securityContext" not in spec:
        spec["securityContext"] = {}
    if "schedulerName" not in spec:
        spec["schedulerName"] = "default-scheduler"
    # One is the old name of the other.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in spec["containers"] or ():
        default_container(container)
    if "initContainers" in spec:
        for container in spec["initContainers"]:
            default_container(container)
    if "ephemeralContainers" in spec:
        for container in spec["ephemeralContainers"]:
            default_container(container)
    if "volumes" in spec:
        for volume in spec["volumes"]:
            default_volume(volume)


def default_container(container: Obj) -> None:
    """Complete a container, in place."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_Container, zz_generated.defaults.go
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    if "terminationMessagePath" not in container:
        container["terminationMessagePath"] = "/dev/termination-log"
    if "terminationMessagePolicy" not in container:
        container["terminationMessagePolicy"] = "File"
    if "ports" in container:
        for port in container["ports"]:
            if "protocol" not in port:
                port["protocol"] = "TCP"
    if "env" in container:
        for variable in container["env"]:
            if "valueFrom" in variable:
                _value_from(variable["valueFrom"])
    for field in _PROBES:
        if field in container:
            _probe(container[field])
    if "lifecycle" in container:
        for handler in container["lifecycle"].values():
            if isinstance(handler, dict) and "httpGet" in handler:
                _http_get(handler["httpGet"])


def _value_from(source: Obj) -> None:
    if "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")
    if "fileKeyRef" in source:
        source["fileKeyRef"].setdefault("optional", False)


def _probe(probe: Obj) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if "httpGet" in probe:
        _http_get(probe["httpGet"])
    if "grpc" in probe and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _http_get(action: Obj) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _open_host_ports(spec: Obj) -> None:
    """A pod in its node's network has its ports there."""
    for field in _CONTAINERS:
        for container in spec.get(field) or ():
            for port in container.get("ports", ()):
                if "hostPort" not in port and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


def _agree_on_addresses(status: Obj) -> None:
    """The first of ``podIPs`` is ``podIP``; where they differ, ``podIP`` counts."""
    # parity v1.36.4: pkg/apis/core/v1/conversion.go Convert_v1_PodStatus_To_core_PodStatus
    single, several = status.get("podIP"), status.get("podIPs")
    if single:
        if not several or several[0].get("ip") != single:
            status["podIPs"] = [{"ip": single}]
    elif several:
        status["podIP"] = several[0].get("ip", "")
