"""The arguments of a kube-scheduler in a manifest: what they configure, and what they become.

Called by `migration` for the containers of Deployments and static pods. Flags that Kubernetes
removed become fields of the configuration file.
"""

import contextlib
from typing import Any, Final, NamedTuple

import yaml

from mooring.deploy.migration.notes import Notes
from mooring.deploy.migration.texts import EditedText, field

#: Removed flags that say where a Policy is or what else decides.
POLICY_FILE: Final = "policy-config-file"
POLICY_CONFIG_MAP: Final = "policy-configmap"
POLICY_NAMESPACE: Final = "policy-configmap-namespace"
LEGACY_POLICY: Final = "use-legacy-policy-config"
PROVIDER: Final = "algorithm-provider"
CONFIG: Final = "config"
_POLICY_FLAGS: Final = (POLICY_FILE, POLICY_CONFIG_MAP, POLICY_NAMESPACE, LEGACY_POLICY, PROVIDER)
#: Removed flags by the field of v1alpha1 that says the same.
_FIELDS: Final = {
    "scheduler-name": ("schedulerName",),
    "hard-pod-affinity-symmetric-weight": ("hardPodAffinitySymmetricWeight",),
    "failure-domains": ("failureDomains",),
    "lock-object-name": ("leaderElection", "lockObjectName"),
    "lock-object-namespace": ("leaderElection", "lockObjectNamespace"),
}
#: Flags that kube-scheduler still has and ignores if it gets a configuration file.
_IGNORED_WITH_FILE: Final = {
    "kubeconfig": ("clientConnection", "kubeconfig"),
    "kube-api-content-type": ("clientConnection", "contentType"),
    "kube-api-qps": ("clientConnection", "qps"),
    "kube-api-burst": ("clientConnection", "burst"),
    "profiling": ("enableProfiling",),
    "contention-profiling": ("enableContentionProfiling",),
}
_LISTENING: Final = ("address", "port")
#: Flags of the log library that Kubernetes removed in v1.26.
_LOGGING: Final = (
    "add-dir-header",
    "alsologtostderr",
    "log-backtrace-at",
    "log-dir",
    "log-file",
    "log-file-max-size",
    "logtostderr",
    "one-output",
    "skip-headers",
    "skip-log-headers",
    "stderrthreshold",
)
_REMOVED: Final = frozenset((*_POLICY_FLAGS, *_FIELDS, *_LISTENING, *_LOGGING))
_SWITCHES: Final = frozenset(
    {LEGACY_POLICY, "profiling", "contention-profiling", "leader-elect"} | set(_LOGGING)
)
_NUMBERS: Final = {"hardPodAffinitySymmetricWeight": int, "qps": float, "burst": int}


class Flag(NamedTuple):
    """One flag of a command line.

    Attributes:
        name: without the dashes.
        value: empty for a switch.
        items: the places in the list of words that it takes.
    """

    name: str
    value: str
    items: tuple[int, ...]


class Words:
    """A list of words in a manifest: a container's ``command`` or ``args``."""

    def __init__(self, node: yaml.SequenceNode) -> None:
        self.node = node
        self.items: list[yaml.Node] = list(node.value)
        self.words = [str(one.value) for one in self.items]

    def flags(self) -> list[Flag]:
        """The flags among the words."""
        found = []
        for at, word in enumerate(self.words):
            if not word.startswith("-") or word in ("-", "--"):
                continue
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("_", "-")
            items: tuple[int, ...] = (at,)
            after = self.words[at + 1] if at + 1 < len(self.words) else "-"
            if not equals and name not in _SWITCHES and not after.startswith("-"):
                value, items = after, (at, at + 1)
            found.append(Flag(name, value, items))
        return found


class SchedulerArgs:
    """The arguments of one kube-scheduler.

    Args:
        container: the container's node.
        lists: the lists of words that hold the arguments.
    """

    def __init__(self, container: yaml.MappingNode, lists: list[Words]) -> None:
        self.container = container
        self._lists = lists
        self._flags = {flag.name: flag for words in lists for flag in words.flags()}

    def value(self, flag: str) -> str:
        """The value of a flag; empty if it is not there."""
        found = self._flags.get(flag)
        return found.value if found is not None else ""

    @property
    def configures(self) -> bool:
        """Whether removed flags say how to schedule, which a file has to say now."""
        decisive = (*_POLICY_FLAGS, *_FIELDS)
        return not self.value(CONFIG) and any(one in self._flags for one in decisive)

    @property
    def names_policy(self) -> bool:
        """Whether a flag names a Policy."""
        return bool(self.value(POLICY_FILE) or self.value(POLICY_CONFIG_MAP))

    def as_configuration(self) -> dict[str, Any]:
        """What the flags say, as the fields of v1alpha1."""
        found: dict[str, Any] = {}
        for flag, path in (*_FIELDS.items(), *_IGNORED_WITH_FILE.items()):
            if flag in self._flags:
                _put(found, path, self._flags[flag])
        if self.value(PROVIDER):
            found["algorithmSource"] = {"provider": self.value(PROVIDER)}
        return found

    def rewrite(self, text: EditedText, config: str, notes: Notes) -> bool:
        """Take removed flags out; the first of them becomes ``--config`` if there is a new file.

        Args:
            text: the manifest.
            config: the path of a file that the scheduler did not have before; empty for none.
            notes: gets what there is to say.

        Returns:
            Whether anything changed.
        """
        gone = set(_REMOVED) | (set(_IGNORED_WITH_FILE) if config else set())
        taken = [name for name in self._flags if name in gone]
        for words in self._lists:
            removed: set[int] = set()
            replaced: dict[int, str] = {}
            for flag in words.flags():
                if flag.name not in gone:
                    continue
                removed.update(flag.items)
                if config and flag.name in (*_POLICY_FLAGS, *_FIELDS):
                    removed.discard(flag.items[0])
                    replaced[flag.items[0]] = f"--{CONFIG}={config}"
                    config = ""
            if removed or replaced:
                text.edit_items(words.node, removed, replaced)
        self._say(taken, notes)
        return bool(taken)

    def _say(self, taken: list[str], notes: Notes) -> None:
        said = [one for one in taken if one not in (*_LISTENING, *_LOGGING)]
        if said:
            by = "is ignored beside --config" if self.value(CONFIG) else "is in the file now"
            notes.say("args", f"{_listed(said)} removed; what it says {by}")
        logging = [one for one in taken if one in _LOGGING]
        if logging:
            notes.say("args", f"{_listed(logging)} removed; Kubernetes v1.26 has no such flag")
        ports = [f"--{one}={self.value(one)}" for one in _LISTENING if one in taken]
        if ports and self.value("port") != "0":
            notes.ask(
                "args",
                f"{' '.join(ports)} removed: health and metrics are served over HTTPS alone; use "
                "--bind-address and --secure-port, and change probes to port 10259, scheme HTTPS",
            )


def _listed(flags: list[str]) -> str:
    return ", ".join(f"--{one}" for one in flags)


def scheduler_args(container: yaml.Node) -> SchedulerArgs | None:
    """The arguments of a container that runs a kube-scheduler; None for another container."""
    if not isinstance(container, yaml.MappingNode):
        return None
    nodes = (field(container, name) for name in ("command", "args"))
    lists = [Words(one) for one in nodes if isinstance(one, yaml.SequenceNode)]
    words = [word for one in lists for word in one.words]
    image = field(container, "image")
    name = str(image.value).rpartition("/")[2] if image is not None else ""
    programs = {word.rpartition("/")[2] for word in words[:2]}
    if "kube-scheduler" in programs | {name.partition(":")[0]} or (
        "hyperkube" in name and "scheduler" in programs
    ):
        return SchedulerArgs(container, lists)
    found = SchedulerArgs(container, lists)
    return found if found.names_policy else None


def _put(found: dict[str, Any], path: tuple[str, ...], flag: Flag) -> None:
    *parents, last = path
    for parent in parents:
        found = found.setdefault(parent, {})
    value: Any = flag.value
    if flag.name in _SWITCHES:
        value = value.lower() not in ("false", "0", "f")
    elif last in _NUMBERS:
        with contextlib.suppress(ValueError):  # the types of the configuration say what is wrong
            value = _NUMBERS[last](value)
    found[last] = value
