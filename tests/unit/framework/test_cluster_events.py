from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from mooring.errors import InputError
from mooring.framework import hook
from mooring.framework.cluster_events import (
    EVERY_EVENT,
    NOTHING,
    actions_of,
    event_between,
    hints_of,
    matches,
)
from mooring.framework.hook import Action, RequeueHint
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import CSINode, PersistentVolume, StorageClass
from mooring.model.workloads import Namespace
from mooring.testing import make_node, make_pod


def node(**changes: Any) -> Node:
    """A node with other fields of the metadata, the spec or the status."""
    raw: dict[str, Any] = msgspec.to_builtins(make_node("n", labels={"zone": "a"}).raw)
    for part, fields in changes.items():
        raw[part] = {**raw[part], **fields}
    return Node.from_dict(raw)


def pod(name: str = "p", node: str = "", status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    made = make_pod(name, node=node, labels={"app": "web"}, requests={"cpu": "1"}, spec=spec)
    raw = {**made.raw, "status": {**made.raw["status"], **(status or {})}}
    return Pod.from_dict(raw)


def labelled(thing: Pod, **labels: str) -> Pod:
    return msgspec.structs.replace(
        thing, metadata=msgspec.structs.replace(thing.metadata, labels=labels)
    )


def asking(**requests: str) -> dict[str, Any]:
    return {"containers": [{"name": "c0", "resources": {"requests": requests}}]}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, NOTHING),
        ({"metadata": {"labels": {"zone": "b"}}}, Action.UPDATE_NODE_LABEL),
        ({"metadata": {"annotations": {"a": "b"}}}, Action.UPDATE_NODE_ANNOTATION),
        ({"metadata": {"resourceVersion": "9"}}, NOTHING),
        ({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}, Action.UPDATE_NODE_TAINT),
        ({"spec": {"taints": []}}, NOTHING),
        ({"spec": {"unschedulable": True}}, NOTHING),
        ({"spec": {"providerID": "x"}}, NOTHING),
        ({"status": {"allocatable": {"cpu": "9"}}}, Action.UPDATE_NODE_ALLOCATABLE),
        ({"status": {"images": [{"names": ["x"]}]}}, NOTHING),
        ({"status": {"conditions": []}}, Action.UPDATE_NODE_CONDITION),
        (
            {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "other"}]}},
            NOTHING,
        ),
        ({"status": {"declaredFeatures": ["F"]}}, Action.UPDATE_NODE_DECLARED_FEATURE),
        ({"status": {"declaredFeatures": []}}, NOTHING),
        (
            {"metadata": {"labels": {}}, "status": {"conditions": None}},
            Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_CONDITION,
        ),
    ],
)
def test_updates_of_nodes(changes: dict[str, Any], expected: Action) -> None:
    assert actions_of(node(), node(**changes)) == expected


def test_amounts_of_a_node_are_compared_and_not_how_they_are_written() -> None:
    cores = node(status={"allocatable": {"cpu": "8", "memory": "1Gi"}})
    assert not actions_of(cores, node(status={"allocatable": {"cpu": "8000m", "memory": "1024Mi"}}))
    assert actions_of(cores, node(status={"allocatable": {"cpu": "8", "memory": "1025Mi"}}))
    assert actions_of(cores, node(status={"allocatable": {"cpu": "8"}}))


def test_a_node_is_opened_by_an_update_of_taints_and_not_by_being_cordoned() -> None:
    cordoned = node(spec={"unschedulable": True})
    assert actions_of(cordoned, node()) == Action.UPDATE_NODE_TAINT
    assert actions_of(node(), cordoned) == NOTHING


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (pod(), Action.UPDATE_OTHER),
        (pod(status={"nominatedNodeName": "n"}), Action.UPDATE_OTHER),
        (labelled(pod(), app="db"), Action.UPDATE_POD_LABEL),
        (pod(tolerations=[{"operator": "Exists"}]), Action.UPDATE_POD_TOLERATION),
        (pod(schedulingGates=[{"name": "g"}]), Action.UPDATE_OTHER),
        (pod(**asking(cpu="2")), Action.UPDATE_OTHER),
        (pod(**asking(cpu="1", memory="1Gi")), Action.UPDATE_OTHER),
        (pod(**asking(cpu="999m", memory="1Gi")), Action.UPDATE_POD_SCALE_DOWN),
        (pod(**asking(memory="1Gi")), Action.UPDATE_POD_SCALE_DOWN),
        (
            labelled(pod(**asking(cpu="500m")), app="db"),
            Action.UPDATE_POD_SCALE_DOWN | Action.UPDATE_POD_LABEL,
        ),
    ],
)
def test_updates_of_pods(new: Pod, expected: Action) -> None:
    assert actions_of(pod(), new) == expected


def test_only_the_last_gate_that_goes_is_an_update_of_gates() -> None:
    two, one = (
        pod(schedulingGates=[{"name": name} for name in names]) for names in (("g", "h"), ("g",))
    )
    assert actions_of(two, one) == Action.UPDATE_OTHER
    assert actions_of(one, pod()) == Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    assert actions_of(two, pod(schedulingGates=[])) == Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED


def test_what_the_kubelet_reports_counts_when_a_pod_shrinks() -> None:
    def resized(cpu: str) -> Pod:
        reported = {"name": "c0", "resources": {"requests": {"cpu": cpu}}}
        return pod(node="n", status={"containerStatuses": [reported]}, **asking(cpu="1"))

    assert actions_of(resized("3"), resized("2")) == Action.UPDATE_POD_SCALE_DOWN
    assert actions_of(resized("2"), resized("3")) == Action.UPDATE_OTHER


def test_a_pod_is_added_when_it_gets_its_node_and_gone_when_it_finishes() -> None:
    waiting, running = pod(), pod(node="n")
    finished = pod(node="n", status={"phase": "Succeeded"})
    assert event_between(waiting, running) == (Pod, Action.ADD, None, running)
    assert event_between(None, running) == (Pod, Action.ADD, None, running)
    assert event_between(running, finished) == (Pod, Action.DELETE, running, None)
    assert event_between(running, None) == (Pod, Action.DELETE, running, None)
    assert event_between(finished, None) is None
    assert event_between(None, finished) is None
    assert event_between(finished, pod(node="n", status={"phase": "Failed"})) is None


def test_updates_keep_both_states() -> None:
    old, new = node(), node(metadata={"labels": {}})
    assert event_between(old, new) == (Node, Action.UPDATE_NODE_LABEL, old, new)
    assert event_between(old, node()) is None
    assert event_between(old, old) is None
    assert event_between(None, None) is None


def test_every_update_of_another_kind_is_just_an_update() -> None:
    old, new = StorageClass(provisioner="a"), StorageClass(provisioner="b")
    assert actions_of(old, new) == Action.UPDATE_OTHER
    assert actions_of(old, StorageClass(provisioner="a")) == Action.UPDATE_OTHER
    assert actions_of(old, old) == NOTHING
    assert actions_of(None, new) == Action.ADD
    assert actions_of(old, None) == Action.DELETE


def test_general_updates_are_of_every_kind_and_special_ones_are_not_general() -> None:
    every = RequeueHint(Pod, Action.UPDATE)
    special = RequeueHint(Pod, Action.UPDATE_POD_LABEL | Action.ADD)
    assert matches(every, Pod, Action.UPDATE_OTHER)
    assert matches(every, Pod, Action.UPDATE_POD_LABEL)
    assert not matches(every, Pod, Action.ADD)
    assert matches(special, Pod, Action.UPDATE_POD_LABEL | Action.UPDATE_POD_SCALE_DOWN)
    assert not matches(special, Pod, Action.UPDATE_OTHER)
    assert not matches(special, Node, Action.ADD)


class Silent(hook.Filter):
    def filter(self, pod: Pod, node: Node) -> None:
        """Accept."""


class Never(Silent, hook.Requeues):
    def requeue_on(self) -> list[RequeueHint]:
        return []


class OddError(Exception):
    def __str__(self) -> str:
        raise KeyError("code")


class Failing(Silent, hook.Requeues):
    def requeue_on(self) -> Iterator[RequeueHint]:  # type: ignore[override]
        yield RequeueHint(Node, Action.ANY)
        raise OddError


def test_a_plugin_that_cannot_say_what_helps_is_named() -> None:
    with pytest.raises(
        InputError, match=r"^requeue_on of plugin \w+ failed: OddError: a OddError$"
    ):
        hints_of(Failing())


def test_a_plugin_that_does_not_say_what_helps_is_woken_by_everything() -> None:
    assert hints_of(Silent()) == EVERY_EVENT
    assert hints_of(Never()) == []
    (hint,) = hints_of(Silent())
    for kind in (Pod, Node, PersistentVolume, Namespace):
        for action in Action:
            assert matches(hint, kind, action)


@pytest.mark.parametrize(
    ("old", "new", "label"),
    [
        (None, node(), "NodeAdd"),
        (node(), None, "NodeDelete"),
        (node(), node(metadata={"labels": {}}), "NodeUpdateNodeLabel"),
        (None, pod(node="n"), "AssignedPodAdd"),
        (pod(node="n"), None, "AssignedPodDelete"),
        (pod(), labelled(pod(), app="db"), "UnschedulablePodUpdatePodLabel"),
        (pod(), pod(), "UnschedulablePodUpdate"),
        (None, CSINode(), "storage.k8s.io/CSINodeAdd"),
        (PersistentVolume(), PersistentVolume(), "PersistentVolumeUpdate"),
        (Namespace(), None, "NamespaceDelete"),
    ],
)
def test_happenings_have_the_names_of_the_metrics(
    old: KubeObject | None, new: KubeObject | None, label: str
) -> None:
    event = event_between(old, new)
    assert event is not None
    assert event.label() == label


def test_the_name_of_several_updates_is_the_one_that_mattered() -> None:
    event = event_between(node(), node(metadata={"labels": {}}, status={"conditions": []}))
    assert event is not None
    assert event.label() == "NodeUpdateNodeLabel"
    assert event.label(Action.ADD | Action.UPDATE_NODE_CONDITION) == "NodeUpdateNodeCondition"
    assert event.label(Action.DELETE) == "NodeUpdateNodeLabel"
