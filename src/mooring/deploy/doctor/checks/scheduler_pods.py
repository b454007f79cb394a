"""Checks of the containers that run a scheduler: their arguments, files, probes and images."""

from collections.abc import Iterator
from typing import Final

from mooring.config.types import API_VERSION
from mooring.deploy.container_programs import KUBE_SCHEDULER
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, mapping
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.image_versions import ImageVersions, is_own_build, minor_of_process
from mooring.deploy.doctor.schedulers import (
    SchedulerProcess,
    configuration_of,
    mounted,
    schedulers,
)
from mooring.deploy.doctor.usable_configuration import has_policy, is_old
from mooring.deploy.kubernetes_version import FIRST_V1, minor_of
from mooring.deploy.migration.scheduler_flags import (
    LOCK,
    LOGGING_FLAGS,
    OLD_LOCKS,
    POLICY_CONFIG_MAP,
    POLICY_FILE,
    REMOVED_FLAGS,
)
from mooring.deploy.static_pods import KUBEADM_KUBECONFIG
from mooring.version import KUBERNETES_VERSION

#: Removed arguments that are just taken out, or whose work a field does that says the same.
_INSTEAD: Final = {
    "address": "",
    "algorithm-provider": "",
    "failure-domains": "",
    "lock-object-name": "leaderElection.resourceName",
    "lock-object-namespace": "leaderElection.resourceNamespace",
    "port": "",
    "scheduler-name": "profiles[].schedulerName",
    "use-legacy-policy-config": "",
    **dict.fromkeys(LOGGING_FLAGS, ""),
}
_MIGRATE: Final = "moor migrate"
#: Arguments that name a Policy, without which there is nothing to migrate.
_POLICY_FLAGS: Final = (POLICY_FILE, POLICY_CONFIG_MAP)
_INSECURE_PORT, _SECURE_PORT = 10251, 10259
_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")
#: The last minor versions that have the arguments of the log library, and the other removed ones.
_LAST_LOGGING, _LAST_FLAGS = 25, 22
#: The last minor version with locks other than leases.
_LAST_LOCKS: Final = 26
_FROZEN_REGISTRY: Final = "k8s.gcr.io/"


def _kube_schedulers(evidence: Evidence) -> Iterator[SchedulerProcess]:
    return (one for one in schedulers(evidence) if one.program == KUBE_SCHEDULER)


def _removed_flags(evidence: Evidence) -> Iterator[DoctorFinding]:
    images = ImageVersions(evidence)
    for process in _kube_schedulers(evidence):
        owner = process.template.owner
        minor = minor_of_process(process)
        for name, (value, path) in process.flags.items():
            if name not in REMOVED_FLAGS:
                continue
            last = _LAST_LOGGING if name in LOGGING_FLAGS else _LAST_FLAGS
            has_it = minor is not None and minor <= last
            alone = process.word(name) in (f"--{name}", f"--{name}={value}")
            apart = alone and process.word(name) == f"--{name}" and value != "true"
            instead = _INSTEAD.get(name, _MIGRATE) if alone and not apart else _MIGRATE
            migrates = owner.file if instead == _MIGRATE else ""
            if name in _POLICY_FLAGS and not has_policy(evidence):
                migrates = ""
                advice = (
                    "Give the Policy, too, with another --manifest FILE: then --fix makes a "
                    "configuration of it."
                )
            elif migrates:
                advice = f"Run moor migrate --in-place {migrates}."
            elif instead:
                advice = f"Take it out, and write {instead} in the configuration of --config."
            else:
                advice = "Take it out."
            taken_out = instead != _MIGRATE and owner.document is not None
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING if has_it else DoctorSeverity.ERROR,
                what=f"Today's kube-scheduler has no argument --{name}; v1.{minor} has."
                if has_it
                else f"kube-scheduler has no argument --{name} any more and ends at once.",
                advice=images.newer_first(advice) if has_it or instead == _MIGRATE else advice,
                place=process.place(path),
                edits=owner.document.without_line(path)
                if taken_out and owner.document is not None
                else (),
                safe=not has_it and (not instead or (bool(migrates) and images.read_v1)),
                migrates=migrates,
            )


def _removed_locks(evidence: Evidence) -> Iterator[DoctorFinding]:
    images = ImageVersions(evidence)
    for process in _kube_schedulers(evidence):
        lock, minor = process.flag(LOCK), minor_of_process(process)
        if lock not in OLD_LOCKS:
            continue
        has_it = minor is not None and minor <= _LAST_LOCKS
        advice = (
            f"Write --{LOCK}=leases, and stop schedulers that hold the old lock before you start "
            "this one."
        )
        yield DoctorFinding(
            severity=DoctorSeverity.WARNING if has_it else DoctorSeverity.ERROR,
            what=f"Today's kube-scheduler has no lock {lock}; v1.{minor} may have."
            if has_it
            else f"kube-scheduler has no lock {lock} any more and ends at once.",
            advice=images.newer_first(advice) if has_it else advice,
            place=process.place(process.flags[LOCK][1]),
            edits=process.replaced_flag(LOCK, f"--{LOCK}=leases"),
        )


def _removed_arguments(evidence: Evidence) -> Iterator[DoctorFinding]:
    yield from _removed_flags(evidence)
    yield from _removed_locks(evidence)


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
                    advice=f"Write --kubeconfig={KUBEADM_KUBECONFIG}, and mount that file with "
                    "hostPath.",
                    place=process.place(),
                )
            continue
        if found is None or is_old(found):
            continue
        if mapping(found.data.get("clientConnection")).get("kubeconfig"):
            continue
        file = given or KUBEADM_KUBECONFIG
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
        name = where.config_map
        owner = process.template.owner
        config_map = evidence.find("ConfigMap", owner.namespace, name) if name else None
        if config_map is None and name:
            # Its name may be wrong, which another check says.
            found = configuration_of(evidence, process)
            config_map = found.owner if found is not None else None
        if config_map is None:
            continue
        keys = list(mapping(config_map.data.get("data")))
        if where.key in keys:
            continue
        fitting = [one.key for one in evidence.configurations if one.owner is config_map] or keys
        folder = file.rpartition("/")[0]
        new = f"--config={folder}/{fitting[0]}" if len(fitting) == 1 else ""
        yield DoctorFinding(
            what=f"ConfigMap {config_map.name} has no key {where.key}, so there is no file {file}.",
            advice=f"Write {new}." if new else f"Name one of its keys: {', '.join(keys)}.",
            place=process.place(flag_path),
            edits=process.replaced_flag("config", new) if new else (),
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
    server = minor_of(f":{version}")
    for process in _kube_schedulers(evidence):
        image = str(process.container.get("image", ""))
        minor = minor_of(image)
        found = configuration_of(evidence, process)
        wanted = f"registry.k8s.io/kube-scheduler:{version or KUBERNETES_VERSION}"
        older = "the version of your API server if that is older"
        own = is_own_build(image)
        if own:  # it may have plugins that Kubernetes' image does not have
            other = f", or {older}" if server is None else ""
            built = f"kube-scheduler {version or KUBERNETES_VERSION}{other}"
            advice = f"Build the image again with {built}, and write its new tag"
        else:
            advice = f"Write image: {wanted}" + (f", with {older}" if server is None else "")
        severity, what = DoctorSeverity.ERROR, ""
        if "hyperkube" in image:
            what = f"Nobody builds {image} any more: hyperkube ended with v1.18."
        elif minor is None:
            continue
        elif found is not None and not is_old(found) and minor < FIRST_V1:
            what = f"kube-scheduler v1.{minor} does not read {API_VERSION}, which came with v1.25."
        elif server is not None and minor > server:
            what = f"kube-scheduler v1.{minor} is newer than the API server, which is {version}."
        elif server is not None and minor < server - 1:
            what = f"kube-scheduler v1.{minor} is more than one version older than the API server."
        elif server is None and minor < FIRST_V1:
            severity = DoctorSeverity.WARNING  # it may be right beside what it has today
            what = (
                f"kube-scheduler v1.{minor} reads no configuration v1, which came with v1.25, and "
                "may be older than your API server."
            )
        elif image.startswith(_FROZEN_REGISTRY):
            severity = DoctorSeverity.WARNING
            what = "The registry k8s.gcr.io gets no new images; registry.k8s.io has taken over."
            wanted, own = image.replace(_FROZEN_REGISTRY, "registry.k8s.io/"), False
            advice = f"Write image: {wanted}"
        if what:
            owner = process.template.owner
            path = (*process.path, "image")
            yield DoctorFinding(
                severity=severity,
                what=what,
                advice=f"{advice}.",
                place=process.place(path),
                edits=owner.document.replaced(path, wanted)
                if owner.document is not None and not own
                else (),
            )


CHECKS: Final = (
    DoctorCheck(
        id="removed-flag",
        title="schedulers are started with arguments that exist",
        why="kube-scheduler ends when it does not know an argument, and its pod restarts forever.",
        judge=_removed_arguments,
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
        title="kube-scheduler's image fits the configuration and, if known, the API server",
        why="kube-scheduler may be one minor version older than the API server and never newer, "
        "and it has to know the format of its configuration.",
        judge=_image,
        lacks=needs.scheduler_pods,
    ),
)
