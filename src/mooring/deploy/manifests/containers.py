"""Containers and pods: commands, probes, security contexts, resources, volumes.

`workloads` and `static_pod_files` call it. Probes are HTTP requests and start no process; every
container has a read-only root, no capabilities, and what it may not exceed.
"""

import hashlib
from typing import Final

from mooring.deploy.manifests.choices import Mode, TlsSource
from mooring.deploy.manifests.extender_paths import HEALTH_PORT, SCHEDULER_PORT
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.nodes import (
    ChartFile,
    EmbeddedYaml,
    Noted,
    Setting,
    Tree,
    extensible,
    more_items,
    setting,
)
from mooring.deploy.manifests.object_names import full_name
from mooring.deploy.manifests.scheduler_configuration import configuration_file
from mooring.deploy.manifests.yaml_text import chart_file_text
from mooring.deploy.static_pods import KUBEADM_KUBECONFIG

CONFIG_FOLDER: Final = "/etc/kubernetes/kube-scheduler"
TLS_FOLDER: Final = "/etc/extender"
_MORE_MOUNTS: Final = "extraVolumeMounts"
_USER: Final = 65532
_NO_ROOT: Final[dict[str, Tree]] = {"runAsNonRoot": True, "runAsUser": _USER}


def image_setting(path: str, image: str) -> Setting:
    """An image, in two values as charts have them."""
    name, colon, tag = image.rpartition(":")
    if not colon or "/" in tag or "@" in image:
        return Setting(image, {f"{path}.repository": image}, f"{{{{ .Values.{path}.repository }}}}")
    template = f"{{{{ .Values.{path}.repository }}}}:{{{{ .Values.{path}.tag }}}}"
    return Setting(image, {f"{path}.repository": name, f"{path}.tag": tag}, template)


def kube_scheduler_image(installation: Installation) -> str:
    """The image of kube-scheduler in the cluster's version."""
    version = installation.kubernetes
    return installation.kube_scheduler_image or f"registry.k8s.io/kube-scheduler:v{version}"


def extender_container(installation: Installation) -> dict[str, Tree]:
    """`moor serve`."""
    one = installation
    local = one.mode is not Mode.EXTENDER
    host: Tree = "--host=127.0.0.1" if local else "--host=0.0.0.0"
    if local:
        host = Noted(host, "kube-scheduler is in the same pod, and nobody else may ask")
    args: list[Tree] = [host, f"--port={one.paths.port}", f"--health-port={HEALTH_PORT}"]
    if one.mode is Mode.STATIC_POD:
        args.append(Noted("--health-host=127.0.0.1", "this pod has the node's network"))
        args.append(f"--kubeconfig={KUBEADM_KUBECONFIG}")
    args.append("--node-cache" if one.node_cache else "--no-node-cache")
    args += one.paths.arguments
    args += [f"--timeout={one.timeout:g}"] if one.timeout != 5.0 else []
    args += ["--reload"] if one.reload else []
    if one.tls is not TlsSource.NONE:
        args += [
            f"--tls-cert={TLS_FOLDER}/tls.crt",
            f"--tls-key={TLS_FOLDER}/tls.key",
            Noted(f"--client-ca={TLS_FOLDER}/ca.crt", "only kube-scheduler is answered"),
        ]
    args.append(more_items("extraArgs"))
    made: dict[str, Tree] = {
        "name": "extender",
        "image": image_setting("image", one.image),
        "imagePullPolicy": setting("image.pullPolicy", ""),
        "command": ["moor", "serve", one.policy.place],
        "args": args,
        "env": setting("env", []),
    }
    ports = [] if local else [{"name": "extender", "containerPort": one.paths.port}]
    if one.mode is not Mode.STATIC_POD:
        made["ports"] = [*ports, {"name": "health", "containerPort": HEALTH_PORT}]
    made |= _probes(installation, HEALTH_PORT, ("/livez", "/readyz"), scheme="HTTP", startup=local)
    made |= _limits("resources")
    return made | {"volumeMounts": extensible(_extender_mounts(one), _MORE_MOUNTS)}


def moor_run_container(installation: Installation) -> dict[str, Tree]:
    """`moor run`."""
    one = installation
    made: dict[str, Tree] = {
        "name": "scheduler",
        "image": image_setting("image", one.image),
        "imagePullPolicy": setting("image.pullPolicy", ""),
        "command": ["moor", "run", one.policy.place],
        "args": [
            f"--config={CONFIG_FOLDER}/config.yaml",
            Noted("--bind-address=0.0.0.0", "health and metrics, for the kubelet and Prometheus"),
            f"--port={SCHEDULER_PORT}",
            *(["--reload"] if one.reload else []),
            more_items("extraArgs"),
        ],
        "env": setting("env", []),
        "ports": [{"name": "health", "containerPort": SCHEDULER_PORT}],
    }
    made |= _probes(installation, SCHEDULER_PORT, ("/livez", "/readyz"), scheme="HTTP")
    made |= _limits("resources")
    mounts = [_mount("kube-scheduler", CONFIG_FOLDER), *_policy_mount(one)]
    return made | {"volumeMounts": extensible(mounts, _MORE_MOUNTS)}


def kube_scheduler_container(installation: Installation) -> dict[str, Tree]:
    """kube-scheduler."""
    one = installation
    args: list[Tree] = [f"--config={CONFIG_FOLDER}/config.yaml"]
    if not one.kubernetes.configuration_api:
        args = [
            f"--policy-config-file={CONFIG_FOLDER}/policy.cfg",
            f"--scheduler-name={one.scheduler_names[0]}",
            "--leader-elect=true",
        ]
        if not one.in_place:
            option = "--leader-elect-resource-name="
            name = full_name(one)
            args.append(Setting(f"{option}{one.name}", {}, f"{option}{name.template}"))
            option = "--leader-elect-resource-namespace="
            template = f"{option}{{{{ .Release.Namespace }}}}"
            args.append(Setting(f"{option}{one.namespace}", {}, template))
        if one.mode is Mode.STATIC_POD:
            args.append(f"--kubeconfig={KUBEADM_KUBECONFIG}")
    if one.mode is Mode.STATIC_POD:
        args += [
            "--bind-address=127.0.0.1",
            f"--authentication-kubeconfig={KUBEADM_KUBECONFIG}",
            f"--authorization-kubeconfig={KUBEADM_KUBECONFIG}",
        ]
    args.append(more_items("kubeScheduler.extraArgs"))
    made: dict[str, Tree] = {
        "name": "kube-scheduler",
        "image": image_setting("kubeScheduler.image", kube_scheduler_image(one)),
        "imagePullPolicy": setting("kubeScheduler.image.pullPolicy", ""),
        "command": ["kube-scheduler"],
        "args": args,
    }
    if one.mode is not Mode.STATIC_POD:
        made["ports"] = [{"name": "https", "containerPort": SCHEDULER_PORT}]
    made |= _probes(installation, SCHEDULER_PORT, one.kubernetes.health_path, scheme="HTTPS")
    made |= _limits("kubeScheduler.resources")
    mounts = [_mount("kube-scheduler", CONFIG_FOLDER)]
    if one.mode is Mode.STATIC_POD:
        mounts.append(_mount("kubeconfig", KUBEADM_KUBECONFIG))
    return made | {"volumeMounts": mounts}


def pod_security(installation: Installation) -> dict[str, Tree]:
    """The security context of a pod."""
    made = {**_NO_ROOT, "runAsGroup": _USER, "fsGroup": _USER}
    if installation.mode is Mode.STATIC_POD:
        note = f"only root can read {KUBEADM_KUBECONFIG}, as kubeadm makes it"
        made = {"runAsUser": Noted(0, note)}
    return made | _seccomp(installation)


def trial_pod_security(installation: Installation) -> dict[str, Tree]:
    """The security context of the pod to try it with, which needs neither root nor files."""
    return _NO_ROOT | _seccomp(installation)


def _seccomp(installation: Installation) -> dict[str, Tree]:
    if not installation.kubernetes.seccomp_profiles:
        return {}
    return {"seccompProfile": {"type": "RuntimeDefault"}}


def container_security() -> Setting:
    """The security context of a container."""
    made = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    return setting("securityContext", made)


def checksums(installation: Installation) -> dict[str, Tree]:
    """Annotations that make new pods of changed files, but of a policy that pods reload."""
    one = installation
    made: dict[str, Tree] = {}
    if one.policy.text and not one.reload:
        made["checksum/policy"] = _checksum(ChartFile("policy.py", one.policy.text))
    if one.mode is not Mode.EXTENDER:
        made["checksum/config"] = _checksum(configuration_file(one))
    return made


def _checksum(file: ChartFile | EmbeddedYaml) -> Setting:
    checksum = hashlib.sha256(chart_file_text(file).encode()).hexdigest()
    return Setting(checksum, {}, f"{{{{ .Files.Get `{file.name}` | sha256sum }}}}")


def _extender_mounts(installation: Installation) -> list[Tree]:
    made: list[Tree] = _policy_mount(installation)
    if installation.tls is not TlsSource.NONE:
        made.append(_mount("tls", TLS_FOLDER))
    if installation.mode is Mode.STATIC_POD:
        made.append(_mount("kubeconfig", KUBEADM_KUBECONFIG))
    return made


def _policy_mount(installation: Installation) -> list[Tree]:
    return [_mount("policy", "/policy")] if installation.policy.text else []


def _mount(name: str, path: str) -> dict[str, Tree]:
    return {"name": name, "mountPath": path, "readOnly": True}


def _probes(
    installation: Installation,
    port: int,
    paths: tuple[str, str],
    *,
    scheme: str,
    startup: bool = False,
) -> dict[str, Tree]:
    def get(path: str) -> dict[str, Tree]:
        request: dict[str, Tree] = {"path": path, "port": port, "scheme": scheme}
        if installation.mode is Mode.STATIC_POD:
            request["host"] = "127.0.0.1"
        return {"httpGet": request}

    live, ready = paths
    made: dict[str, Tree] = {}
    if startup:
        made["startupProbe"] = get(ready) | {"periodSeconds": 2, "failureThreshold": 60}
    # A policy may take some seconds, in which nothing is answered.
    made["livenessProbe"] = get(live) | {"timeoutSeconds": 15, "failureThreshold": 4}
    made["readinessProbe"] = get(ready) | {"timeoutSeconds": 15}
    return made


def _limits(path: str) -> dict[str, Tree]:
    resources = {
        "requests": {"cpu": "100m", "memory": "128Mi"},
        "limits": {"memory": Noted("512Mi", "more for thousands of nodes")},
    }
    return {
        "resources": Setting(resources, {path: resources}),
        "securityContext": container_security(),
    }
