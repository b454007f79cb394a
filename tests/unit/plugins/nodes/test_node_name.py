from mooring.plugins.nodes.node_name import NodeName
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import accepted, cluster_of, filtered

CLUSTER = cluster_of(make_node("a"), make_node("b"), make_node("c"))


def test_a_pod_without_node_may_go_anywhere() -> None:
    assert accepted(NodeName(), CLUSTER, make_pod()) == ["a", "b", "c"]


def test_a_pod_goes_to_the_node_it_names() -> None:
    pod = make_pod(node="b")
    assert accepted(NodeName(), CLUSTER, pod) == ["b"]
    assert accepted(NodeName(), CLUSTER, pod, ["a", "b"]) == ["b"]
    assert accepted(NodeName(), CLUSTER, pod, ["c"]) == []
    verdict = filtered(NodeName(), CLUSTER, pod)["a"]
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == ("node(s) didn't match the requested node name",)


def test_a_node_that_is_gone_is_nowhere() -> None:
    assert accepted(NodeName(), CLUSTER, make_pod(node="gone")) == []
