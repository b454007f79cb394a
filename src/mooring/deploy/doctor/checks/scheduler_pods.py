"""Checks of the containers that run a scheduler: their arguments, files, probes and images."""

import re
from collections.abc import Iterator
from typing import Any, Final

from mooring.config.types import API_VERSION
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.checks.configuration import is_old
from mooring.deploy.doctor.evidence import Evidence, mapping, sequence
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.schedulers import (
    KUBE_SCHEDULER,
    SchedulerProcess,
    configuration_of,
    key_in_volume,
    mounted,
    schedulers,
)

#: Arguments of older versions, each with where its work is done now; empty: take it out.
_REMOVED_FLAGS: Final = {
    "address": "",
    "algorithm-provider": "",
    "failure-domains": "",
    "hard-pod-affinity-symmetric-weight": "moor migrate",
    "lock-object-name": "leaderElection.resourceName",
    "lock-object-namespace": "leaderElection.resourceNamespace",
    "policy-config-file": "moor migrate",
    "policy-configmap": "moor migrate",
    "policy-configmap-namespace": "moor migrate",
    "port": "",
    "scheduler-name": "profiles[].schedulerName",
    "use-legacy-policy-config": "",
}
_INSECURE_PORT, _SECURE_PORT = 10251, 10259
_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")
_TAG: Final = re.compile(r":v1\.(\d+)\.\d+")
#: The first version that reads configurations of v1.
_FIRST_V1: Final = 25
#: What mooring is tested with.
TESTED: Final = "v1.36.4"
_FROZEN_REGISTRY: Final = "k8s.gcr.io/"


def _kube_schedulers(evidence: Evidence) -> Iterator[SchedulerProcess]:
    return (one for one in schedulers(evidence) if one.program == KUBE_SCHEDULER)


def _removed_flags(evidence: Evidence) -> Iterator[DoctorFinding]:
    for process in _kube_schedulers(evidence):
        owner = process.template.owner
        for name, (_, path) in process.flags.items():
            if name not in _REMOVED_FLAGS:
                continue
            instead = _REMOVED_FLAGS[name]
            migrates = owner.file if instead == "moor migrate" else ""
            if migrates:
                advice = f"Run moor migrate --in-place {migrates}."
            elif instead:
                advice = f"Take it out, and write {instead} in the configuration of --config."
            else:
                advice = "Take it out."
            taken_out = not migrates and owner.document is not None
            yield DoctorFinding(
                what=f"kube-scheduler has no argument --{name} any more and ends at once.",
                advice=advice,
                place=process.place(path),
                edits=owner.document.without_line(path)
                if taken_out and owner.document is not None
                else (),
                safe=not instead or bool(migrates),
                migrates=migrates,
            )


def _kubeconfig(evidence: Evidence) -> Iterator[DoctorFinding]:
    for process in _kube_schedulers(evidence):
        owner = process.template.owner
        static = owner.file in evidence.static_files
        given = process.flag("kubeconfig")
        found = configuration_of(evidence, process)
        if process.flag("config") is None:
            if static and given is None:
                yield DoctorFinding(
                    what="The static pod has no --kubeconfig, and a static pod has no service "
                    "account.",
                    advice="Write --kubeconfig=/etc/kubernetes/scheduler.conf, and mount that "
                    "file with hostPath.",
                    place=process.place(),
                )
            continue
        if found is None or is_old(found):
            continue
        if mapping(found.data.get("clientConnection")).get("kubeconfig"):
            continue
        file = given or "/etc/kubernetes/scheduler.conf"
        if given is None and not static:
            continue
        first = next(iter(found.data), "apiVersion")
        ignored = "--kubeconfig is ignored beside --config" if given else "it is a static pod"
        yield DoctorFinding(
            what=f"The configuration names no kubeconfig, and {ignored}.",
            advice=f"Write clientConnection.kubeconfig: {file} in the configuration.",
            place=found.place(),
            edits=found.document.inserted((first,), f"clientConnection:\n  kubeconfig: {file}")
            if found.document is not None
            else (),
            safe=given is not None,
        )


def _config_path(evidence: Evidence) -> Iterator[DoctorFinding]:
    for process in schedulers(evidence):
        file = process.flag("config")
        if file is None:
            continue
        flag_path = process.flags["config"][1]
        where = mounted(process, file)
        if where is None:
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,  # it may be in the image
                what=f"The container has no volume at {file}, which --config names.",
                advice="Mount the ConfigMap, or the host's folder, that has the file.",
                place=process.place(flag_path),
            )
            continue
        name = mapping(where.volume.get("configMap")).get("name")
        owner = process.template.owner
        config_map = evidence.find("ConfigMap", owner.namespace, str(name)) if name else None
        if config_map is None and name:
            # Its name may be wrong, which another check says.
            found = configuration_of(evidence, process)
            config_map = found.owner if found is not None else None
        if config_map is None:
            continue
        keys = list(mapping(config_map.data.get("data")))
        if key_in_volume(where) in keys:
            continue
        fitting = [one.key for one in evidence.configurations if one.owner is config_map] or keys
        folder = file.rpartition("/")[0]
        new = f"--config={folder}/{fitting[0]}" if len(fitting) == 1 else ""
        inline = new and "=" in _word(process, flag_path)
        yield DoctorFinding(
            what=f"ConfigMap {config_map.name} has no key {key_in_volume(where)}, so there is no "
            f"file {file}.",
            advice=f"Write {new}." if new else f"Name one of its keys: {', '.join(keys)}.",
            place=process.place(flag_path),
            edits=owner.document.replaced(flag_path, new)
            if inline and owner.document is not None
            else (),
            safe=bool(new),
        )


def _probe_port(evidence: Evidence) -> Iterator[DoctorFinding]:
    for process in _kube_schedulers(evidence):
        owner = process.template.owner
        for name in _PROBES:
            path = (*process.path, name, "httpGet")
            http = mapping(mapping(process.container.get(name)).get("httpGet"))
            port = http.get("port")
            plain = port == _SECURE_PORT and http.get("scheme") != "HTTPS"
            if port != _INSECURE_PORT and not plain:
                continue
            edits: tuple[Edit, ...] = ()
            if owner.document is not None:
                if "scheme" in http:
                    edits += owner.document.replaced((*path, "scheme"), "HTTPS")
                else:
                    edits += owner.document.inserted((*path, "port"), "scheme: HTTPS")
                if not plain:
                    edits += owner.document.replaced((*path, "port"), str(_SECURE_PORT))
            what = "asks over HTTP" if plain else f"asks port {_INSECURE_PORT}"
            yield DoctorFinding(
                what=f"The {name} {what}, where kube-scheduler serves nothing since v1.23.",
                advice=f"Write port: {_SECURE_PORT} and scheme: HTTPS.",
                place=process.place((*path, "port")),
                edits=edits,
                safe=True,
            )


def _image(evidence: Evidence) -> Iterator[DoctorFinding]:
    version = evidence.cluster.version if evidence.cluster is not None else ""
    server = _minor(f":{version}")
    for process in _kube_schedulers(evidence):
        image = str(process.container.get("image", ""))
        minor = _minor(image)
        found = configuration_of(evidence, process)
        wanted = f"registry.k8s.io/kube-scheduler:{version or TESTED}"
        severity, what = DoctorSeverity.ERROR, ""
        if "hyperkube" in image:
            what = f"Nobody builds {image} any more: hyperkube ended with v1.18."
        elif minor is None:
            continue
        elif found is not None and not is_old(found) and minor < _FIRST_V1:
            what = f"kube-scheduler v1.{minor} does not read {API_VERSION}, which came with v1.25."
        elif server is not None and minor > server:
            what = f"kube-scheduler v1.{minor} is newer than the API server, which is {version}."
        elif server is not None and minor < server - 1:
            what = f"kube-scheduler v1.{minor} is more than one version older than the API server."
        elif server is None and minor < _FIRST_V1:
            what = f"kube-scheduler v1.{minor} is older than the configuration format v1 (v1.25)."
        elif image.startswith(_FROZEN_REGISTRY):
            severity = DoctorSeverity.WARNING
            what = "The registry k8s.gcr.io gets no new images; registry.k8s.io has taken over."
            wanted = image.replace(_FROZEN_REGISTRY, "registry.k8s.io/")
        if what:
            owner = process.template.owner
            path = (*process.path, "image")
            yield DoctorFinding(
                severity=severity,
                what=what,
                advice=f"Write image: {wanted}.",
                place=process.place(path),
                edits=owner.document.replaced(path, wanted) if owner.document is not None else (),
            )


def _minor(image: str) -> int | None:
    found = _TAG.search(image)
    return int(found[1]) if found is not None else None


def _word(process: SchedulerProcess, path: tuple[str | int, ...]) -> str:
    words: Any = process.container.get(str(path[-2]))
    index = path[-1]
    return str(sequence(words)[index]) if isinstance(index, int) else ""


CHECKS: Final = (
    DoctorCheck(
        id="removed-flag",
        title="schedulers are started with arguments that exist",
        why="kube-scheduler ends when it does not know an argument, and its pod restarts forever.",
        judge=_removed_flags,
        lacks=needs.scheduler_pods,
    ),
    DoctorCheck(
        id="scheduler-kubeconfig",
        title="schedulers find their credentials",
        why="With --config, kube-scheduler ignores --kubeconfig; without a kubeconfig it is the "
        "pod's service account, which a static pod does not have.",
        judge=_kubeconfig,
        lacks=needs.scheduler_pods,
    ),
    DoctorCheck(
        id="config-path",
        title="the file of --config is in the container",
        why="The scheduler does not start if its configuration is not where --config says.",
        judge=_config_path,
        lacks=needs.scheduler_pods,
    ),
    DoctorCheck(
        id="probe-port",
        title="probes ask a port that kube-scheduler serves",
        why="A liveness probe that fails restarts a scheduler that works; kube-scheduler serves "
        "HTTPS at port 10259 alone.",
        judge=_probe_port,
        lacks=needs.scheduler_pods,
    ),
    DoctorCheck(
        id="image-version",
        title="kube-scheduler's image fits the API server and the configuration",
        why="kube-scheduler may be one minor version older than the API server and never newer, "
        "and it has to know the format of its configuration.",
        judge=_image,
        lacks=needs.scheduler_pods,
    ),
)
