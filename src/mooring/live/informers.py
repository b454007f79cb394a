"""Which resources the scheduler watches, and the informers for them.

Nodes and pods always; others only if an enabled plugin reads them, so that a scheduler with few
plugins needs few permissions and little memory. Called once when a scheduler is put together.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mooring.framework.cluster_events import hints_of
from mooring.framework.hook import Hook, Requeues
from mooring.framework.policy import Policy
from mooring.framework.runtime import Runtime
from mooring.kube.client import Client
from mooring.kube.informer import Informer
from mooring.kube.resources import UNFINISHED_PODS, reflector_for
from mooring.model.change import Change
from mooring.model.devices import DeviceClass
from mooring.model.kinds import KINDS, Kind
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from mooring.model.workloads import (
    Namespace,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

#: What plugins look up besides nodes, pods and the kinds whose changes requeue their pods.
_READ: Final[Mapping[str, tuple[type[KubeObject], ...]]] = {
    "DefaultPreemption": (PodDisruptionBudget,),
    "DynamicResources": (DeviceClass,),
    "InterPodAffinity": (Namespace,),
    "NodeVolumeLimits": (
        CSINode,
        CSIDriver,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
        VolumeAttachment,
    ),
    "PodTopologySpread": (ReplicaSet, ReplicationController, Service, StatefulSet),
    "VolumeBinding": (
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
    ),
    "VolumeRestrictions": (PersistentVolumeClaim,),
    "VolumeZone": (PersistentVolume, PersistentVolumeClaim, StorageClass),
}

#: What requeues pods of a plugin and matters only together with another plugin, which reads it:
#: NodeResourcesFit leaves resources of device classes to DynamicResources, if it is there.
_READ_BY_OTHERS: Final[Mapping[str, tuple[type[KubeObject], ...]]] = {
    "NodeResourcesFit": (DeviceClass,),
}


def watched_kinds(runtimes: Iterable[Runtime], policies: Iterable[Policy] = ()) -> list[Kind]:
    """The kinds to watch for some profiles' plugins, in the order of `KINDS`.

    A plugin of a policy or of another package has the kinds watched that its `requeue_on` names.

    Args:
        runtimes: the profiles' plugins.
        policies: their plugins run within the policy, so that no profile knows them.
    """
    wanted: set[type[KubeObject]] = {Node, Pod}
    for policy in policies:
        wanted |= _requeuing_kinds(policy.plugins)
    for runtime in runtimes:
        placed = [one for at_point in runtime.points.values() for one in at_point]
        wanted.update(kind for one in placed for kind in _READ.get(one.name, ()))
        plugins = {one.name: one.plugin for one in placed}
        for name, plugin in plugins.items():
            wanted |= _requeuing_kinds([plugin]).difference(_READ_BY_OTHERS.get(name, ()))
    return [kind for kind in KINDS if kind.type in wanted]


def _requeuing_kinds(plugins: Iterable[Hook]) -> set[type[KubeObject]]:
    """The kinds whose changes requeue pods of some plugins."""
    return {
        hint.kind for plugin in plugins if isinstance(plugin, Requeues) for hint in hints_of(plugin)
    }


def make_informers(
    client: Client,
    kinds: Iterable[Kind],
    on_changes: Callable[[list[Change[Any]]], object],
    *,
    whole_objects: bool,
    whole_victims: bool,
) -> dict[str, Informer[Any]]:
    """An informer for each kind, by the resource's name, such as ``pods``.

    Args:
        client: where.
        kinds: what.
        on_changes: called with changes of any kind.
        whole_objects: keep every field of nodes and waiting pods.
        whole_victims: keep every field of pods on nodes.
    """
    found: dict[str, Informer[Any]] = {}
    for kind in kinds:
        decode = _decoder(kind, whole_objects=whole_objects, whole_victims=whole_victims)
        selector = UNFINISHED_PODS if kind.type is Pod else ""
        found[kind.resource] = Informer(
            reflector_for(client, kind, decode, field_selector=selector),
            on_changes,
            optional=kind.optional,
        )
    return found


def _decoder(
    kind: Kind, *, whole_objects: bool, whole_victims: bool
) -> Callable[[bytes], KubeObject]:
    made = kind.type
    keep = whole_objects and made in (Node, Pod)
    if made is Pod and keep and not whole_victims:
        return _slim_when_placed
    return lambda data: made.from_json(data, keep_source=keep)


def _slim_when_placed(data: bytes) -> Pod:
    """A pod with all its fields while it waits: a cluster has many pods that do not."""
    return Pod.from_json(data, keep_source=lambda pod: not pod.node_name)
