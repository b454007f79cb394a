"""All pending pods of a cluster: why they are pending, and which single change would help most.

Pods of one template are explained once. A change is tried as a scheduler would see it: it is made
on a fork of the cluster, and the pods are placed there one after the other, the most important
first, so that pods which need the same room do not all count. Called by the command line; nothing
on the cluster itself is changed.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from mooring.errors import PluginError
from mooring.explaining.changed_templates import carry_out, changed_pod, claims_key, place
from mooring.explaining.explainer import Explainer, Explanation
from mooring.explaining.suggestion import Combination
from mooring.explaining.suggestion_search import SuggestionSearch
from mooring.explaining.trial import Trial
from mooring.framework.runtime import Runtime
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.wording import counted, natural_key

#: So many changes are tried, those that were suggested for most pods.
_CHANGES: Final = 6
#: With each change so many pods are placed.
_PLACED: Final = 500
#: Labels that controllers give each pod for itself.
_OWN_LABELS: Final = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "statefulset.kubernetes.io/pod-name",
    }
)


class PendingGroup(NamedTuple):
    """Pods that are pending for the same reason.

    Attributes:
        plugin: who rejects them; empty if the scheduler itself does.
        reasons: why, in the words of events.
        text: the cause for the first pod, as a clause about it.
        pods: the pods, as ``namespace/name``, the most important first.
    """

    plugin: str
    reasons: tuple[str, ...]
    text: str
    pods: tuple[str, ...]


class FittingPod(NamedTuple):
    """A pending pod that fits: as ``namespace/name``, and the scheduler that it waits for."""

    key: str
    scheduler: str


class HelpfulChange(NamedTuple):
    """A change that was tried.

    Attributes:
        text: what to do.
        caution: what to think of before; empty if it does no harm.
        pods: the pods that get a node then, as ``namespace/name``.
    """

    text: str
    caution: str
    pods: tuple[str, ...]


class PendingReport(msgspec.Struct, frozen=True):
    """All pending pods.

    Attributes:
        fitting: the pods that fit now: a scheduler has not come to them yet.
        groups: the others by why they are pending, the largest group first.
        changes: what would help, most pods first.
        left_out: with each change at most so many pods were placed; 0 if that was enough.
        failed: plugins that could not give details or say what would help.
    """

    fitting: tuple[FittingPod, ...]
    groups: tuple[PendingGroup, ...]
    changes: tuple[HelpfulChange, ...]
    left_out: int = 0
    failed: tuple[PluginError, ...] = ()

    @property
    def pending(self) -> int:
        """How many pods are pending and do not fit."""
        return sum(len(one.pods) for one in self.groups)


class _Template(NamedTuple):
    """Pods that are alike, with the explanation for the first of them."""

    pods: list[Pod]
    found: Explanation


class _Change(NamedTuple):
    """A combination of remedies, for each template that has one of this kind."""

    text: str
    caution: str
    by_template: dict[int, Combination]


def pending_report(
    explainer: Explainer, pods: Iterable[Pod], profile: str = "", *, changes: bool = True
) -> PendingReport:
    """Explain all pending pods.

    Args:
        explainer: the cluster.
        pods: the pending pods.
        profile: the scheduler name whose profile decides; each pod's own if empty.
        changes: look for what would help, which takes longer.

    Raises:
        InputError: there is no such profile, or something in a pod is wrong.
        PluginError: a plugin failed.
    """
    ordered = sorted(pods, key=lambda pod: (-pod.priority, _created(pod), natural_key(pod.key)))
    templates = [
        _Template(alike, explainer.explain(alike[0], profile=profile))
        for alike in _by_template(explainer.cluster, ordered)
    ]
    fitting = [
        FittingPod(pod.key, pod.scheduler_name)
        for one in templates
        if one.found.record.selected
        for pod in one.pods
    ]
    stuck = [one for one in templates if not one.found.record.selected]
    found: list[HelpfulChange] = []
    number = sum(len(one.pods) for one in stuck)
    if changes and stuck:
        tried = _TriedChanges(explainer, stuck)
        found = sorted(tried.all(), key=lambda one: -len(one.pods))
    return PendingReport(
        tuple(fitting),
        tuple(_groups(stuck)),
        tuple(one for one in found if one.pods),
        left_out=max(0, number - _PLACED) if found else 0,
        failed=tuple(error for one in templates for error in one.found.failed),
    )


def _by_template(cluster: Cluster, pods: Sequence[Pod]) -> list[list[Pod]]:
    alike: dict[object, list[Pod]] = {}
    for pod in pods:
        gates = tuple(one.name for one in pod.spec.scheduling_gates or ())
        claims = tuple(
            one.claim_for(pod.name) for one in pod.spec.volumes or () if one.claim_for(pod.name)
        )
        labels = {key: value for key, value in pod.labels.items() if key not in _OWN_LABELS}
        key = (
            cluster.shape_of(replace(pod, metadata=replace(pod.metadata, labels=labels))),
            pod.priority,
            pod.scheduler_name,
            pod.status.nominated_node_name,
            gates,
            claims,
            claims_key(cluster, pod),
        )
        alike.setdefault(key, []).append(pod)
    return list(alike.values())


def _groups(templates: Sequence[_Template]) -> list[PendingGroup]:
    found: dict[tuple[str, tuple[str, ...]], PendingGroup] = {}
    for one in templates:
        record = one.found.record
        if one.found.causes:
            cause = one.found.causes[0]
            plugin, reasons, text = cause.plugin, cause.reasons, cause.text
        else:
            plugin, reasons, text = "", (record.message,), record.message
        keys = tuple(pod.key for pod in one.pods)
        known = found.get((plugin, reasons))
        if known is None:
            known = PendingGroup(plugin, reasons, text, ())
        found[plugin, reasons] = known._replace(pods=(*known.pods, *keys))
    return sorted(found.values(), key=lambda one: -len(one.pods))


class _TriedChanges:
    """Tries changes on forks of the cluster.

    Args:
        explainer: the cluster.
        templates: the pods that do not fit.
    """

    def __init__(self, explainer: Explainer, templates: Sequence[_Template]) -> None:
        self._explainer = explainer
        self._templates = templates
        self._queue = sorted(
            ((pod, number) for number, one in enumerate(templates) for pod in one.pods),
            key=lambda one: (-one[0].priority, _created(one[0]), one[0].key),
        )[:_PLACED]

    def all(self) -> list[HelpfulChange]:
        """The changes that were suggested for most pods, each with the pods it helps."""
        candidates = sorted(self._candidates(), key=self._pods, reverse=True)
        return [
            HelpfulChange(_told(one), one.caution, tuple(self._helped(one)))
            for one in candidates[:_CHANGES]
        ]

    def _candidates(self) -> list[_Change]:
        found: dict[object, _Change] = {}
        for number, one in enumerate(self._templates):
            for combination in self._combinations(one.found):
                of_pod = all(remedy.pod is not None for remedy in combination.remedies)
                # Templates may be changed alike; a change of the cluster is one for all pods.
                key: object = combination.kinds if of_pod else combination.text
                known = found.setdefault(key, _Change(combination.text, combination.caution, {}))
                known.by_template.setdefault(number, combination)
        return list(found.values())

    def _combinations(self, found: Explanation) -> list[Combination]:
        combinations = [one.combination for one in found.suggestions]
        if not any(remedy.added for one in combinations for remedy in one.remedies):
            explainer, profile = self._explainer, found.record.profile
            trial = Trial(explainer.cluster, found.pod, lambda: explainer.deciding(profile))
            new = SuggestionSearch(trial).new_node()
            if new is not None:
                combinations.append(new.combination)
        return combinations

    def _pods(self, change: _Change) -> int:
        return sum(len(self._templates[number].pods) for number in change.by_template)

    def _helped(self, change: _Change) -> list[str]:
        """The pods that get a node, if all are placed one after the other."""
        cluster = self._explainer.cluster.fork()
        runtimes: dict[str, Runtime] = {}
        for number, combination in change.by_template.items():
            carry_out(combination, self._templates[number].pods, cluster)
        helped = []
        for pod, number in self._queue:
            found = self._templates[number].found
            combination_of_pod = change.by_template.get(number)
            changed = changed_pod(combination_of_pod, pod) if combination_of_pod else pod
            runtime = runtimes.get(found.record.profile)
            if runtime is None:
                runtime = self._explainer.runtime_on(cluster, found.record.profile)
                runtimes[found.record.profile] = runtime
            if place(runtime, changed):
                helped.append(pod.key)
        return helped


def _told(change: _Change) -> str:
    """What to do; templates that are changed alike may differ in amounts."""
    texts = {one.text for one in change.by_template.values()}
    others = len(change.by_template) - 1
    likewise = f", and likewise for {counted(others, 'other kind')} of pods"
    return change.text + (likewise if len(texts) > 1 else "")


def _created(pod: Pod) -> str:
    return pod.metadata.creation_timestamp or ""
