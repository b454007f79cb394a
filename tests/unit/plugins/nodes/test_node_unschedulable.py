import pytest

from mooring.plugins.nodes.node_unschedulable import NodeUnschedulable
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import accepted, cluster_of, filtered

KEY = "node.kubernetes.io/unschedulable"


def test_cordoned_nodes_are_rejected_for_good() -> None:
    cluster = cluster_of(make_node("a"), make_node("b", unschedulable=True))
    verdict = filtered(NodeUnschedulable(), cluster, make_pod())["b"]
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == ("node(s) were unschedulable",)
    assert accepted(NodeUnschedulable(), cluster, make_pod()) == ["a"]
    assert accepted(NodeUnschedulable(), cluster, make_pod(), ["b"]) == []


@pytest.mark.parametrize(
    ("toleration", "passes"),
    [
        ({"key": KEY, "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": KEY, "operator": "Exists"}, True),
        ({"key": KEY, "effect": "NoSchedule"}, True),  # equal to an empty value
        ({"operator": "Exists"}, True),
        ({"key": KEY, "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": KEY, "value": "x", "effect": "NoSchedule"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_pods_that_tolerate_the_taint_may_go_there(
    toleration: dict[str, str], passes: bool
) -> None:
    cluster = cluster_of(make_node("b", unschedulable=True))
    pod = make_pod(spec={"tolerations": [toleration]})
    assert bool(accepted(NodeUnschedulable(), cluster, pod)) is passes


def test_a_node_that_is_uncordoned_is_seen() -> None:
    plugin, pod = NodeUnschedulable(), make_pod()
    cluster = cluster_of(make_node("a"), make_node("b", unschedulable=True))
    assert accepted(plugin, cluster, pod) == ["a"]
    cluster.put(make_node("b"))
    assert accepted(plugin, cluster, pod) == ["a", "b"]
    cluster.put(make_node("a", unschedulable=True))
    assert accepted(plugin, cluster, pod) == ["b"]
