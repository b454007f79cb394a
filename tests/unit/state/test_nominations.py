"""Nominated nodes of waiting pods."""

from mooring import Pod
from mooring.model.change import Put
from mooring.state.cluster import Cluster
from mooring.state.nominations import Nominations
from mooring.testing import make_node


def pod(name: str, priority: int = 0, nominated: str = "", node: str = "") -> Pod:
    return Pod.from_dict(
        {
            "metadata": {"name": name},
            "spec": {"priority": priority, "nodeName": node},
            "status": {"nominatedNodeName": nominated},
        }
    )


def test_only_pods_of_at_least_the_same_priority_count_and_not_oneself() -> None:
    nominations = Nominations()
    for one in (pod("low", 1), pod("same", 5), pod("high", 9)):
        nominations.put(one, "a")
    mine = pod("same", 5)
    assert [one.name for one in nominations.counting("a", mine)] == ["high"]
    assert [one.name for one in nominations.counting("a", pod("new", 5))] == ["same", "high"]
    assert nominations.counting("b", mine) == []


def test_a_new_nomination_replaces_the_old_one() -> None:
    nominations = Nominations()
    nominations.put(pod("p"), "a")
    nominations.put(pod("p"), "b")
    assert (nominations.node_of("default/p"), nominations.nodes) == ("b", ["b"])
    nominations.remove("default/p")
    nominations.remove("default/p")
    assert not nominations


def test_the_cluster_notes_nominations_and_forgets_them_when_pods_are_placed() -> None:
    cluster = Cluster()
    cluster.put_node(make_node("a"))
    cluster.apply([Put(pod("p", nominated="a"))])
    assert cluster.nominations.node_of("default/p") == "a"
    cluster.apply([Put(pod("p", nominated="a", node="a"))])
    assert not cluster.nominations
