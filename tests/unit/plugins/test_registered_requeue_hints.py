"""What each plugin registers for, beside what v1.36.4's plugins register.

The numbers are what `EventsToRegister` of the real plugins returned, all feature gates at their
defaults: the resource, the action bits, and whether there is a hint function.
"""

import pytest

from mooring.framework import hook
from mooring.framework.cluster_events import hints_of
from mooring.framework.hook import Action
from mooring.plugins.in_tree import IN_TREE
from tests.unit.plugins.requeueing import plugin_on

BITS = (
    Action.ADD,
    Action.DELETE,
    Action.UPDATE_NODE_ALLOCATABLE,
    Action.UPDATE_NODE_LABEL,
    Action.UPDATE_NODE_TAINT,
    Action.UPDATE_NODE_CONDITION,
    Action.UPDATE_NODE_ANNOTATION,
    Action.UPDATE_NODE_DECLARED_FEATURE,
    Action.UPDATE_POD_LABEL,
    Action.UPDATE_POD_SCALE_DOWN,
    Action.UPDATE_POD_TOLERATION,
    Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    # UpdatePodGeneratedResourceClaim is not distinguished: DynamicResources looks at the statuses.
    Action.UPDATE_OTHER,
)
GO = {
    "DefaultPreemption": ["Pod 2 hint"],
    "InterPodAffinity": ["Pod 259 hint", "Node 9 hint"],
    "NodeAffinity": ["Node 9 hint"],
    "NodeDeclaredFeatures": ["Node 129 hint", "Pod 8188 hint"],
    "NodeName": ["Node 1"],
    "NodePorts": ["Pod 2 hint", "Node 1"],
    "NodeResourcesFit": ["Pod 514 hint", "Node 5 hint", "DeviceClass 8189 hint"],
    "NodeUnschedulable": ["Node 17 hint", "Pod 1024 hint"],
    "NodeVolumeLimits": [
        "CSINode 1",
        "CSINode 8188 hint",
        "Pod 2 hint",
        "PersistentVolumeClaim 1 hint",
        "VolumeAttachment 2 hint",
    ],
    "PodTopologySpread": ["Pod 1283 hint", "Node 27 hint"],
    "SchedulingGates": ["Pod 2048 hint"],
    "TaintToleration": ["Node 17 hint", "Pod 1024 hint"],
    "VolumeBinding": [
        "StorageClass 8189 hint",
        "PersistentVolumeClaim 8189 hint",
        "PersistentVolume 8189",
        "Node 9",
        "CSINode 8189 hint",
        "CSIDriver 8188 hint",
        "CSIStorageCapacity 8189 hint",
    ],
    "VolumeRestrictions": ["Pod 2 hint", "Node 1", "PersistentVolumeClaim 1 hint"],
    "VolumeZone": [
        "StorageClass 1 hint",
        "Node 9",
        "PersistentVolumeClaim 8189 hint",
        "PersistentVolume 8189 hint",
    ],
    "DynamicResources": [
        "Node 13",
        "ResourceClaim 8189 hint",
        # Not so in kube-scheduler: the claim of an earlier attempt is gone.
        "ResourceClaim 2 hint",
        "Pod 4096 hint",
        "DeviceClass 8189",
        "ResourceSlice 8189",
    ],
    # This rejects what mooring cannot do yet.
    "GangScheduling": [],
}
#: The hooks with which plugins keep pods waiting.
REJECTING = (hook.PreEnqueue, hook.PreFilter, hook.Filter, hook.FilterNodes, hook.Permit)


def registered(hint: hook.RequeueHint) -> str:
    bits = sum(1 << place for place, action in enumerate(BITS) if action & hint.actions)
    return f"{hint.kind.kind_name} {bits}{' hint' if hint.helps else ''}"


@pytest.mark.parametrize("kind", IN_TREE, ids=lambda kind: str(kind.name))
def test_plugins_register_for_what_those_of_kube_scheduler_register_for(
    kind: type[hook.Hook],
) -> None:
    if not issubclass(kind, hook.Requeues):
        assert not issubclass(kind, REJECTING), f"{kind.name} may reject: it must say what helps"
        assert kind.name not in GO
        return
    assert [registered(hint) for hint in hints_of(plugin_on(kind))] == GO[kind.name]


def test_the_actions_are_those_of_kube_scheduler() -> None:
    every = Action(0)
    for one in BITS:
        assert not every & one
        every |= one
    assert every == Action.ANY
    assert every & ~(Action.ADD | Action.DELETE) == Action.UPDATE
