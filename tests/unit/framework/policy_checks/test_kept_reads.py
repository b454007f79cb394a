"""Whatever a kept function may read, after every change of it: it is asked again.

Each function reads one thing, of the node, of the pods on it or of the pod, and accepts the node as
long as that is what it was. Then something changes as the API server, kubelets, controllers and
people change it, and the decision, which is made from what is kept, has to follow.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mooring as mr
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.observer import NOBODY
from mooring.framework.policy_checks.pure_reads import NODE, SPEC, TEMPLATE
from mooring.framework.policy_plugin import PolicySign, policy_plugin
from mooring.framework.runtime import Runtime
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state import pod_info
from mooring.state.cluster import Cluster
from tests.unit.framework.test_runtime import chosen, runtime

Json = dict[str, Any]

HOME = "b"
NODES = "abc"
NODE_JSON: Json = {
    "metadata": {"name": HOME, "uid": "n", "labels": {"zone": "x"}, "annotations": {"a": "b"}},
    "spec": {"taints": [{"key": "soft", "effect": "PreferNoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "8", "pods": "10"},
        "capacity": {"cpu": "8", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "images": [{"names": ["web:1"], "sizeBytes": 5}],
    },
}
POD_JSON: Json = {
    "metadata": {
        "labels": {"app": "web"},
        "annotations": {"a": "b"},
        "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "r"}],
    },
    "spec": {
        "containers": [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "1"}}}],
        "priority": 5,
        "priorityClassName": "high",
        "preemptionPolicy": "Never",
        "schedulerName": "mooring",
        "nodeSelector": {"zone": "x"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}],
    },
    "status": {},
}
ASKED: Json = {"requests": {"cpu": "2"}}
#: Where a node changes, and to what.
NODE_CHANGES: dict[str, object] = {
    "metadata.labels": {"zone": "y"},
    "metadata.annotations": {},
    "metadata.uid": "other",
    "metadata.resourceVersion": "2",
    "metadata.deletionTimestamp": "2026-01-01T00:00:00Z",
    "spec.taints": [],
    "spec.unschedulable": True,
    "spec.providerID": "p",
    "spec.podCIDR": "10.0.0.0/24",
    "status.allocatable": {"cpu": "4"},
    "status.capacity": {"cpu": "4"},
    "status.conditions": [],
    "status.images": [],
    "status.declaredFeatures": ["a"],
}
#: The same for a pod, on the node or to be placed.
POD_CHANGES: dict[str, object] = {
    "metadata.labels": {"app": "db"},
    "metadata.annotations": {},
    "metadata.ownerReferences": [],
    "metadata.uid": "other",
    "metadata.deletionTimestamp": "2026-01-01T00:00:00Z",
    "spec.containers": [{"name": "c", "image": "web:2"}],
    "spec.initContainers": [{"name": "i", "image": "i"}],
    "spec.priority": 6,
    "spec.priorityClassName": "low",
    "spec.preemptionPolicy": "PreemptLowerPriority",
    "spec.schedulerName": "other",
    "spec.nodeSelector": {},
    "spec.affinity": {"nodeAffinity": {}},
    "spec.tolerations": [],
    "spec.topologySpreadConstraints": [],
    "spec.schedulingGates": [{"name": "g"}],
    "spec.overhead": {"cpu": "1"},
    "spec.resources": ASKED,
    "spec.hostNetwork": True,
    "spec.hostUsers": False,
    "spec.resourceClaims": [{"name": "r"}],
    "spec.schedulingGroup": {},
    "status.phase": "Running",
    "status.containerStatuses": [{"name": "c", "resources": ASKED}],
}
#: What a function may read of the node and of the pods on it, and of the pod.
READS = (
    *(f"node.{name}" for name in sorted(NODE)),
    "len(node.pods)",
    *(f"[o.{name} for o in node.pods]" for name in sorted(TEMPLATE)),
    *(f"[o.spec.{name} for o in node.pods]" for name in sorted(SPEC)),
)
POD_READS = (
    *(f"pod.{name}" for name in (*sorted(TEMPLATE), "annotations")),
    *(f"pod.spec.{name}" for name in sorted(SPEC)),
    "pod.metadata.owner_references",
)


def changed(body: Json, where: str, value: object) -> Json:
    """An object with something else in one place."""
    part, _, name = where.partition(".")
    body = copy.deepcopy(body)
    body[part][name] = value
    return body


def pod(name: str, node: str = "", body: Json = POD_JSON) -> Pod:
    metadata = {"name": name, "uid": name, **body["metadata"]}
    spec = {**body["spec"], **({"nodeName": node} if node else {})}
    return Pod.from_dict({**body, "metadata": metadata, "spec": spec})


def put_node(where: str) -> Callable[[Cluster], object]:
    body = changed(NODE_JSON, where, NODE_CHANGES[where])
    return lambda cluster: cluster.put_node(Node.from_dict(body))


def put_pod(where: str, node: str = HOME) -> Callable[[Cluster], object]:
    body = changed(POD_JSON, where, POD_CHANGES[where])
    return lambda cluster: cluster.put_pod(pod("there", node, body))


def finish(cluster: Cluster) -> None:
    cluster.put_pod(pod("there", HOME, changed(POD_JSON, "status.phase", "Succeeded")))


def take_back(cluster: Cluster) -> None:
    cluster.assume(pod("new"), HOME)
    cluster.remove_pod("default/there")
    cluster.forget("default/new")


def other_order(cluster: Cluster) -> None:
    there = cluster.pods_on(cluster.columns.row_of[HOME])[0]
    cluster.put_pod(pod("new", HOME, changed(POD_JSON, "spec.priority", 7)))
    cluster.remove_what_if(there, cluster.columns.row_of[HOME])
    cluster.add_what_if(there, cluster.columns.row_of[HOME])


def replace_node(cluster: Cluster) -> None:
    cluster.remove_node(HOME)
    cluster.put_node(Node.from_dict(changed(NODE_JSON, "metadata.uid", "new")))


CHANGES: dict[str, Callable[[Cluster], object]] = {
    **{f"node {where}": put_node(where) for where in NODE_CHANGES},
    **{f"pod {where}": put_pod(where) for where in POD_CHANGES},
    "finished": finish,
    "moved": lambda cluster: cluster.put_pod(pod("there", "a")),
    "gone": lambda cluster: cluster.remove_pod("default/there"),
    "another": lambda cluster: cluster.put_pod(pod("new", HOME)),
    "assumed": lambda cluster: cluster.assume(pod("new"), HOME),
    "taken back": take_back,
    "other order": other_order,
    "node replaced": replace_node,
}
#: What changes nothing that a function may read of a pod on a node, or of a pod.
UNREAD = ("metadata.uid", "metadata.deletionTimestamp", "status.phase")
UNREAD_ON_NODE = ("metadata.annotations", "metadata.ownerReferences", *UNREAD)


def started(*plugins: mr.hook.Hook, assumed: bool = False) -> Runtime:
    """A scheduler for three nodes, with a pod on one of them, or one that is assumed there."""
    made = runtime(*plugins, nodes=NODES)
    made.cluster.put_node(Node.from_dict(NODE_JSON))
    if assumed:
        made.cluster.assume(pod("there"), HOME)
    else:
        made.cluster.put_pod(pod("there", HOME))
    return made


def said(read: str, cluster: Cluster, asked: Pod) -> str:
    """What a function reads now."""
    return str(eval(read, {"node": cluster.nodes[HOME], "pod": asked}))  # noqa: S307


class Reading:
    """A policy with one function that reads one thing.

    Args:
        read: what it reads.
        folder: where the policy is written.
    """

    def __init__(self, read: str, folder: Path) -> None:
        self._read = read
        self._before = said(read, started().cluster, pod("p"))
        file = folder / "policy.py"
        file.write_text(
            "import mooring as mr\npolicy = mr.Policy('p')\n@policy.filter\ndef f(pod, node):\n"
            f"    return node.name != {HOME!r} or str({read}) == {self._before!r}\n"
        )
        self._plugin = policy_plugin(mr.load(file))
        assert isinstance(self._plugin, PolicySign)

    def follows(
        self, change: Callable[[Cluster], object], asked: Pod, *, assumed: bool = False
    ) -> bool:
        """Whether a decision from what is kept follows a change.

        Args:
            change: what happens after the first decisions.
            asked: the pod that is decided about then.
            assumed: whether the pod on the node is assumed there.
        """
        made = started(self._plugin, assumed=assumed)
        cluster = made.cluster
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == list(NODES)
        change(cluster)
        for _ in range(2):  # the first pod of its kind is decided in full
            decision = made.decide_from_kept(Cycle(asked, cluster), NOBODY)
        assert decision is not None
        changed = said(self._read, cluster, asked) != self._before
        rows = list(decision.best)
        return (cluster.columns.row_of[HOME] in rows) != changed


@pytest.mark.parametrize("read", READS)
def test_a_change_of_the_node_or_its_pods_is_followed(read: str, tmp_path: Path) -> None:
    reading, asked = Reading(read, tmp_path), pod("last")
    assert [one for one in CHANGES if not reading.follows(CHANGES[one], asked)] == []


@pytest.mark.parametrize("read", [one for one in READS if "node.pods" in one])
@pytest.mark.parametrize("node", ["", HOME], ids=["waiting", "bound"])
def test_a_change_of_an_assumed_pod_is_followed(read: str, node: str, tmp_path: Path) -> None:
    reading, asked = Reading(read, tmp_path), pod("last")
    changes = {where: put_pod(where, node) for where in POD_CHANGES}
    assert [one for one in changes if not reading.follows(changes[one], asked, assumed=True)] == []


@pytest.mark.parametrize("read", POD_READS)
def test_a_pod_that_differs_is_decided_by_itself(read: str, tmp_path: Path) -> None:
    reading = Reading(read, tmp_path)
    pods = {
        where: pod("last", body=changed(POD_JSON, where, value))
        for where, value in POD_CHANGES.items()
        if where != "spec.schedulingGroup"  # never decided from what is kept
    }
    assert [one for one in pods if not reading.follows(lambda _: None, pods[one])] == []


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_matters_to_a_function(change: str) -> None:
    cluster, asked = started().cluster, pod("p")
    before = {read: said(read, cluster, asked) for read in READS}
    CHANGES[change](cluster)
    matters = any(said(read, cluster, asked) != before[read] for read in READS)
    assert matters == (change.removeprefix("pod ") not in UNREAD_ON_NODE)


@pytest.mark.parametrize("where", POD_CHANGES)
def test_each_difference_matters_to_a_function(where: str) -> None:
    cluster = started().cluster
    other = pod("p", body=changed(POD_JSON, where, POD_CHANGES[where]))
    matters = any(said(read, cluster, pod("p")) != said(read, cluster, other) for read in POD_READS)
    assert matters == (where not in UNREAD)


def test_a_change_that_touches_no_row_would_be_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_info, "have_same_shape", lambda *_: True)
    reading = Reading("[o.tolerations for o in node.pods]", tmp_path)
    assert not reading.follows(CHANGES["pod spec.tolerations"], pod("last"))
