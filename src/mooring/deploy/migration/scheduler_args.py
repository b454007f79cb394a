"""The arguments of a kube-scheduler in a manifest: what they configure, and what they become.

Called by `migration` for the containers of Deployments and static pods. Flags that Kubernetes
removed become fields of the configuration file. A container that runs a shell has its arguments in
the string for ``sh -c``.
"""

import contextlib
from collections.abc import Iterable
from typing import Any, Final

import yaml

from mooring.deploy.container_programs import (
    KUBE_SCHEDULER,
    SWITCHES,
    Flag,
    container_programs,
)
from mooring.deploy.migration.container_words import EditedWords, ListedWords, ShellWords
from mooring.deploy.migration.notes import Notes
from mooring.deploy.migration.scheduler_flags import (
    CONFIG,
    FEATURE_GATES,
    FLAG_FIELDS,
    IGNORED_WITH_FILE,
    LEGACY_POLICY,
    LISTENING_FLAGS,
    LOCK,
    LOGGING_FLAGS,
    OLD_LOCKS,
    POLICY_CONFIG_MAP,
    POLICY_FILE,
    POLICY_FLAGS,
    PROVIDER,
    REMOVED_FLAGS,
    REMOVED_IN_TEXT,
)
from mooring.deploy.migration.texts import EditedText, field

_NUMBERS: Final = {"hardPodAffinitySymmetricWeight": int, "qps": float, "burst": int}


class SchedulerArgs:
    """The arguments of one kube-scheduler.

    Args:
        container: the container's node.
        flags: its flags.
        words: the words that their places are counted in.
        unclear: why the string for ``sh -c`` that they are in is not understood; empty if it is.
        unclear_text: that string.
    """

    def __init__(
        self,
        container: yaml.MappingNode,
        flags: Iterable[Flag],
        words: EditedWords,
        unclear: str = "",
        unclear_text: str = "",
    ) -> None:
        self.container = container
        self.unclear = unclear
        self._unclear_text = unclear_text
        self._words = words
        self._all_flags = tuple(flags)
        self._flags = {flag.name: flag for flag in self._all_flags}

    def value(self, flag: str) -> str:
        """The value of a flag; empty if it is not there."""
        found = self._flags.get(flag)
        return found.value if found is not None else ""

    @property
    def configures(self) -> bool:
        """Whether removed flags say how to schedule, which a file has to say now."""
        decisive = (*POLICY_FLAGS, *FLAG_FIELDS)
        return not self.value(CONFIG) and any(one in self._flags for one in decisive)

    @property
    def policy_flag(self) -> str:
        """The flag that names the Policy which counts; empty if none does."""
        # parity v1.22: cmd/kube-scheduler/app/options/deprecated.go, ApplyTo
        legacy = as_switch(self.value(LEGACY_POLICY) or "false")
        if self.value(POLICY_FILE) and (legacy or not self.value(POLICY_CONFIG_MAP)):
            return POLICY_FILE
        return POLICY_CONFIG_MAP if self.value(POLICY_CONFIG_MAP) else ""

    def as_configuration(self) -> dict[str, Any]:
        """What the flags say, as the fields of v1alpha1."""
        found: dict[str, Any] = {}
        for flag, path in (*FLAG_FIELDS.items(), *IGNORED_WITH_FILE.items()):
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
        gone = set(REMOVED_FLAGS) | (set(IGNORED_WITH_FILE) if config else set())
        taken = [name for name in self._flags if name in gone]
        removed: set[int] = set()
        replaced: dict[int, str] = {}
        for flag in self._all_flags:
            if flag.name not in gone:
                continue
            removed.update(flag.places)
            if config and flag.name in (*POLICY_FLAGS, *FLAG_FIELDS):
                removed.discard(flag.places[0])
                replaced[flag.places[0]] = f"--{CONFIG}={config}"
                config = ""
        old_lock = [one for one in self._all_flags if one.name == LOCK and one.value in OLD_LOCKS]
        for flag in old_lock:
            removed.update(flag.places[1:])
            replaced[flag.places[0]] = f"--{LOCK}=leases"
        if removed or replaced:
            self._words.edit(text, removed, replaced)
        self._say(taken, notes)
        if old_lock:
            notes.ask(
                "args",
                f"--{LOCK}={old_lock[-1].value} is now leases; schedulers that hold different "
                "locks do not see each other, so stop the old ones before you start the new ones",
            )
        return bool(taken or old_lock)

    def say_gates(self, notes: Notes) -> None:
        """Ask for a look at feature gates, whose names come and go with Kubernetes' versions."""
        if self.value(FEATURE_GATES):
            notes.ask(
                "args",
                f"--{FEATURE_GATES}={self.value(FEATURE_GATES)}: kube-scheduler ends if it does "
                "not know one of them; take out those that your version does not have",
            )

    def say_unclear(self, notes: Notes) -> None:
        """Ask for what can only be done by hand in a string for ``sh -c``."""
        if self.unclear:
            notes.ask(
                "command",
                f"the string for sh -c is left as it is, because {self.unclear}; replace in it "
                "the flags that say how to schedule by --config=FILE and take out the others "
                f"that Kubernetes removed: {self._removed_in_text()}",
            )
        elif isinstance(self._words, ShellWords) and self._words.expanded:
            notes.ask(
                "command",
                f"the shell sets {', '.join(self._words.expanded)}, which may hold flags that "
                "Kubernetes removed; see for yourself",
            )

    def _removed_in_text(self) -> str:
        found = (f"--{one[1]}" for one in REMOVED_IN_TEXT.finditer(self._unclear_text))
        return ", ".join(dict.fromkeys(found))

    def _say(self, taken: list[str], notes: Notes) -> None:
        policy = POLICY_FLAGS if self.value(CONFIG) and self.policy_flag else ()
        if policy:
            notes.say("args", f"{_listed([one for one in taken if one in policy])} removed")
        said = [one for one in taken if one not in (*LISTENING_FLAGS, *LOGGING_FLAGS, *policy)]
        if said:
            by = "is ignored beside --config" if self.value(CONFIG) else "is in the file now"
            notes.say("args", f"{_listed(said)} removed; what it says {by}")
        logging = [one for one in taken if one in LOGGING_FLAGS]
        if logging:
            notes.say("args", f"{_listed(logging)} removed; Kubernetes v1.26 has no such flag")
        ports = [f"--{one}={self.value(one)}" for one in LISTENING_FLAGS if one in taken]
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
    words = ListedWords([one for one in nodes if isinstance(one, yaml.SequenceNode)])
    image = field(container, "image")
    found = container_programs(str(image.value) if image is not None else "", words.values)
    schedulers = [one for one in found.programs if one.name == KUBE_SCHEDULER]
    if found.shell is None:
        return SchedulerArgs(container, schedulers[0].flags, words) if schedulers else None
    node, at = words.item(found.shell)
    shells = [ShellWords(node, at, one) for one in schedulers]
    if not found.problem and len(shells) == 1 and not shells[0].unknown:
        return SchedulerArgs(container, schedulers[0].flags, shells[0])
    text = words.values[found.shell]
    if not REMOVED_IN_TEXT.search(text) or (KUBE_SCHEDULER not in text and not schedulers):
        return None
    if found.problem:
        unclear = found.problem
    elif len(shells) > 1:
        unclear = "it starts several schedulers"
    else:
        unclear = f"the shell sets {shells[0].unknown}" if shells else "it starts something else"
    return SchedulerArgs(container, (), words, unclear, text)


def as_switch(value: str) -> bool:
    """The value of a flag that is true or false."""
    return value.lower() not in ("false", "0", "f")


def _put(found: dict[str, Any], path: tuple[str, ...], flag: Flag) -> None:
    *parents, last = path
    for parent in parents:
        found = found.setdefault(parent, {})
    value: Any = flag.value
    if flag.name in SWITCHES[KUBE_SCHEDULER]:
        value = as_switch(value)
    elif last in _NUMBERS:
        with contextlib.suppress(ValueError):  # the types of the configuration say what is wrong
            value = _NUMBERS[last](value)
    found[last] = value
