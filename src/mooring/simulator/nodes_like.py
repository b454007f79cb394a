"""New nodes like one that is there: fresh, and with the pods that every such node has.

A new node is ready, has the devices of the other, no images and none of the taints that tell of a
node's troubles. DaemonSets have a pod on it as soon as it is there, which the scheduler places;
static pods come with it.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from mooring.explaining.published_devices import PublishedDevices
from mooring.model.changed_copies import as_new, like
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.selectors import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
)
from mooring.model.storage import CSINode
from mooring.simulator.forked_scheduler import ForkedScheduler
from mooring.simulator.pod_owners import is_daemon, is_static

#: Taints of the node controller and of autoscalers: they tell of troubles, and not of kinds.
_TROUBLES: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_LEAVING: Final = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler")


def fresh_node(model: Node, name: str) -> Node:
    """A new node like another one."""
    made = like(model, name)
    taints = [
        one for one in made.taints if not one.key.startswith(_TROUBLES) and one.key not in _LEAVING
    ]
    return replace(
        made,
        spec=replace(made.spec, taints=taints or None, provider_id=None),
        status=replace(made.status, images=None),
    )


def add_like(scheduler: ForkedScheduler, model: Node, number: int) -> list[str]:
    """Add new nodes like another one; returns their names."""
    names = list(_new_names(scheduler, model.name, number))
    # In the order in which they came to the model: what is in its place when the daemon comes.
    pods = list(scheduler.cluster.pods_on(scheduler.cluster.columns.row_of[model.name]))
    csi = scheduler.cluster.catalog.get(CSINode, model.name)
    devices = PublishedDevices(scheduler.cluster.catalog)
    for name in names:
        scheduler.put_node(fresh_node(model, name))
        if csi is not None:
            metadata = replace(csi.metadata, name=name, uid=f"uid--{name}")
            scheduler.put(replace(csi, metadata=metadata))
        for one in devices.like(model.name, name):
            scheduler.put(one)
        for pod in pods:
            if is_static(pod) or is_daemon(pod):
                scheduler.create(_on_new_node(pod, model.name, name))
    return names


def _new_names(scheduler: ForkedScheduler, model: str, number: int) -> Iterator[str]:
    there, count = scheduler.cluster.nodes, 0
    for _ in range(number):
        count += 1
        while f"{model}-new-{count}" in there:
            count += 1
        yield f"{model}-new-{count}"


def _on_new_node(pod: Pod, model: str, node: str) -> Pod:
    """The pod of a DaemonSet or a kubelet, for a new node."""
    base = pod.name.removesuffix(f"-{model}")
    metadata = replace(pod.metadata, name=f"{base}-{node}", uid=f"uid--{pod.key}-{node}")
    if is_static(pod):
        return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=node))
    new = replace(as_new(pod), metadata=metadata)
    # parity v1.36.4: pkg/controller/daemon/util ReplaceDaemonSetPodNodeNameNodeAffinity
    by_name = NodeSelectorTerm(
        match_fields=[Requirement(key="metadata.name", operator="In", values=[node])]
    )
    required = NodeSelector(node_selector_terms=[by_name])
    affinity = new.spec.affinity or Affinity()
    own = replace(
        affinity.node_affinity or NodeAffinity(),
        required_during_scheduling_ignored_during_execution=required,
    )
    return replace(new, spec=replace(new.spec, affinity=replace(affinity, node_affinity=own)))
