from typing import Any

import pytest

from mooring import Node, Pod, QuantityError
from mooring.errors import NotAvailable
from mooring.model.change import Gone, Put
from mooring.model.workloads import Service
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

CPU = {"cpu": "1"}


def cluster_with(*things: Pod | Node) -> Cluster:
    cluster = Cluster()
    cluster.apply(Put(thing) for thing in things)
    return cluster


def finished(name: str, node: str) -> Pod:
    raw: dict[str, Any] = make_pod(name, requests=CPU, node=node).raw
    return Pod.from_dict({**raw, "status": {"phase": "Succeeded"}})


def recreated(name: str, node: str = "") -> Pod:
    raw: dict[str, Any] = make_pod(name, requests=CPU, node=node).raw
    return Pod.from_dict({**raw, "metadata": {**raw["metadata"], "uid": "second-life"}})


def where(cluster: Cluster, name: str = "p") -> str | None:
    """The node a pod counts on; empty while it waits, None if it is not known."""
    pod = cluster.pod("default", name)
    on = [node.name for node in cluster.nodes.values() if pod in node.pods]
    if pod is None:
        assert on == []
        return None
    assert on == ([pod.node_name] if pod.node_name in cluster.nodes else [])
    assert cluster.pod_by_uid(pod.uid) is pod
    return pod.node_name


def test_a_pod_without_node_waits_and_counts_nowhere() -> None:
    cluster = cluster_with(make_node("a"), make_pod("p", requests=CPU))
    assert where(cluster) == ""
    assert (cluster.pods, cluster.assumed) == (1, 0)
    assert cluster.nodes["a"].used["cpu"] == 0


def test_an_assumed_pod_counts_on_its_node() -> None:
    pod = make_pod("p", requests=CPU, annotations={"old": "1"})
    cluster = cluster_with(make_node("a"), pod)
    placed = cluster.assume(pod, "a", {"card": "0"})
    assert where(cluster) == "a"
    assert cluster.assumed == 1
    assert dict(cluster.nodes["a"].used) == {"cpu": 1000, "pods": 1}
    assert cluster.nodes["a"].pods == (placed,)
    assert placed.annotations == {"old": "1", "card": "0"}
    assert pod.annotations == {"old": "1"}


def test_a_put_with_node_confirms_an_assumed_pod() -> None:
    pod = make_pod("p", requests=CPU)
    cluster = cluster_with(make_node("a"), pod)
    cluster.assume(pod, "a")
    cluster.apply([Put(make_pod("p", requests=CPU, node="a"))])
    assert where(cluster) == "a"
    assert cluster.assumed == 0
    assert cluster.nodes["a"].used["cpu"] == 1000
    cluster.forget("default/p")
    assert where(cluster) == "a"


def test_a_put_with_another_node_moves_an_assumed_pod_there() -> None:
    pod = make_pod("p", requests=CPU)
    cluster = cluster_with(make_node("a"), make_node("b"), pod)
    cluster.assume(pod, "a")
    cluster.apply([Put(make_pod("p", requests=CPU, node="b"))])
    assert where(cluster) == "b"
    assert (cluster.assumed, cluster.nodes["a"].used["cpu"]) == (0, 0)


def test_forgetting_takes_everything_back() -> None:
    pod = make_pod("p", requests=CPU)
    cluster = cluster_with(make_node("a"), pod)
    cluster.assume(pod, "a", {"card": "0"})
    cluster.forget("default/p")
    assert where(cluster) == ""
    assert cluster.assumed == 0
    assert cluster.pod("default", "p") is pod  # without the annotations that were never written
    assert cluster.nodes["a"].used["cpu"] == cluster.nodes["a"].used["pods"] == 0


def test_forgetting_what_was_never_assumed_does_nothing() -> None:
    cluster = cluster_with(make_node("a"), make_pod("p", requests=CPU, node="a"))
    cluster.forget("default/p")
    cluster.forget("default/unheard-of")
    assert where(cluster) == "a"


def test_a_bound_pod_that_was_assumed_again_is_bound_after_forgetting() -> None:
    bound = make_pod("p", requests=CPU, node="a")
    cluster = cluster_with(make_node("a"), bound)
    cluster.assume(bound, "a")
    assert cluster.nodes["a"].used["cpu"] == 1000
    cluster.forget("default/p")
    assert where(cluster) == "a"


def test_an_assumed_pod_seen_again_without_node_stays_assumed() -> None:
    pod = make_pod("p", requests=CPU, annotations={"note": "old"})
    cluster = cluster_with(make_node("a"), pod)
    cluster.assume(pod, "a", {"card": "0"})
    newer = make_pod("p", requests={"cpu": "2"}, annotations={"note": "new"})
    cluster.apply([Put(newer)])
    assert where(cluster) == "a"
    assert cluster.assumed == 1
    assert cluster.nodes["a"].used["cpu"] == 2000
    known = cluster.pod("default", "p")
    assert known is not None
    assert known.annotations == {"note": "new", "card": "0"}
    cluster.forget("default/p")
    assert cluster.pod("default", "p") is newer


def test_a_recreated_pod_of_the_same_name_is_not_assumed() -> None:
    pod = make_pod("p", requests=CPU)
    cluster = cluster_with(make_node("a"), pod)
    cluster.assume(pod, "a")
    cluster.apply([Put(recreated("p"))])
    assert where(cluster) == ""
    assert cluster.assumed == 0
    assert cluster.pod_by_uid(pod.uid) is None
    assert cluster.nodes["a"].used["cpu"] == 0


@pytest.mark.parametrize("state", ["waiting", "assumed", "bound"])
@pytest.mark.parametrize("end", ["gone", "finished"])
def test_a_pod_that_is_gone_or_finished_leaves_nothing(state: str, end: str) -> None:
    pod = make_pod("p", requests=CPU, node="a" if state == "bound" else "")
    cluster = cluster_with(make_node("a"), pod)
    if state == "assumed":
        cluster.assume(pod, "a")
    cluster.apply([Gone(pod) if end == "gone" else Put(finished("p", pod.node_name))])
    assert where(cluster) is None
    assert (cluster.pods, cluster.assumed) == (0, 0)
    assert cluster.pod_by_uid(pod.uid) is None
    assert not any(cluster.nodes["a"].used.values())


def test_what_is_not_known_may_be_gone() -> None:
    cluster = Cluster()
    cluster.apply([Gone(make_pod("p")), Gone(make_node("a"))])
    assert (cluster.pods, cluster.nodes) == (0, {})


def test_other_objects_are_looked_up_in_the_catalog() -> None:
    cluster = Cluster()
    service = Service.from_dict({"metadata": {"name": "web", "namespace": "shop"}})
    cluster.apply([Put(service)])
    assert cluster.catalog.get(Service, "shop/web") is service
    assert (cluster.pods, cluster.nodes) == (0, {})
    cluster.apply([Gone(service)])
    assert cluster.catalog.get(Service, "shop/web") is None


def test_a_changed_pod_counts_with_its_new_requests() -> None:
    cluster = cluster_with(make_node("a"), make_pod("p", requests=CPU, node="a"))
    cluster.apply([Put(make_pod("p", requests={"cpu": "3"}, node="a"))])
    assert dict(cluster.nodes["a"].used) == {"cpu": 3000, "pods": 1}


def test_pods_may_come_before_their_node() -> None:
    cluster = cluster_with(make_pod("p", requests=CPU, node="a"))
    assert where(cluster) == "a"
    cluster.apply([Put(make_node("a"))])
    assert cluster.nodes["a"].used["cpu"] == 1000
    assert [pod.name for pod in cluster.nodes["a"].pods] == ["p"]


def test_pods_stay_counted_while_their_node_is_away() -> None:
    cluster = cluster_with(make_node("a"), make_pod("p", requests=CPU, node="a"))
    cluster.apply([Gone(make_node("a"))])
    assert cluster.nodes == {}
    cluster.apply([Put(make_node("a"))])
    assert cluster.nodes["a"].used["cpu"] == 1000


def test_a_pod_that_goes_leaves_the_others_on_an_unknown_node() -> None:
    cluster = cluster_with(*(make_pod(name, requests=CPU, node="a") for name in "pq"))
    cluster.apply([Gone(make_pod("p")), Put(make_node("a"))])
    assert cluster.nodes["a"].used["cpu"] == 1000


def test_nothing_is_kept_of_nodes_and_pods_that_are_gone() -> None:
    cluster = cluster_with(make_node("a"), make_pod("p", requests=CPU, node="a"))
    cluster.apply([Gone(make_node("a")), Gone(make_pod("p"))])
    cluster.apply([Put(make_node("b")), Gone(make_node("b"))])
    assert cluster._usage == {}


def test_a_replaced_node_keeps_its_usage() -> None:
    cluster = cluster_with(make_node("a"), make_pod("p", requests=CPU, node="a"))
    cluster.apply([Put(make_node("a", cpu="4"))])
    assert cluster.nodes["a"].free["cpu"] == 3000


def test_pods_on_a_node_are_in_the_order_they_came() -> None:
    names = ["c", "a", "b"]
    cluster = cluster_with(make_node("n"), *(make_pod(name, node="n") for name in names))
    assert [pod.name for pod in cluster.nodes["n"].pods] == names
    assert cluster.nodes["n"].pods is cluster.nodes["n"].pods  # made once, until a pod changes


def test_pods_of_equal_names_in_two_namespaces_are_two() -> None:
    one, other = (make_pod("p", namespace=space, node="a") for space in ("x", "y"))
    cluster = cluster_with(make_node("a"), one, other)
    assert cluster.nodes["a"].used["pods"] == 2
    assert (cluster.pod("x", "p"), cluster.pod("y", "p")) == (one, other)


def test_a_pod_without_id_is_known_by_its_name_only() -> None:
    cluster = cluster_with(Pod.from_dict({"metadata": {"name": "p"}}))
    assert cluster.pod("default", "p") is not None
    assert cluster.pod_by_uid("") is None
    cluster.apply([Gone(make_pod("p"))])
    assert cluster.pods == 0


@pytest.mark.parametrize("state", ["unknown", "waiting", "assumed", "bound"])
def test_an_impossible_quantity_raises_and_changes_nothing(state: str) -> None:
    pod = make_pod("p", requests=CPU, node="a" if state == "bound" else "")
    cluster = cluster_with(make_node("a"))
    if state != "unknown":
        cluster.apply([Put(pod)])
    if state == "assumed":
        cluster.assume(pod, "a")
    before = (where(cluster), cluster.pods, cluster.assumed, dict(cluster.nodes["a"].used))
    with pytest.raises(QuantityError):
        cluster.apply([Put(make_pod("p", requests={"cpu": "lots"}, node="a"))])
    assert before == (where(cluster), cluster.pods, cluster.assumed, dict(cluster.nodes["a"].used))
    cluster.forget("default/p")
    assert cluster.assumed == 0
    assert where(cluster) == {"unknown": None, "bound": "a"}.get(state, "")


def test_an_impossible_quantity_is_no_matter_while_the_pod_waits() -> None:
    pod = make_pod("p", requests={"cpu": "lots"})
    cluster = cluster_with(make_node("a"), pod)
    with pytest.raises(QuantityError):
        cluster.assume(pod, "a")
    assert where(cluster) == ""
    assert cluster.assumed == 0


def test_without_pods_nothing_is_said_about_usage() -> None:
    cluster = Cluster(has_pods=False)
    cluster.put_node(make_node("a"))
    assert cluster.usage("a") is None
    with pytest.raises(NotAvailable):
        _ = cluster.nodes["a"].free


def with_port(name: str, node: str = "") -> Pod:
    return Pod.from_dict(
        {
            "metadata": {"name": name},
            "spec": {"nodeName": node, "containers": [{"ports": [{"hostPort": 80}]}]},
        }
    )


def test_a_pod_taken_off_in_a_what_if_frees_its_port_even_if_another_has_it() -> None:
    cluster = cluster_with(make_node("a"), with_port("p", "a"), with_port("q", "a"))
    taken = ("10.0.0.1", "TCP", 80)
    first = cluster.pods_on(0)[0]
    cluster.remove_what_if(first, 0)
    assert cluster.columns.port_mask(*taken).tolist() == [False]
    cluster.add_what_if(first, 0)
    assert cluster.columns.port_mask(*taken).tolist() == [True]
    cluster.remove_pod("default/p")
    assert cluster.columns.port_mask(*taken).tolist() == [True]


def test_a_port_taken_in_a_what_if_is_free_again_afterwards() -> None:
    cluster = cluster_with(make_node("a"), make_node("b"), with_port("p", "b"))
    guest = with_port("guest")
    for row in (0, 1):
        cluster.add_what_if(guest, row)
        assert cluster.columns.port_mask("0.0.0.0", "TCP", 80).tolist() == [row == 0, True]  # noqa: S104
        cluster.remove_what_if(guest, row)
    assert cluster.columns.port_mask("0.0.0.0", "TCP", 80).tolist() == [False, True]  # noqa: S104


def test_sums_beyond_64_bits_wrap_around_as_in_go() -> None:
    most = {"cpu": "9223372036854775807m"}
    cluster = cluster_with(
        make_node("a"),
        make_pod("p", requests=most, node="a"),
        make_pod("q", requests=most, node="a"),
    )
    assert cluster.columns.used("cpu").tolist() == [-2]
    cluster.remove_pod("default/p")
    assert cluster.columns.used("cpu").tolist() == [2**63 - 1]


def test_one_node_and_one_pod_can_be_in_several_clusters() -> None:
    node, pod = make_node("a"), make_pod("p", requests=CPU, node="a")
    busy, idle = cluster_with(node, pod), cluster_with(node)
    assert (busy.nodes["a"].used["cpu"], idle.nodes["a"].used["cpu"]) == (1000, 0)
    idle.apply([Put(pod), Put(make_pod("q", requests=CPU, node="a"))])
    assert (busy.nodes["a"].used["cpu"], idle.nodes["a"].used["cpu"]) == (1000, 2000)
    assert busy.shape_of(pod) is not idle.shape_of(pod)
    with pytest.raises(NotAvailable):
        _ = node.used


def test_a_node_of_one_cluster_can_be_put_into_another() -> None:
    busy = cluster_with(make_node("a"), make_pod("p", requests=CPU, node="a"))
    other = Cluster(has_pods=False)
    other.put_node(busy.nodes["a"])
    with pytest.raises(NotAvailable):
        _ = other.nodes["a"].used
    assert cluster_with(busy.nodes["a"]).nodes["a"].used["cpu"] == 0
    assert busy.nodes["a"].used["cpu"] == 1000


def test_the_shape_of_a_pod_is_kept_as_long_as_it_is_the_same() -> None:
    waiting, bound = make_pod("p", requests=CPU), make_pod("p", requests=CPU, node="a")
    cluster = cluster_with(make_node("a"), waiting)
    shape = cluster.shape_of(waiting)
    placed = cluster.assume(waiting, "a")
    assert cluster.shape_of(placed) is shape
    cluster.put_pod(bound)
    assert cluster.shape_of(bound) is shape
    running = Pod.from_dict({**bound.raw, "status": {"phase": "Running"}})
    before = cluster.columns.generation.tolist()
    cluster.put_pod(running)
    assert cluster.shape_of(running) is shape
    assert cluster.columns.generation.tolist() == before  # nothing counts otherwise
    assert cluster.pods_on(0) == (running,)
    larger = make_pod("p", requests={"cpu": "2"}, node="a")
    cluster.put_pod(larger)
    assert cluster.shape_of(larger) is not shape
    assert cluster.columns.used("cpu").tolist() == [2000]


def test_a_pod_that_was_forgotten_has_its_shape() -> None:
    waiting = make_pod("p", requests=CPU)
    cluster = cluster_with(make_node("a"), waiting)
    cluster.assume(waiting, "a")
    newer = make_pod("p", requests={"cpu": "3"})
    cluster.put_pod(newer)
    cluster.forget("default/p")
    assert cluster.shape_of(newer).requests["cpu"] == 3000


def test_a_pod_that_is_being_deleted_counts_among_those() -> None:
    bound = make_pod("p", requests=CPU, node="a")
    cluster = cluster_with(make_node("a"), bound)
    metadata = {**bound.raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    cluster.put_pod(Pod.from_dict({**bound.raw, "metadata": metadata}))
    leaving = cluster.pod_counts.matching("leaving", lambda group: group.terminating)
    staying = cluster.pod_counts.matching("staying", lambda group: not group.terminating)
    assert (leaving.tolist(), staying.tolist()) == ([1], [0])
