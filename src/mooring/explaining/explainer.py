"""One decision in full, for any pod on a given cluster.

`explain` is the library's call; `Explainer` keeps the cluster for many pods, for the command line
and the parity tool. Nothing is changed by asking: what was taken out of the state is put back.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from mooring.config.configuration import read_configuration
from mooring.config.policy_say import PolicySay, policy_say
from mooring.config.runtimes import build_profiles, build_runtime
from mooring.errors import InputError, PluginError
from mooring.explaining.suggestion import Suggestion
from mooring.explaining.suggestion_search import SuggestionSearch
from mooring.explaining.trial import Trial
from mooring.framework.decisions.record import Record
from mooring.framework.decisions.recording import record_decision
from mooring.framework.policy import Policy
from mooring.framework.runtime import Runtime
from mooring.model.changed_copies import with_spec
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry
from mooring.snapshot.object_reader import ObjectReader, Objects
from mooring.snapshot.snapshot import Snapshot

#: A pod: parsed JSON, a model object, or the ``namespace/name`` of one in the cluster.
PodLike = Pod | Mapping[str, Any] | str


class Explanation(msgspec.Struct, frozen=True):
    """A decision, and what would change it.

    Attributes:
        pod: the pod.
        record: the decision in full.
        bound_to: the node the pod is on already; it was asked about as if unscheduled.
        suggestions: if it does not fit, the smallest changes with which it does, each one tried.
        failed: plugins that could not say what would help; the suggestions are without them.
        say: how much of a node's total score the policy can decide; None without one that scores.
    """

    pod: Pod
    record: Record
    bound_to: str = ""
    suggestions: tuple[Suggestion, ...] = ()
    failed: tuple[PluginError, ...] = ()
    say: PolicySay | None = None


class Explainer:
    """Explains decisions on one cluster.

    Args:
        objects: the cluster.
        config: a parsed ``KubeSchedulerConfiguration``; None is the default one.
        policy: a policy that takes part beside the default plugins.
        pending: other pending pods, which count where they are nominated.
        now_ns: the clock, nanoseconds since 1970.
        before: called before each decision, those of what would help included; for a time limit.

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
    ) -> None:
        self._before = before
        self._registry = default_registry()
        self._policy = policy
        self._extenders = read_configuration(config).extenders
        policies = [policy] if policy is not None else []
        self.profiles = build_profiles(config, self._registry, policies)
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

    def explain(self, wanted: PodLike, node: str = "") -> Explanation:
        """Decide about a pod, and find out what would make it fit if it does not.

        Args:
            wanted: the pod.
            node: what would make it fit on this node, even if it fits elsewhere.

        Raises:
            InputError: there is no such pod or node, or something in the pod is wrong.
            PluginError: a plugin failed.
        """
        if node and node not in self.cluster.nodes:
            raise InputError(f"there is no node {node!r} among the objects")
        asked = self.pod(wanted)
        with self._unscheduled(asked) as pod:
            record = self._record(pod)
            rejected = node not in record.feasible if node else not record.feasible
            suggestions: list[Suggestion] = []
            search = SuggestionSearch(Trial(self.cluster, pod, self.runtime), self.profiles)
            if rejected or record.gated:
                suggestions = search.suggestions(record, node)
        bound = asked.node_name if asked.node_name != pod.node_name else ""
        return Explanation(
            pod,
            record,
            bound,
            tuple(suggestions),
            tuple(search.failed),
            self._say(pod.scheduler_name),
        )

    def runtime(self, scheduler_name: str) -> Runtime | None:
        """The plugins that decide for a scheduler name; None if there is no such profile."""
        self._before()
        if scheduler_name not in self._runtimes and scheduler_name in self.profiles:
            self._runtimes[scheduler_name] = build_runtime(
                self.profiles[scheduler_name], self._registry, self.cluster, self._now_ns
            )
        return self._runtimes.get(scheduler_name)

    def _say(self, scheduler_name: str) -> PolicySay | None:
        profile = self.profiles.get(scheduler_name)
        if self._policy is None or profile is None:
            return None
        return policy_say(self._policy, profile, self._extenders)

    @contextmanager
    def _unscheduled(self, pod: Pod) -> Iterator[Pod]:
        """The pod without a node; if it is on one in the cluster, it is off for a while."""
        known = self.cluster.pod(pod.namespace, pod.name)
        if known is None or not known.node_name:
            yield pod
            return
        self.cluster.remove_pod(known.key)
        try:
            yield with_spec(pod, node_name=None)
        finally:
            self.cluster.put_pod(known)

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
    """Decide where a pod goes, as kube-scheduler would, and note what every plugin said.

    Args:
        objects: the cluster: lists of objects by name (``nodes``, ``pods``, ...), or objects as
            parsed JSON or as model objects. They are treated as the API server would treat them.
        pod: the pod: parsed JSON, a model object, or the ``namespace/name`` of one of the objects;
            a pod that is on a node already is decided about as if unscheduled.
        config: a parsed ``KubeSchedulerConfiguration``; None is the default one.
        pending: other pending pods, which count where they are nominated.

    Raises:
        InputError: an object or the configuration cannot be used; the text says which and why.
        PluginError: a plugin failed.
    """
    return Explainer(objects, config, pending=pending).record(pod)
