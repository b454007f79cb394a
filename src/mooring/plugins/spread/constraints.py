"""Topology spread constraints as the plugin uses them, and the defaults for pods that have none.

Owns how a pod's constraints, or the profile's default constraints with the selector of the pod's
services and controller, become `SpreadConstraint`s. Called by `PodTopologySpread` alone.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from mooring.model.meta import OwnerReference
from mooring.model.pod import Pod, TopologySpreadConstraint
from mooring.model.selectors import LabelSelector, Requirement
from mooring.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from mooring.state.aspects import Aspect
from mooring.state.cluster import Cluster
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.shapes import LabelKey

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"
HONOR = "Honor"

_LABELS: Final = (Aspect.LABELS,)
_LABELS_AND_TAINTS: Final = (Aspect.LABELS, Aspect.TAINTS)
_encode = msgspec.msgpack.Encoder(order="deterministic").encode

# parity v1.36.4: plugins/podtopologyspread/plugin.go systemDefaultConstraints
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY),
)


class SpreadConstraint:
    """One constraint of a pod.

    Attributes:
        selector: which pods are counted; None for none.
        policies: whether the nodes that count are those the pod's affinity and tolerations allow.
        counts: whether pods are counted at all: an empty selector, which matches every pod, counts
            none.
        key: equal for selectors that mean the same.
        signature: equal for constraints that mean the same.
    """

    __slots__ = (
        "aspects",
        "counts",
        "honors_affinity",
        "honors_taints",
        "key",
        "max_skew",
        "min_domains",
        "policies",
        "selector",
        "signature",
        "topology_key",
    )

    def __init__(self, source: TopologySpreadConstraint, selector: LabelSelector | None) -> None:
        self.max_skew = source.max_skew
        self.topology_key = source.topology_key
        self.min_domains = source.min_domains if source.min_domains is not None else 1
        self.honors_affinity = (source.node_affinity_policy or HONOR) == HONOR
        self.honors_taints = source.node_taints_policy == HONOR
        self.policies = (self.honors_affinity, self.honors_taints)
        #: What of the nodes decides which of them count.
        self.aspects = _LABELS_AND_TAINTS if self.honors_taints else _LABELS
        self.selector = selector
        # parity v1.36.4: podtopologyspread/common.go countPodsMatchSelector
        self.counts = selector is not None and not _is_empty(selector)
        self.key = _encode(selector)
        self.signature = (
            self.topology_key, self.max_skew, self.min_domains, *self.policies, self.key
        )  # fmt: skip

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a pod with these labels is one of those to be spread."""
        return self.selector is not None and self.selector.matches(labels)


class OwnConstraints(NamedTuple):
    """The constraints of one action that pods with one spec bring themselves.

    Attributes:
        labels: the labels of the pods that asked last.
        read: what the selectors take from the labels (``matchLabelKeys``).
        constraints: the constraints.
    """

    labels: Mapping[str, str]
    read: tuple[str | None, ...]
    constraints: tuple[SpreadConstraint, ...]


def own_constraints(
    constraints: Sequence[TopologySpreadConstraint],
    labels: Mapping[str, str],
    action: str,
    known: OwnConstraints | None = None,
) -> OwnConstraints:
    """The constraints of one action that a pod brings itself.

    Args:
        constraints: those of the pod's spec.
        labels: the pod's labels.
        action: the action.
        known: those of another pod with the same spec; they are the same if the labels that
            count are.
    """
    found = [one for one in constraints if one.when_unsatisfiable == action]
    read = tuple(labels.get(key) for one in found for key in one.match_label_keys or ())
    if known is not None and known.read == read:
        return known._replace(labels=labels)
    made = tuple(SpreadConstraint(one, _with_keys(one, labels)) for one in found)
    return OwnConstraints(labels, read, made)


def _with_keys(one: TopologySpreadConstraint, labels: Mapping[str, str]) -> LabelSelector | None:
    selector = one.label_selector
    keys = [key for key in one.match_label_keys or () if key in labels]
    if selector is None or not keys:
        return selector
    more = [Requirement(key=key, operator="In", values=[labels[key]]) for key in keys]
    return LabelSelector(
        match_labels=selector.match_labels,
        match_expressions=[*more, *(selector.match_expressions or ())],
    )


class _Known:
    """The default constraints of some pods.

    Attributes:
        controller: what the pods' controller selects; they hold as long as that does.
        constraints: the constraints by action.
        changes: how often an object had changed when they were last known to hold.
    """

    __slots__ = ("changes", "constraints", "controller")

    def __init__(
        self, controller: object, constraints: Mapping[str, tuple[SpreadConstraint, ...]]
    ) -> None:
        self.controller = controller
        self.constraints = constraints
        self.changes = -1


class DefaultConstraints:
    """The constraints of pods without their own: with the selector of services and controller.

    Args:
        cluster: the cluster.
        defaults: the constraints, which have no selector.
    """

    def __init__(self, cluster: Cluster, defaults: Sequence[TopologySpreadConstraint]) -> None:
        self._catalog = cluster.catalog
        self._defaults = defaults
        self._actions = frozenset(one.when_unsatisfiable for one in defaults)
        self._changes = -1
        self._version = 0
        self._services: dict[str, list[Service]] = {}
        # The keys of the labels that these select, by namespace.
        self._selected_keys: dict[str, set[str]] = {}
        table = cluster.columns.table
        self._known: LruCache[Hashable, _Known] = table.new_lru_cache(
            table.bounds.results, table.bounds.key_bytes
        )

    def of(self, pod: Pod, label_key: LabelKey, action: str) -> tuple[SpreadConstraint, ...]:
        """The constraints of one action; none if the pod belongs to nothing that selects."""
        if action not in self._actions:
            return ()
        changes = self._catalog.changes
        if changes != self._changes:
            self._changes = changes
            self._follow_services()
        owner = pod.controller
        if owner is None and pod.namespace not in self._services:
            return ()
        # Pods of a StatefulSet have labels of their own, which nobody selects.
        keys = self._selected_keys.get(pod.namespace, ())
        read = frozenset([one for one in label_key if one[0] in keys])
        key = (pod.namespace, read, owner and (owner.api_version, owner.kind, owner.name))
        known = self._known.get(key)
        if known is None or known.changes != changes:
            selected = self._selected_by(pod, owner) if owner is not None else None
            if known is None or (known.controller is not selected and known.controller != selected):
                # parity v1.36.4: plugins/helper/spread.go DefaultSelector
                known = _Known(selected, self._constraints(self._find(pod, selected)))
                self._known.put(key, known, size_of(key))
            known.changes = changes
        return known.constraints.get(action, ())

    def _follow_services(self) -> None:
        version = self._catalog.version(Service)
        if version == self._version:
            return
        self._version = version
        self._known.clear()
        self._services, self._selected_keys = {}, {}
        for service in self._catalog.all(Service).values():
            if service.spec.selector is not None:
                namespace = service.namespace
                self._services.setdefault(namespace, []).append(service)
                self._selected_keys.setdefault(namespace, set()).update(service.spec.selector)

    def _constraints(
        self, selector: LabelSelector | None
    ) -> Mapping[str, tuple[SpreadConstraint, ...]]:
        if selector is None:
            return {}
        found: dict[str, tuple[SpreadConstraint, ...]] = {}
        for one in self._defaults:
            before = found.get(one.when_unsatisfiable, ())
            found[one.when_unsatisfiable] = (*before, SpreadConstraint(one, selector))
        return found

    def _selected_by(
        self, pod: Pod, owner: OwnerReference
    ) -> LabelSelector | Mapping[str, str] | None:
        """What a pod's controller selects."""
        key = f"{pod.namespace}/{owner.name}"
        kind = (owner.api_version, owner.kind)
        if kind == ("v1", "ReplicationController"):
            old = self._catalog.get(ReplicationController, key)
            return old.spec.selector if old is not None else None
        if kind == ("apps/v1", "ReplicaSet"):
            found = self._catalog.get(ReplicaSet, key)
            return found.spec.selector if found is not None else None
        if kind == ("apps/v1", "StatefulSet"):
            stateful = self._catalog.get(StatefulSet, key)
            return stateful.spec.selector if stateful is not None else None
        return None

    def _find(
        self, pod: Pod, selected: LabelSelector | Mapping[str, str] | None
    ) -> LabelSelector | None:
        labels: dict[str, str] = {}
        for service in self._services.get(pod.namespace, ()):
            selector = service.spec.selector or {}
            if all(pod.labels.get(key) == value for key, value in selector.items()):
                labels |= selector
        expressions: list[Requirement] = []
        if isinstance(selected, LabelSelector):
            expressions = _as_expressions(selected)
        elif selected is not None:
            labels |= selected
        merged = LabelSelector(match_labels=labels or None, match_expressions=expressions or None)
        return None if _is_empty(merged) else merged


def _as_expressions(selector: LabelSelector) -> list[Requirement]:
    labels = selector.match_labels or {}
    return [
        *(Requirement(key=key, operator="In", values=[value]) for key, value in labels.items()),
        *(selector.match_expressions or ()),
    ]


def _is_empty(selector: LabelSelector) -> bool:
    return not selector.match_labels and not selector.match_expressions
