"""One decision in full, for any pod on a given cluster.

`explain` is the library's call; `Explainer` keeps the cluster for many pods, for the command line
and the parity tool. Nothing is changed by asking: what was taken out of the state is put back.
"""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from mooring.config.configuration import read_configuration
from mooring.config.policy_say import PolicySay, policy_say
from mooring.config.profiles import Profile
from mooring.config.registry import Registry
from mooring.config.runtimes import build_profiles, build_runtime
from mooring.errors import InputError, PluginError
from mooring.explaining.alike_nodes import AlikeNodes
from mooring.explaining.causes import PendingCause, causes
from mooring.explaining.node_standing import NodeStanding, standing_of
from mooring.explaining.rejection_details import RejectionDetails
from mooring.explaining.suggestion import Suggestion
from mooring.explaining.suggestion_search import SuggestionSearch
from mooring.explaining.trial import Trial, taken_off
from mooring.framework.decisions.record import Record
from mooring.framework.decisions.recording import record_decision
from mooring.framework.policy import Policy
from mooring.framework.runtime import Runtime
from mooring.model.changed_copies import with_spec
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry
from mooring.snapshot.object_reader import ObjectReader, Objects
from mooring.snapshot.snapshot import Snapshot
from mooring.state.cluster import Cluster

#: A pod: parsed JSON, a model object, or the ``namespace/name`` of one in the cluster.
PodLike = Pod | Mapping[str, Any] | str
#: Decides about a pod and notes everything that was said.
Decide = Callable[[Runtime, Pod], Record]


class Explanation(msgspec.Struct, frozen=True):
    """A decision, and what would change it.

    Attributes:
        pod: the pod.
        record: the decision in full.
        bound_to: the node the pod is on already; it was asked about as if unscheduled.
        groups: all nodes, by what the plugins say about them in detail.
        causes: why it is pending, the most important cause first.
        standing: how good the node is that the pod is on; None if it is on none.
        suggestions: if it does not fit, the smallest changes with which it does, each one tried.
        failed: plugins that could not give details or say what would help; it is without them.
        say: how much of a node's total score the policy can decide; None without one that scores.
    """

    pod: Pod
    record: Record
    bound_to: str = ""
    groups: tuple[AlikeNodes, ...] = ()
    causes: tuple[PendingCause, ...] = ()
    standing: NodeStanding | None = None
    suggestions: tuple[Suggestion, ...] = ()
    failed: tuple[PluginError, ...] = ()
    say: PolicySay | None = None

    @property
    def assumed(self) -> bool:
        """Whether the profile is another one than that of the pod's scheduler name."""
        return self.record.profile != self.pod.scheduler_name


class Explainer:
    """Explains decisions on one cluster.

    Args:
        objects: the cluster.
        config: a parsed ``KubeSchedulerConfiguration``; None for the default.
        policy: a policy that takes part beside the default plugins.
        pending: other pending pods, which count on their nominated nodes.
        now_ns: the clock, nanoseconds since 1970.
        before: called before each decision, those of what would help included; for a time limit.
        decide: makes the decision that is explained, asking extenders if they take part; what would
            help is found without them. None asks no extenders.

    Raises:
        InputError: an object or the configuration cannot be used.
    """

    def __init__(
        self,
        objects: Objects | Snapshot,
        config: Mapping[str, Any] | None = None,
        *,
        policy: Policy | None = None,
        pending: Iterable[Pod | Mapping[str, Any]] = (),
        now_ns: Callable[[], int] = lambda: 0,
        before: Callable[[], None] = lambda: None,
        decide: Decide | None = None,
    ) -> None:
        self._decide = decide or record_decision
        self.before = before
        self.registry = default_registry()
        self._policy = policy
        self._extenders = read_configuration(config).extenders
        policies = [policy] if policy is not None else []
        self.profiles = build_profiles(config, self.registry, policies)
        self.snapshot = _snapshot(objects)
        self.cluster = self.snapshot.build()
        self._now_ns = now_ns
        self._runtimes: dict[str, Runtime] = {}
        for one in pending:
            pod = self.pod(one)
            if pod.status.nominated_node_name:
                self.cluster.nominations.put(pod, pod.status.nominated_node_name)

    def pod(self, wanted: PodLike) -> Pod:
        """The pod that is meant, as the API server would have stored it.

        Raises:
            InputError: there is no such pod, or something in it is wrong.
        """
        if isinstance(wanted, str):
            namespace, slash, name = wanted.rpartition("/")
            found = self.cluster.pod(namespace if slash else "default", name)
            if found is None:
                raise InputError(f"there is no pod {wanted!r} among the objects")
            return found
        if not isinstance(wanted, Pod):
            wanted = Pod.from_dict(dict(wanted))
        return self.snapshot.stored(wanted)

    def record(self, wanted: PodLike) -> Record:
        """Decide about a pod and note everything that was said.

        A pod of the cluster that is on a node already is taken off for the time of the question.

        Raises:
            InputError: there is no such pod, or something in it is wrong.
            PluginError: a plugin failed.
        """
        with self._unscheduled(self.pod(wanted)) as pod:
            return self._record(pod)

    def explain(self, wanted: PodLike, node: str = "", profile: str = "") -> Explanation:
        """Decide about a pod, and find out what would make it fit if it does not.

        A scheduler name without a profile is no obstacle: the first profile decides, and the
        explanation says so (`Explanation.assumed`).

        Args:
            wanted: the pod.
            node: what would make it fit on this node, even if it fits elsewhere.
            profile: the scheduler name whose profile decides; the pod's own if empty.

        Raises:
            InputError: there is no such pod, node or profile, or something in the pod is wrong.
            PluginError: a plugin failed.
        """
        if node and node not in self.cluster.nodes:
            raise InputError(f"there is no node {node!r} among the objects")
        asked = self.pod(wanted)
        name = self._profile_of(asked, profile)
        with self._unscheduled(asked) as pod:
            record = self._decide(self.deciding(name), pod)
            details = RejectionDetails(self.deciding(name), pod, record)
            groups = details.groups()
            bound = asked.node_name if asked.node_name != pod.node_name else ""
            standing = self._standing(record, pod, bound, name) if bound else None
            rejected = node not in record.feasible if node else not record.feasible
            suggestions: list[Suggestion] = []
            search = SuggestionSearch(Trial(self.cluster, pod, lambda: self.deciding(name)))
            if rejected or record.gated:
                suggestions = search.suggestions(record, node, groups)
            nearest = suggestions[0].combination.node if suggestions else ""
            found = causes(record, groups, details, nearest)
        return Explanation(
            pod,
            record,
            bound,
            tuple(groups),
            tuple(found),
            standing,
            tuple(suggestions),
            (*details.failed, *search.failed),
            self._say(name),
        )

    def _standing(self, record: Record, pod: Pod, node: str, profile: str) -> NodeStanding:
        def decide(cluster: Cluster) -> Record:
            return record_decision(self.runtime_on(cluster, profile), pod)

        return standing_of(record, pod, node, self.cluster, decide)

    def _profile_of(self, pod: Pod, wanted: str) -> str:
        """The scheduler name whose profile decides about a pod."""
        if wanted and wanted not in self.profiles:
            known = ", ".join(self.profiles)
            raise InputError(f"there is no profile for the scheduler {wanted}, only for {known}")
        name = wanted or pod.scheduler_name
        return name if name in self.profiles else next(iter(self.profiles))

    def deciding(self, profile: str) -> Runtime:
        """The plugins of a profile that is there."""
        runtime = self.runtime(profile)
        assert runtime is not None  # noqa: S101 - the profile is there
        return runtime

    def runtime(self, scheduler_name: str) -> Runtime | None:
        """The plugins that decide for a scheduler name; None if there is no such profile."""
        self.before()
        if scheduler_name not in self._runtimes and scheduler_name in self.profiles:
            self._runtimes[scheduler_name] = build_runtime(
                self.profiles[scheduler_name], self.registry, self.cluster, self._now_ns
            )
        return self._runtimes.get(scheduler_name)

    def _say(self, scheduler_name: str) -> PolicySay | None:
        profile = self.profiles.get(scheduler_name)
        if self._policy is None or profile is None:
            return None
        return policy_say(self._policy, profile, self._extenders)

    def on(
        self,
        cluster: Cluster,
        profiles: Mapping[str, Profile] | None = None,
        registry: Registry | None = None,
    ) -> "Explainer":
        """An explainer of another cluster, such as a fork of this one.

        Args:
            cluster: the other cluster.
            profiles: the plugins that decide there; None for the same.
            registry: makes these plugins; None for the same.
        """
        other = copy.copy(self)
        other.cluster = cluster
        other.profiles = self.profiles if profiles is None else dict(profiles)
        other.registry = self.registry if registry is None else registry
        other._runtimes = {}  # noqa: SLF001 - one of its own
        return other

    def runtime_on(self, cluster: Cluster, profile: str) -> Runtime:
        """The plugins of a profile, made for another cluster such as a fork of this one."""
        self.before()
        return build_runtime(self.profiles[profile], self.registry, cluster, self._now_ns)

    @contextmanager
    def _unscheduled(self, pod: Pod) -> Iterator[Pod]:
        """The pod without a node; if it is on one in the cluster, it is off for a while."""
        known = self.cluster.pod(pod.namespace, pod.name)
        if known is None or not known.node_name:
            yield pod
            return
        with taken_off(self.cluster, known):
            yield with_spec(pod, node_name=None)

    def _record(self, pod: Pod) -> Record:
        runtime = self.runtime(pod.scheduler_name)
        if runtime is not None:
            return record_decision(runtime, pod)
        return Record(
            pod=pod.key,
            profile=pod.scheduler_name,
            priority=pod.priority,
            nodes=self.cluster.columns.names,
            error=f"no profile for scheduler name {json.dumps(pod.scheduler_name)}",
        )


def _snapshot(objects: Objects | Snapshot) -> Snapshot:
    if isinstance(objects, Snapshot):
        return objects
    snapshot = Snapshot()
    ObjectReader(snapshot).read(objects)
    return snapshot


def explain(
    objects: Objects,
    pod: PodLike,
    config: Mapping[str, Any] | None = None,
    pending: Iterable[Pod | Mapping[str, Any]] = (),
) -> Record:
    """Decide where a pod goes, as kube-scheduler would, and record the results of all plugins.

    Args:
        objects: the cluster: lists of objects by name (``nodes``, ``pods``, ...), or objects as
            parsed JSON or as model objects. Defaults are applied as the API server would.
        pod: the pod: parsed JSON, a model object, or the ``namespace/name`` of one of the objects;
            a pod that is already on a node is evaluated as if unscheduled.
        config: a parsed ``KubeSchedulerConfiguration``; None for the default.
        pending: other pending pods, which count on their nominated nodes.

    Raises:
        InputError: an object or the configuration is invalid; the message says which and why.
        PluginError: a plugin failed.
    """
    return Explainer(objects, config, pending=pending).record(pod)
