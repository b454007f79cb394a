"""Which changes requeue pods rejected for a node's name, state, taints, labels or features."""

from typing import Any

import pytest

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.nodes.node_affinity import NodeAffinity
from mooring.plugins.nodes.node_declared_features import NodeDeclaredFeatures
from mooring.plugins.nodes.node_name import NodeName
from mooring.plugins.nodes.node_unschedulable import NodeUnschedulable
from mooring.plugins.nodes.taint_toleration import TaintToleration
from mooring.plugins.queueing.scheduling_gates import SchedulingGates
from mooring.testing import make_node, make_pod
from tests.unit.plugins.requeueing import plugin_on, requeues

POD = make_pod("p")
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
SOFT = {**TAINT, "effect": "PreferNoSchedule"}
TOLERATION = {"key": "gpu", "operator": "Exists"}


def tolerating(*tolerations: dict[str, str], name: str = "p") -> Pod:
    return make_pod(name, spec={"tolerations": list(tolerations)})


def test_any_new_node_may_have_the_name_that_a_pod_asks_for() -> None:
    plugin = plugin_on(NodeName)
    assert requeues(plugin, POD, None, make_node("n"))
    assert requeues(plugin, POD, make_node("n"), None) is None
    assert requeues(plugin, POD, make_node("n"), make_node("n", labels={"a": "b"})) is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, make_node("n"), True),
        (None, make_node("n", unschedulable=True), False),
        (make_node("n", unschedulable=True), make_node("n"), True),
        (make_node("n", unschedulable=True, taints=[TAINT]), make_node("n"), True),
        (make_node("n", taints=[TAINT]), make_node("n"), False),
        (make_node("n"), make_node("n", unschedulable=True), None),
        (make_node("n"), None, None),
    ],
)
def test_a_node_that_takes_pods_again_helps(
    old: Node | None, new: Node | None, expected: bool | None
) -> None:
    assert requeues(plugin_on(NodeUnschedulable), POD, old, new) is expected


def test_a_toleration_for_cordoned_nodes_helps_the_pod_that_gets_it() -> None:
    plugin = plugin_on(NodeUnschedulable)
    fitting = tolerating({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"})
    assert requeues(plugin, fitting, POD, fitting) is True
    assert requeues(plugin, tolerating(TOLERATION), POD, tolerating(TOLERATION)) is False
    assert requeues(plugin, make_pod("other"), POD, fitting) is False
    assert requeues(plugin, fitting, POD, make_pod("p", labels={"a": "b"})) is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, make_node("n"), True),
        (None, make_node("n", taints=[TAINT]), False),
        (None, make_node("n", taints=[SOFT]), True),
        (make_node("n", taints=[TAINT]), make_node("n"), True),
        (make_node("n", taints=[TAINT]), make_node("n", taints=[SOFT]), True),
        (make_node("n", taints=[SOFT]), make_node("n"), False),
        (make_node("n"), make_node("n", taints=[TAINT]), False),
        (make_node("n", taints=[TAINT]), make_node("n", taints=[TAINT, SOFT]), False),
    ],
)
def test_a_node_whose_taints_are_tolerated_now_helps(
    old: Node | None, new: Node, expected: bool
) -> None:
    plugin = plugin_on(TaintToleration)
    assert requeues(plugin, POD, old, new) is expected
    if old is not None:
        assert requeues(plugin, tolerating(TOLERATION), old, new) is False


def test_a_pod_with_another_toleration_is_tried_again() -> None:
    plugin = plugin_on(TaintToleration)
    assert requeues(plugin, tolerating(TOLERATION), POD, tolerating(TOLERATION)) is True
    assert requeues(plugin, make_pod("other"), POD, tolerating(TOLERATION)) is False


def selecting(zone: str = "", *names: str) -> Pod:
    spec: dict[str, Any] = {"nodeSelector": {"zone": zone}} if zone else {}
    if names:
        fields = [{"key": "metadata.name", "operator": "In", "values": list(names)}]
        required = {"nodeSelectorTerms": [{"matchFields": fields}]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    return make_pod("p", spec=spec)


def zone(value: str, name: str = "n") -> Node:
    return make_node(name, labels={"zone": value})


@pytest.mark.parametrize(
    ("pod", "old", "new", "expected"),
    [
        (selecting("a"), None, zone("a"), True),
        (selecting("a"), None, zone("b"), False),
        (selecting("a"), zone("b"), zone("a"), True),
        (selecting("a"), zone("a"), zone("b"), False),
        (selecting("a"), zone("a"), make_node("n", labels={"zone": "a", "x": "y"}), False),
        (selecting("", "n"), None, zone("a"), True),
        (selecting("", "m"), None, zone("a"), False),
        (selecting("a", "n"), zone("b"), zone("a"), True),
        (selecting("a", "m"), zone("b"), zone("a"), False),
        (selecting("a"), zone("a"), make_node("n", labels={"zone": "a"}, cpu="9"), None),
    ],
)
def test_a_node_that_begins_to_match_helps(
    pod: Pod, old: Node | None, new: Node, expected: bool | None
) -> None:
    assert requeues(plugin_on(NodeAffinity), pod, old, new) is expected


def test_a_node_must_match_what_the_profile_adds_as_well() -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    plugin = plugin_on(NodeAffinity, addedAffinity=added)
    in_pool = make_node("n", labels={"zone": "a", "pool": "x"})
    assert requeues(plugin, selecting("a"), None, zone("a")) is False
    assert requeues(plugin, selecting("a"), None, in_pool) is True
    assert requeues(plugin, selecting("a"), zone("b"), in_pool) is True
    # parity v1.36.4: only what the pod demands is compared with the node as it was.
    assert requeues(plugin, selecting("a"), zone("a"), in_pool) is False


def declaring(*features: str) -> Node:
    raw = make_node("n").raw
    return Node.from_dict({**raw, "status": {**raw["status"], "declaredFeatures": list(features)}})


def test_a_node_that_declares_something_else_helps() -> None:
    plugin = plugin_on(NodeDeclaredFeatures)
    assert requeues(plugin, POD, None, declaring()) is True
    assert requeues(plugin, POD, declaring(), declaring("F")) is True
    assert requeues(plugin, POD, declaring("F"), declaring()) is True
    assert requeues(plugin, POD, declaring("F"), declaring("F")) is None
    assert requeues(plugin, POD, declaring("F"), None) is None


def test_a_pod_that_needs_something_else_is_tried_again() -> None:
    plugin = plugin_on(NodeDeclaredFeatures)
    demanding = make_pod("p", spec={"hostNetwork": True, "hostUsers": False})
    assert requeues(plugin, POD, demanding, POD) is True
    assert requeues(plugin, POD, POD, make_pod("p", labels={"a": "b"})) is False
    assert requeues(plugin, make_pod("other"), demanding, POD) is False
    assert requeues(plugin, POD, None, make_pod("q", node="n")) is None


def test_a_pod_without_gates_is_let_in() -> None:
    plugin = plugin_on(SchedulingGates)
    gated = make_pod("p", spec={"schedulingGates": [{"name": "g"}]})
    assert requeues(plugin, POD, gated, POD) is True
    assert requeues(plugin, make_pod("other"), gated, POD) is False
    fewer = make_pod("p", spec={"schedulingGates": [{"name": "h"}]})
    assert requeues(plugin, POD, gated, fewer) is None
    assert requeues(plugin, POD, None, make_node("n")) is None
