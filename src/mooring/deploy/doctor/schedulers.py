"""The schedulers and extenders that manifests start, and how their parts belong together.

Checks ask it: which containers run kube-scheduler or ``moor``, with which arguments, which
configuration is behind ``--config``, which Service and which pods are behind an extender's address.
No I/O.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.container_programs import MOOR_SERVE, SWITCHES
from mooring.deploy.doctor.evidence import (
    Evidence,
    FoundConfiguration,
    FoundExtender,
    FoundObject,
    mapping,
    sequence,
)
from mooring.deploy.doctor.findings import Edit, FindingPlace
from mooring.deploy.doctor.program_flags import ProgramFlags, programs_of
from mooring.deploy.mounted_files import MountedFile, mounted_file

#: Where the template of a pod is in the objects that make pods.
_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "Pod": (),
    "Deployment": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class PodTemplate(NamedTuple):
    """A pod, or what an object makes pods of.

    Attributes:
        owner: the object.
        path: where the pod's spec is in it.
        spec: the pod's spec.
        labels: the pod's labels.
    """

    owner: FoundObject
    path: tuple[str | int, ...]
    spec: Mapping[str, Any]
    labels: Mapping[str, Any]

    @property
    def replicas(self) -> int:
        """How many pods there are."""
        if self.owner.kind in ("Pod", "Job", "CronJob"):
            return 1
        found = mapping(self.owner.data.get("spec")).get("replicas", 1)
        return found if isinstance(found, int) else 1

    @property
    def scheduler_name(self) -> str:
        """Which scheduler places it."""
        return str(self.spec.get("schedulerName") or DEFAULT_SCHEDULER)

    def containers(self) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
        """Its containers with their paths, sidecars included."""
        for group in ("containers", "initContainers"):
            for index, one in enumerate(sequence(self.spec.get(group))):
                if isinstance(one, Mapping):
                    yield (*self.path, group, index), one


class SchedulerProcess(NamedTuple):
    """A container that runs a scheduler or mooring's extender.

    Attributes:
        template: the pod.
        container: the container.
        path: where it is in the object.
        program: `KUBE_SCHEDULER`, `MOOR_RUN` or `MOOR_SERVE`.
        flags: the arguments by name without dashes, with the path of each.
        in_shell: whether they are words of a string for ``sh -c``, which is at that path.
    """

    template: PodTemplate
    container: Mapping[str, Any]
    path: tuple[str | int, ...]
    program: str
    flags: ProgramFlags
    in_shell: bool = False

    def flag(self, name: str) -> str | None:
        """The value of an argument; None if it is not given."""
        found = self.flags.get(name)
        return found[0] if found is not None else None

    def place(self, path: tuple[str | int, ...] = ()) -> FindingPlace:
        """Where it is, or something in its object."""
        return self.template.owner.place(path or self.path)

    def word(self, name: str) -> str:
        """The item of ``command`` or ``args`` that a flag is in."""
        path = self.flags[name][1]
        return str(sequence(self.container.get(str(path[-2])))[int(path[-1])])

    def replaced_flag(self, name: str, new: str) -> tuple[Edit, ...]:
        """The edit that writes another word for a flag; none if it is not a word of its own."""
        document = self.template.owner.document
        alone = "=" in self.word(name) or name in SWITCHES[self.program]
        if document is None or self.in_shell or not alone:
            return ()
        return document.replaced(self.flags[name][1], new)


def templates(evidence: Evidence) -> Iterator[PodTemplate]:
    """All pods and templates of pods."""
    for one in evidence.objects:
        path = _TEMPLATES.get(one.kind)
        if path is None:
            continue
        found: Any = one.data
        for step in path:
            found = mapping(found).get(step)
        pod = mapping(found)
        labels = mapping(mapping(pod.get("metadata")).get("labels"))
        yield PodTemplate(one, (*path, "spec"), mapping(pod.get("spec")), labels)


def processes(evidence: Evidence) -> Iterator[SchedulerProcess]:
    """All containers that run a scheduler or mooring."""
    for template in templates(evidence):
        for path, container in template.containers():
            for program, flags, in_shell in programs_of(container, path):
                yield SchedulerProcess(template, container, path, program, flags, in_shell)


def schedulers(evidence: Evidence) -> Iterator[SchedulerProcess]:
    """All containers that run a scheduler."""
    return (one for one in processes(evidence) if one.program != MOOR_SERVE)


def mounted(process: SchedulerProcess, file: str) -> MountedFile | None:
    """Where a scheduler finds a file; None if no volume is mounted there."""
    return mounted_file(process.template.spec, process.container, file)


def configuration_of(evidence: Evidence, process: SchedulerProcess) -> FoundConfiguration | None:
    """The configuration behind ``--config``; None if it is not among the evidence."""
    file = process.flag("config")
    if file is None:
        return None
    where = mounted(process, file)
    namespace = process.template.owner.namespace
    for one in evidence.configurations:
        if one.owner is None or where is None:
            continue
        wanted = (namespace, where.config_map, where.key)
        if (one.owner.namespace, one.owner.name, one.key) == wanted:
            return one
    # A file of the host, or of a ConfigMap that kubectl makes of files.
    alone = [one for one in evidence.configurations if one.owner is None]
    named = [one for one in alone if PurePosixPath(one.file).name == PurePosixPath(file).name]
    if len(named) == 1:
        return named[0]
    # One scheduler and one configuration belong together, even if a name in between is wrong.
    rest = alone or list(evidence.configurations)
    return rest[0] if len(rest) == 1 and len(list(schedulers(evidence))) == 1 else None


def scheduler_names(configuration: FoundConfiguration | None) -> list[str]:
    """The names that a configuration serves, whatever its version."""
    if configuration is None:
        return [DEFAULT_SCHEDULER]
    data = configuration.data
    names = [
        str(mapping(one).get("schedulerName") or DEFAULT_SCHEDULER)
        for one in sequence(data.get("profiles"))
    ]
    return names or [str(data.get("schedulerName") or DEFAULT_SCHEDULER)]


def names_of(evidence: Evidence, process: SchedulerProcess) -> list[str]:
    """The names that a scheduler serves."""
    given = process.flag("scheduler-name")
    found = configuration_of(evidence, process)
    if found is None and process.flag("config") is not None:
        return []  # nobody knows
    return [given] if given and found is None else scheduler_names(found)


def host_of(extender: FoundExtender) -> tuple[str, int]:
    """The host and the port of an extender's address."""
    try:
        parts = urlsplit(extender.settings.url_prefix)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "", 0
    return host, port or (443 if parts.scheme == "https" else 80)


def is_local(extender: FoundExtender) -> bool:
    """Whether the address is that of the scheduler's own pod or host."""
    return host_of(extender)[0] in _LOCAL


def service_of(evidence: Evidence, extender: FoundExtender) -> FoundObject | None:
    """The Service that an extender's address names, or whose port of the host it has."""
    host, port = host_of(extender)
    if is_local(extender):
        for one in evidence.of_kind("Service"):
            ports = sequence(mapping(one.data.get("spec")).get("ports"))
            if any(mapping(each).get("nodePort") == port for each in ports):
                return one
        return None
    name, _, rest = host.partition(".")
    namespace = rest.partition(".")[0]
    for one in evidence.of_kind("Service"):
        if one.name == name and namespace in ("", one.namespace):
            return one
        if mapping(one.data.get("spec")).get("clusterIP") == host:
            return one
    return None


def pods_behind(evidence: Evidence, service: FoundObject) -> Iterator[PodTemplate]:
    """The pods that a Service selects."""
    selector = mapping(mapping(service.data.get("spec")).get("selector"))
    for template in templates(evidence):
        near = bool(selector) and template.owner.namespace == service.namespace
        if near and all(template.labels.get(key) == value for key, value in selector.items()):
            yield template
