"""What the checks judge, as plain data: files, configurations, a policy, a cluster, probes.

`gathering` makes it, and tests do. Nothing here reads a file or a socket.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mooring.config.types import Extender
from mooring.deploy.doctor.findings import FindingPlace
from mooring.deploy.doctor.located_yaml import EditableDocument, Path

if TYPE_CHECKING:
    from mooring.config.profiles import Profile
    from mooring.framework.policy import Policy

#: Kinds that checks point to and that belong to no namespace.
_OF_NO_NAMESPACE: Final = frozenset({"ClusterRole", "ClusterRoleBinding", "Namespace", "Node"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundObject:
    """A Kubernetes object in a file or in the cluster.

    Attributes:
        data: the object.
        document: where its fields are; None for one of the cluster.
        documents: how many documents its file has.
    """

    data: Mapping[str, Any]
    document: EditableDocument | None = None
    documents: int = 1

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.data.get("kind", ""))

    @property
    def name(self) -> str:
        """Its name."""
        return str(mapping(self.data.get("metadata")).get("name") or "")

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(mapping(self.data.get("metadata")).get("namespace") or "default")

    @property
    def file(self) -> str:
        """Its file; empty for an object of the cluster."""
        return self.document.file if self.document is not None else ""

    @property
    def title(self) -> str:
        """What to call it."""
        if self.kind in _OF_NO_NAMESPACE:
            return f"{self.kind} {self.name}"
        return f"{self.kind} {self.namespace}/{self.name}"

    def place(self, path: Path = ()) -> FindingPlace:
        """Where a field of it is."""
        if self.document is None:
            return FindingPlace(subject=self.title)
        return FindingPlace(self.file, self.document.line(path), self.title)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundConfiguration:
    """A scheduler's configuration of whatever version, or a ``Policy``.

    Attributes:
        data: as it was written.
        document: where its fields are; None if that is not known.
        source: what to call it.
        owner: the ConfigMap that it is in, if it is in one.
        key: its key there.
    """

    data: Mapping[str, Any]
    document: EditableDocument | None = None
    source: str = ""
    owner: FoundObject | None = None
    key: str = ""

    @property
    def file(self) -> str:
        """The file that the user gave; empty for the cluster."""
        return self.document.file if self.document is not None else ""

    def place(self, path: Path = ()) -> FindingPlace:
        """Where a field of it is."""
        subject = f"{self.owner.title}, {self.key}" if self.owner is not None else ""
        if self.document is None:
            return FindingPlace(self.source if self.owner is None else "", 0, subject)
        return FindingPlace(self.document.file, self.document.line(path), subject)


class FoundExtender(NamedTuple):
    """An extender of a configuration.

    Attributes:
        settings: what it says, as far as it can be understood.
        configuration: where it is.
        number: its place in the list, counted from 0.
    """

    settings: Extender
    configuration: FoundConfiguration
    number: int

    @property
    def url(self) -> str:
        """Its address, without credentials."""
        scheme, separator, rest = self.settings.url_prefix.partition("://")
        host, slash, path = rest.partition("/")
        shown = f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}"
        return shown or "without an address"

    def place(self, name: str = "") -> FindingPlace:
        """Where it is, or a field of it."""
        path: tuple[str | int, ...] = ("extenders", self.number)
        return self.configuration.place((*path, name) if name else path)


class BrokenFile(NamedTuple):
    """A file, or a document of it, that is not YAML or no object.

    Attributes:
        file: its name.
        line: counted from 1.
        problem: what is wrong, a clause.
        is_yaml: it can be parsed, so it may be something else than a manifest.
    """

    file: str
    line: int
    problem: str
    is_yaml: bool = False


class VerbProbe(NamedTuple):
    """What an extender answered to one verb.

    Attributes:
        verb: the kind of verb: filter, prioritize, preempt or bind.
        status: the HTTP status; 0 if there was no answer.
        seconds: how long the slowest answer took.
        problem: what is wrong with the answer, or why there is none; empty if it is right.
        tls: whether `problem` is one of TLS.
        timed_out: whether there was no answer within the longest time that the doctor waits.
    """

    verb: str
    status: int = 0
    seconds: float = 0.0
    problem: str = ""
    tls: bool = False
    timed_out: bool = False


class ExtenderProbe(NamedTuple):
    """What one extender answered.

    Attributes:
        extender: which.
        verbs: its answers; empty if it could not be asked.
        skipped: why it was not asked; empty if it was.
        nodes: about how many nodes it was asked.
    """

    extender: FoundExtender
    verbs: tuple[VerbProbe, ...] = ()
    skipped: str = ""
    nodes: int = 0


class Permission(NamedTuple):
    """A verb on a resource; the resource may be ``pods/binding``.

    Attributes:
        name: of the one object that is needed; empty for all.
    """

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def target(self) -> str:
        """What the verb is for, such as ``leases.coordination.k8s.io in kube-system``."""
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f"{kind} {self.name}" if self.name else kind
        return f"{named} in {self.namespace}" if self.namespace else named


class PermissionAnswer(NamedTuple):
    """Whether somebody has a permission, as the API server says."""

    user: str
    permission: Permission
    allowed: bool
    program: str = "moor run"


class PodOutlook(NamedTuple):
    """On how many nodes a pod could run.

    Attributes:
        pod: what to call it.
        feasible: so many nodes pass all filters.
        nodes: so many nodes there are.
    """

    pod: str
    feasible: int
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterEvidence:
    """What a live cluster says of itself.

    Attributes:
        source: what to call it.
        problem: why it cannot be read; empty if it could.
        version: the API server's, such as ``v1.36.4``; empty if it is not known.
        skew_seconds: how far its clock is ahead of ours; None if it does not say.
        nodes: its nodes.
        pods: its pods.
        events: events about pods; empty if we may not read them.
        permissions: what was asked, and the answers.
        permissions_unknown: why nothing was asked.
        outlooks: of pods that the schedulers of the configuration place.
        unreadable: the permissions that we lack to read the rest of it.
    """

    source: str = ""
    problem: str = ""
    version: str = ""
    skew_seconds: float | None = None
    nodes: tuple[Mapping[str, Any], ...] = ()
    pods: tuple[Mapping[str, Any], ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()
    permissions: tuple[PermissionAnswer, ...] = ()
    permissions_unknown: str = ""
    outlooks: tuple[PodOutlook, ...] = ()
    unreadable: tuple[Permission, ...] = ()

    def may_read(self, resource: str, namespace: str = "", name: str = "") -> bool:
        """Whether nothing of this kind, or this object of it, was kept from us."""
        return not any(
            (one.resource, one.namespace, one.name) == (resource, namespace, name)
            for one in self.unreadable
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicyEvidence:
    """A policy in the profiles of a configuration.

    Attributes:
        policy: the policy.
        place: how the user named it.
        profiles: by scheduler name, built with it.
        extenders: those that score beside it.
    """

    policy: "Policy"
    place: str
    profiles: "Mapping[str, Profile]"
    extenders: tuple[Extender, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """Everything that checks may look at.

    Attributes:
        objects: of the manifests, and of the cluster where it runs schedulers.
        configurations: those given, and those found in ConfigMaps.
        broken: files and documents that cannot be read.
        files: the names of all files of the manifests, those that kubectl would not read included.
        static_files: which of them the kubelet reads as static pods.
        policy: the policy, if one was given.
        probes: what extenders answered; None if they were not asked.
        cluster: None if there is none.
        python: the version that runs.
        extenders: those of the configurations.
    """

    objects: tuple[FoundObject, ...] = ()
    configurations: tuple[FoundConfiguration, ...] = ()
    broken: tuple[BrokenFile, ...] = ()
    files: tuple[str, ...] = ()
    static_files: frozenset[str] = frozenset()
    policy: PolicyEvidence | None = None
    probes: tuple[ExtenderProbe, ...] | None = None
    cluster: ClusterEvidence | None = None
    python: tuple[int, int] = (3, 11)
    extenders: tuple[FoundExtender, ...] = ()

    def of_kind(self, *kinds: str) -> Iterator[FoundObject]:
        """The objects of some kinds."""
        return (one for one in self.objects if one.kind in kinds)

    def find(self, kind: str, namespace: str, name: str) -> FoundObject | None:
        """One object; None if it is not there."""
        for one in self.of_kind(kind):
            if (one.namespace, one.name) == (namespace, name):
                return one
        return None


def mapping(data: object) -> Mapping[str, Any]:
    """The data if they are an object, else an empty one: what people write may be anything."""
    return data if isinstance(data, Mapping) else {}


def sequence(data: object) -> list[Any]:
    """The data if they are a list, else an empty one."""
    return list(data) if isinstance(data, list | tuple) else []
