"""VolumeZone: a volume with zone or region labels goes only with nodes of that zone or region.

It reads the labels of bound volumes only; the node affinity of volumes is the business of
VolumeBinding.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from mooring.framework.arrays import Mask
from mooring.framework.cycle import Cycle
from mooring.framework.hook import (
    SKIP,
    Action,
    FilterNodes,
    PreFilter,
    PreFilterAnswer,
    RequeueHint,
    Requeues,
    Sign,
)
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdict, Verdicts, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.plugins.shape_reader import ShapeReader
from mooring.plugins.volumes.details import VolumeDetails
from mooring.plugins.volumes.remedies import VolumeRemedies
from mooring.plugins.volumes.requeue_hints import names_claim
from mooring.state.aspects import Aspect
from mooring.state.catalog import Catalog
from mooring.state.columns import Columns

_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_LABELS: Final = (_BETA_ZONE, _BETA_REGION, _ZONE, _REGION)
_SUCCESSOR: Final = {_BETA_ZONE: _ZONE, _BETA_REGION: _REGION}

#: A label's key and the values a node may have there.
_PVTopology = tuple[str, frozenset[str]]


class VolumeZone(
    PreFilter, FilterNodes, Requeues, VolumeDetails, VolumeRemedies, Sign, ShapeReader
):
    """Keeps a pod in the zones and regions its volumes are labelled with."""

    name = "VolumeZone"
    reads = (PersistentVolume, PersistentVolumeClaim, StorageClass)
    filter_scope = Scope.NODES
    reason = "node(s) had no available volume zone"

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Collect the labels of the pod's volumes; reject if a volume cannot be found."""
        pod = cycle.pod
        if not cycle.shape.claims:
            return SKIP
        topologies = _pv_topologies(pod, cycle.cluster.catalog)
        if isinstance(topologies, Verdict):
            return topologies
        if not topologies:
            return SKIP
        cycle.data[self.name] = topologies
        return None

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:  # noqa: ARG002
        """Reject nodes with zone labels that do not go with the volumes' labels."""
        topologies: list[_PVTopology] = nodes.cycle.data[self.name]
        rejected = nodes.columns.remember(
            (self.name, frozenset(topologies)),
            lambda: _rejected(topologies, nodes.columns),
            Aspect.LABELS,
        )
        return Verdicts.where(nodes.take(rejected), _CONFLICT)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """Claims of the pod, volumes with other zones, classes that wait, and nodes elsewhere."""
        either = Action.ADD | Action.UPDATE
        return (
            RequeueHint(StorageClass, Action.ADD, _waits_for_first_consumer),
            RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_LABEL),
            RequeueHint(PersistentVolumeClaim, either, names_claim),
            RequeueHint(PersistentVolume, either, _is_elsewhere),
        )

    def sign(self, pod: Pod) -> tuple[()] | None:
        """Nothing, if the pod names no claims; which volumes they have changes."""
        return None if self.shape_of(pod).claims else ()


_CONFLICT: Final = reject(VolumeZone.reason, unresolvable=True)


def _pv_topologies(pod: Pod, catalog: Catalog) -> list[_PVTopology] | Verdict:
    # parity v1.36.4: plugins/volumezone/volume_zone.go getPVbyPod
    topologies: list[_PVTopology] = []
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is None:
            continue
        name = volume.persistent_volume_claim.claim_name
        if not name:
            return reject("PersistentVolumeClaim had no name", unresolvable=True)
        claim = catalog.get(PersistentVolumeClaim, f"{pod.namespace}/{name}")
        if claim is None:
            return reject(f'persistentvolumeclaim "{name}" not found', unresolvable=True)
        if not claim.spec.volume_name:
            rejection = _unbound(claim, catalog)
            if rejection is not None:
                return rejection
            continue
        bound = catalog.get(PersistentVolume, claim.spec.volume_name)
        if bound is None:
            return reject(
                f'persistentvolume "{claim.spec.volume_name}" not found', unresolvable=True
            )
        topologies.extend(_zone_labels(bound))
    return topologies


def _unbound(claim: PersistentVolumeClaim, catalog: Catalog) -> Verdict | None:
    """Why a claim without a volume is in the way; None if it is bound only with its pod."""
    name = claim.class_name
    if not name:
        return reject(
            "PersistentVolumeClaim had no pv name and storageClass name", unresolvable=True
        )
    storage_class = catalog.get(StorageClass, name)
    if storage_class is None:
        return reject(f'storageclass.storage.k8s.io "{name}" not found', unresolvable=True)
    if storage_class.volume_binding_mode is None:
        return reject(f'VolumeBindingMode not set for StorageClass "{name}"', unresolvable=True)
    if storage_class.waits_for_first_consumer:
        return None
    return reject("PersistentVolume had no name", unresolvable=True)


def _zone_labels(volume: PersistentVolume) -> list[_PVTopology]:
    topologies = []
    for key in _LABELS:
        label = volume.labels.get(key)
        if label is None:
            continue
        values = frozenset(one.strip() for one in label.split("__"))
        if "" not in values:  # a label that cannot be read is passed over
            topologies.append((key, values))
    return topologies


def _waits_for_first_consumer(pod: Pod, old: None, new: StorageClass) -> bool:  # noqa: ARG001
    return new.waits_for_first_consumer


def _is_elsewhere(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> bool:  # noqa: ARG001
    """Whether a volume is new or has other zones than before."""
    return old is None or _zone_labels(old) != _zone_labels(new)


def _rejected(topologies: list[_PVTopology], columns: Columns) -> Mask:
    """(n,) the nodes that have zone labels, but not those that the volumes need."""
    # parity v1.36.4: plugins/volumezone/volume_zone.go Filter
    fits = np.ones(len(columns), np.bool_)
    for key, values in topologies:
        own = columns.labels(key)
        here = _holds(columns, key, values)
        successor = _SUCCESSOR.get(key)
        if successor is not None:
            here = np.where(own.ids > 0, here, _holds(columns, successor, values))
        fits &= here
    labelled = np.zeros(len(columns), np.bool_)
    for key in _LABELS:
        labelled |= columns.labels(key).ids > 0
    rejected: Mask = labelled & ~fits
    return rejected


def _holds(columns: Columns, key: str, values: frozenset[str]) -> Mask:
    """(n,) the nodes whose label has one of the values."""
    column = columns.labels(key)
    answers = [False, *(value in values for value in column.values[1:])]
    return np.array(answers, np.bool_)[column.ids]
