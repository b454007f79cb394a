"""``KubeSchedulerConfiguration`` of every version before v1, as v1.

Called by `migration`, which also finds the Policy that a configuration names. Reads no files.
"""

from collections.abc import Callable
from typing import Any, Final

from mooring.config.strict_decoding import FieldProblem, decode_or_raise, raise_problems
from mooring.config.types import API_VERSION, DEFAULT_SCHEDULER, KIND
from mooring.deploy.migration import kubernetes_names as names
from mooring.deploy.migration.notes import Notes
from mooring.deploy.migration.old_extenders import extender_of_v1
from mooring.deploy.migration.old_profile import ProfileTranslation
from mooring.deploy.migration.old_types import FIELDS, OldConfiguration, PolicySource, misplaced
from mooring.deploy.migration.policy import PolicyTranslation
from mooring.deploy.migration.policy_types import read_policy
from mooring.deploy.migration.profile_writer import MULTI_POINT, ProfileWriter

#: Fields that v1 has under the same name.
_KEPT: Final = (
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
)
_LEASES: Final = "leases"

#: Finds the Policy that a configuration names; raises an InputError if it is not there.
FindPolicy = Callable[[PolicySource], dict[str, Any]]


class ConfigurationTranslation:
    """Makes v1 of one configuration.

    Args:
        data: the old configuration; its apiVersion is one of `FIELDS`.
        find_policy: finds the Policy that it names.
        notes: gets what there is to say.
        policy: the Policy that a flag names beside a version without ``algorithmSource``.
    """

    def __init__(
        self,
        data: dict[str, Any],
        find_policy: FindPolicy,
        notes: Notes,
        policy: PolicySource | None = None,
    ) -> None:
        self._version = str(data.get("apiVersion"))
        self._data = without_nulls(data)
        self._find_policy = find_policy
        self._notes = notes
        self._policy = policy
        self._extenders: list[dict[str, Any]] = []

    def translate(self) -> dict[str, Any]:
        """The configuration in v1.

        Raises:
            InputError: something in the old one is wrong.
        """
        old = self._checked()
        found: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
        found.update({name: self._data[name] for name in _KEPT if name in self._data})
        if "leaderElection" in found:
            found["leaderElection"] = self._leader_election(found["leaderElection"])
        self._addresses()
        found["profiles"] = self._profiles(old)
        if self._extenders:
            found["extenders"] = self._extenders
        return found

    def _checked(self) -> OldConfiguration:
        given = self._data.get("extenders")
        if isinstance(given, list):
            self._extenders = [
                extender_of_v1(one, f"extenders[{at}]", self._notes) for at, one in enumerate(given)
            ]
        raise_problems(misplaced(self._data, self._version))
        checked = {**self._data, "extenders": self._extenders} if given else self._data
        return decode_or_raise(OldConfiguration, checked, "")

    def _leader_election(self, given: dict[str, Any]) -> dict[str, Any]:
        found = dict(given)
        for old, new in (
            ("lockObjectName", "resourceName"),
            ("lockObjectNamespace", "resourceNamespace"),
        ):
            value = found.pop(old, "")
            if value and found.get(new, value) != value:
                text = f"{value!r} and {new} {found[new]!r} differ; keep the one that is right"
                raise_problems([FieldProblem(f"leaderElection.{old}", text)])
            if value:
                found[new] = value
                self._notes.say(f"leaderElection.{old}", f"is now called {new}")
        lock = found.get("resourceLock", _LEASES)
        if lock not in (_LEASES, ""):
            found["resourceLock"] = _LEASES
            self._notes.ask(
                "leaderElection.resourceLock",
                f"{lock} is now {_LEASES}; schedulers that hold different locks do not see each "
                "other, so stop the old ones before you start the new ones",
            )
        return found

    def _addresses(self) -> None:
        for name in ("healthzBindAddress", "metricsBindAddress"):
            value = str(self._data.get(name) or "")
            if not value or value.endswith(":0") or value == "0":
                continue
            host, _, port = value.rpartition(":") if ":" in value else (value, "", "")
            address = f"--bind-address={host} " if host else ""
            probes = f"probes of port {port}" if port else "probes"
            self._notes.ask(
                name,
                f"no equivalent ({value}): health and metrics are served over HTTPS alone; start "
                f"the scheduler with {address}--secure-port=10259 and change {probes} to port "
                "10259, scheme HTTPS",
            )

    def _profiles(self, old: OldConfiguration) -> list[dict[str, Any]]:
        if "profiles" in FIELDS[self._version]:
            given = self._data.get("profiles") or [{}]
        else:
            parts = ("schedulerName", "plugins", "pluginConfig")
            given = [{name: self._data[name] for name in parts if name in self._data}]
            given[0].setdefault("schedulerName", DEFAULT_SCHEDULER)
        return [
            self._profile(one, f"profiles[{at}]." if len(given) > 1 else "", old)
            for at, one in enumerate(given)
        ]

    def _profile(self, given: dict[str, Any], prefix: str, old: OldConfiguration) -> dict[str, Any]:
        profile = ProfileWriter(given.get("schedulerName"))
        notes = Notes()
        source = old.algorithm_source
        policy = source.policy or self._policy
        if policy is not None:
            self._by_policy(policy, given, profile, old.hard_pod_affinity_symmetric_weight)
        else:
            provider = self._provider(source.provider)
            ProfileTranslation(self._version, given, profile, notes, provider).translate()
            weight = old.hard_pod_affinity_symmetric_weight
            if weight is not None:
                args = profile.args(names.INTER_POD_AFFINITY)
                args.setdefault("hardPodAffinityWeight", weight)
        self._notes.add(notes, prefix)
        if old.disable_preemption:
            profile.disable(MULTI_POINT, names.PREEMPTION)
        if old.bind_timeout_seconds is not None:
            args = profile.args(names.VOLUME_BINDING)
            args.setdefault("bindTimeoutSeconds", old.bind_timeout_seconds)
        if old.failure_domains:
            self._notes.ask(
                "failureDomains",
                f"no equivalent ({old.failure_domains}): every term of podAffinity and "
                "podAntiAffinity names its topologyKey itself",
            )
        return profile.as_dict()

    def _provider(self, provider: str | None) -> str:
        known = (names.DEFAULT_PROVIDER, names.AUTOSCALER_PROVIDER)
        if not provider:
            return names.DEFAULT_PROVIDER
        if provider not in known:
            text = f"{provider!r} is not a provider of Kubernetes; write {' or '.join(known)}"
            raise_problems([FieldProblem("algorithmSource.provider", text)])
        return provider

    def _by_policy(
        self,
        source: PolicySource,
        given: dict[str, Any],
        profile: ProfileWriter,
        hard_weight: int | None,
    ) -> None:
        notes = Notes()
        policy, extenders = read_policy(without_nulls(self._find_policy(source)), notes)
        PolicyTranslation(policy, profile, notes, hard_weight).translate()
        self._notes.add(notes, "Policy ")
        if self._data.get("extenders"):
            self._notes.ask(
                "extenders",
                "left out, because Kubernetes took the extenders of a Policy instead; add them if "
                "you want them",
            )
        self._extenders = extenders
        if given.get("plugins") or given.get("pluginConfig"):
            self._notes.ask(
                "plugins",
                "left out, because Kubernetes did not read plugins and pluginConfig beside a "
                "Policy; add them to the profile if you want them",
            )


def policy_alone(data: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The configuration that does what a Policy did, for the default scheduler.

    Raises:
        InputError: something in the Policy is wrong.
    """
    policy, extenders = read_policy(without_nulls(data), notes)
    profile = ProfileWriter(DEFAULT_SCHEDULER)
    PolicyTranslation(policy, profile, notes).translate()
    found: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [profile.as_dict()],
    }
    if extenders:
        found["extenders"] = extenders
    return found


def without_nulls(data: Any) -> Any:
    """The same data without fields that are null, which means that they are absent."""
    if isinstance(data, dict):
        return {key: without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [without_nulls(one) for one in data]
    return data
