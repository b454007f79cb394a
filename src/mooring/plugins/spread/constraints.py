"""Topology spread constraints as the plugin uses them, and the defaults for pods that have none.

Owns how a pod's constraints, or the profile's default constraints with the selector of the pod's
services and controller, become `SpreadConstraint`s. Called by `PodTopologySpread` alone.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import msgspec

from mooring.model.meta import OwnerReference
from mooring.model.pod import Pod, TopologySpreadConstraint
from mooring.model.selectors import LabelSelector, Requirement
from mooring.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from mooring.state.aspects import Aspect
from mooring.state.cluster import Cluster
from mooring.state.lru_cache import LruCache, size_of

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


def own_constraints(
    constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str], action: str
) -> tuple[SpreadConstraint, ...]:
    """The constraints of one action that a pod brings itself."""
    return tuple(
        SpreadConstraint(one, _with_keys(one, labels))
        for one in constraints
        if one.when_unsatisfiable == action
    )


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


class DefaultSelectors:
    """The selector of the services and the controller a pod belongs to."""

    def __init__(self, cluster: Cluster) -> None:
        self._catalog = cluster.catalog
        self._version = (0, 0, 0, 0)
        self._services: dict[str, list[Service]] = {}
        table = cluster.columns.table
        self._known: LruCache[Hashable, tuple[LabelSelector | None]] = table.new_lru_cache(
            table.bounds.results, table.bounds.key_bytes
        )

    def of(self, pod: Pod, label_key: Hashable) -> LabelSelector | None:
        """The selector; None if the pod belongs to nothing that selects."""
        # parity v1.36.4: plugins/helper/spread.go DefaultSelector
        catalog = self._catalog
        version = (
            catalog.version(Service),
            catalog.version(ReplicationController),
            catalog.version(ReplicaSet),
            catalog.version(StatefulSet),
        )
        if version != self._version:
            self._version = version
            self._known.clear()
            self._services = {}
            for service in catalog.all(Service).values():
                if service.spec.selector is not None:
                    self._services.setdefault(service.namespace, []).append(service)
        owner = _controller(pod)
        key = (pod.namespace, label_key, owner and (owner.api_version, owner.kind, owner.name))
        known = self._known.get(key)
        if known is None:
            known = (self._find(pod, owner),)
            self._known.put(key, known, size_of(key))
        return known[0]

    def _find(self, pod: Pod, owner: OwnerReference | None) -> LabelSelector | None:
        labels: dict[str, str] = {}
        for service in self._services.get(pod.namespace, ()):
            selector = service.spec.selector or {}
            if all(pod.labels.get(key) == value for key, value in selector.items()):
                labels |= selector
        expressions: list[Requirement] = []
        if owner is not None:
            key = f"{pod.namespace}/{owner.name}"
            kind = (owner.api_version, owner.kind)
            if kind == ("v1", "ReplicationController"):
                found = self._catalog.get(ReplicationController, key)
                labels |= (found.spec.selector or {}) if found is not None else {}
            elif kind in (("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")):
                controller: ReplicaSet | StatefulSet | None = (
                    self._catalog.get(ReplicaSet, key)
                    if owner.kind == "ReplicaSet"
                    else self._catalog.get(StatefulSet, key)
                )
                wanted = controller.spec.selector if controller is not None else None
                if wanted is not None:
                    expressions = _as_expressions(wanted)
        merged = LabelSelector(match_labels=labels or None, match_expressions=expressions or None)
        return None if _is_empty(merged) else merged


def _as_expressions(selector: LabelSelector) -> list[Requirement]:
    labels = selector.match_labels or {}
    return [
        *(Requirement(key=key, operator="In", values=[value]) for key, value in labels.items()),
        *(selector.match_expressions or ()),
    ]


def _controller(pod: Pod) -> OwnerReference | None:
    return next((one for one in pod.metadata.owner_references or () if one.controller), None)


def _is_empty(selector: LabelSelector) -> bool:
    return not selector.match_labels and not selector.match_expressions
