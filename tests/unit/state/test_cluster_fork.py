"""Forks of a cluster: what they cost, what they have, when they cannot be made."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from mooring import Node, Pod
from mooring.errors import MooringError
from mooring.model.workloads import Service
from mooring.state.aspects import Aspect
from mooring.state.cluster import Cluster
from mooring.state.memory_bounds import MemoryBounds
from mooring.testing import make_node, make_pod

CPU = {"cpu": "1"}


def small() -> Cluster:
    cluster = Cluster()
    for name in "ab":
        cluster.put_node(make_node(name))
    cluster.put_pod(make_pod("p", requests=CPU, node="a"))
    return cluster


def test_what_happens_in_a_fork_stays_there() -> None:
    cluster = small()
    fork = cluster.fork()
    fork.put_pod(make_pod("q", requests=CPU, node="a"))
    fork.remove_node("b")
    fork.put(Service.from_dict({"metadata": {"name": "web"}}))
    assert (cluster.nodes["a"].used["cpu"], fork.nodes["a"].used["cpu"]) == (1000, 2000)
    assert cluster.columns.used("cpu").tolist() == [1000, 0]
    assert fork.columns.used("cpu").tolist() == [2000]
    assert list(cluster.nodes) == ["a", "b"]
    assert cluster.pod("default", "q") is None
    assert cluster.catalog.all(Service) == {}


def test_what_happens_in_the_cluster_is_not_seen_in_its_fork() -> None:
    cluster = small()
    fork = cluster.fork()
    cluster.remove_pod("default/p")
    cluster.put_node(make_node("a", cpu="2"))
    assert (cluster.nodes["a"].free["cpu"], fork.nodes["a"].free["cpu"]) == (2000, 7000)
    assert [one.name for one in fork.pods_on(0)] == ["p"]


def test_a_fork_goes_on_where_the_cluster_was() -> None:
    cluster = small()
    waiting, nominated = make_pod("w", requests=CPU), make_pod("n", requests=CPU)
    for one in (waiting, nominated):
        cluster.put_pod(one)
    cluster.assume(waiting, "b", {"card": "1"})
    cluster.nominations.put(nominated, "b")
    fork = cluster.fork()
    assert fork.nominations.node_of("default/n") == "b"
    assert fork.assumed == 1
    fork.forget("default/w")
    assert (cluster.assumed, fork.assumed) == (1, 0)
    assert (cluster.nodes["b"].used["cpu"], fork.nodes["b"].used["cpu"]) == (1000, 0)
    fork.nominations.remove("default/n")
    assert cluster.nominations.node_of("default/n") == "b"
    assert fork.shape_of(waiting) is cluster.shape_of(waiting)


def test_a_fork_can_be_forked_and_outlives_its_parent() -> None:
    cluster = small()
    fork = cluster.fork()
    fork.put_pod(make_pod("q", requests=CPU, node="a"))
    grandchild = fork.fork()
    fork.remove_pod("default/p")
    del cluster, fork
    assert grandchild.nodes["a"].used["cpu"] == 2000
    grandchild.remove_node("a")
    assert grandchild.columns.names == ["b"]


def test_a_node_that_was_read_before_shows_what_was_then() -> None:
    cluster = small()
    read = cluster.nodes["a"]
    fork = cluster.fork()
    cluster.remove_pod("default/p")
    assert (read.used["cpu"], cluster.nodes["a"].used["cpu"]) == (1000, 0)
    assert fork.nodes["a"] is read  # nobody has written to it there


def test_nobody_can_write_to_what_both_have() -> None:
    fork = small().fork()
    node: Any = fork.nodes["a"]
    for amounts in (node.used, node.free, node.allocatable, fork.pods_on(0)[0].requests):
        with pytest.raises(TypeError, match="read-only"):
            amounts["cpu"] -= 1


def test_a_cluster_cannot_be_forked_in_the_middle_of_a_what_if() -> None:
    cluster, guest = small(), make_pod("guest")
    cluster.add_what_if(guest, 1)
    with pytest.raises(MooringError, match="hypothetically"):
        cluster.fork()
    cluster.remove_what_if(guest, 1)
    assert cluster.fork().pods_on(1) == ()
    cluster.remove_what_if(cluster.pods_on(0)[0], 0)
    with pytest.raises(MooringError, match="hypothetically"):
        cluster.fork()


def test_what_ifs_of_hooks_that_run_are_not_those_of_the_fork() -> None:
    cluster = small()
    cluster.open_what_ifs.append("a hook")
    assert cluster.fork().open_what_ifs == []


def test_a_fork_without_pods_says_nothing_about_usage() -> None:
    cluster = Cluster(has_pods=False)
    cluster.put_node(make_node("a"))
    fork = cluster.fork()
    fork.put_node(make_node("b"))
    assert fork.usage("a") is None
    assert list(cluster.nodes) == ["a"]


def test_nothing_that_was_remembered_is_in_a_fork() -> None:
    cluster = small()
    asked: list[str] = []

    def ask(one: Cluster, name: str) -> str:
        def compute() -> str:
            asked.append(name)
            return name

        return one.columns.remember("x", compute, Aspect.LABELS)

    fork = cluster.fork()
    assert [ask(cluster, "cluster"), ask(fork, "fork"), ask(cluster, "again")] == [
        "cluster", "fork", "cluster",
    ]  # fmt: skip
    fork.put_node(make_node("a", labels={"zone": "west"}))
    assert [ask(cluster, "cluster"), ask(fork, "anew")] == ["cluster", "anew"]
    assert asked == ["cluster", "fork", "anew"]


def test_equal_versions_of_a_catalog_mean_equal_objects_in_all_forks() -> None:
    cluster = small()
    services = [Service.from_dict({"metadata": {"name": name}}) for name in "xyz"]
    cluster.put(services[0])
    fork = cluster.fork()
    assert fork.catalog.version(Service) == cluster.catalog.version(Service)
    cluster.put(services[1])
    fork.put(services[2])
    assert fork.catalog.version(Service) != cluster.catalog.version(Service)


# -- what a fork costs


def crowded(nodes: int, pods: int, bounds: MemoryBounds | None = None) -> Cluster:
    """Every pod has labels, terms and a port of its own, every node images and a label."""
    cluster = Cluster() if bounds is None else Cluster(bounds=bounds)
    for number in range(nodes):
        images = [{"names": [f"image-{number}-{one}"], "sizeBytes": 1} for one in range(10)]
        cluster.put_node(
            Node.from_dict(
                {
                    "metadata": {"name": f"n{number}", "labels": {f"own-{number}": "x"}},
                    "status": {"allocatable": {"cpu": "9", "pods": "99"}, "images": images},
                }
            )
        )
    for number in range(pods):
        cluster.put_pod(own_pod(number, f"n{number % nodes}"))
    return cluster


def own_pod(number: int, node: str = "") -> Pod:
    selector = {"matchLabels": {"pod": str(number)}}
    term = {"topologyKey": "zone", "labelSelector": selector}
    spec: dict[str, Any] = {
        "nodeName": node,
        "containers": [
            {
                "resources": {"requests": {"cpu": "1", f"x.io/own-{number}": "1"}},
                "ports": [{"hostPort": 1 + number}],
            }
        ],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": f"c{number}"}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    }
    meta = {"name": f"p{number}", "uid": f"u{number}", "labels": {"pod": str(number)}}
    return Pod.from_dict({"metadata": meta, "spec": spec})


def allocated(make: Callable[[], object]) -> int:
    """How many bytes something takes that is made now."""
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del made
    return taken


def test_a_fork_costs_the_same_with_few_pods_and_with_many() -> None:
    few, many = crowded(200, 200), crowded(200, 3000)
    cost = [allocated(cluster.fork) for cluster in (few, many)]
    assert max(cost) < 200_000
    assert abs(cost[0] - cost[1]) < 5_000


def test_a_fork_costs_a_few_words_for_each_node() -> None:
    cost = [allocated(crowded(nodes, 10).fork) for nodes in (100, 1100)]
    assert cost[1] - cost[0] < 1000 * 250


def test_a_write_copies_one_entry_and_not_all() -> None:
    cluster = crowded(50, 500)
    fork = cluster.fork()
    fork.put_pod(own_pod(1000, "n7"))
    fork.remove_pod("default/p8")
    groups, forked = (one.pod_counts._groups.entries for one in (cluster, fork))
    assert sum(forked[key] is not one for key, one in groups.items()) == 1
    assert sum(fork.nodes[name] is not one for name, one in cluster.nodes.items()) == 2
    images = cluster.columns._images._by_name
    assert fork.columns._images._by_name.entries is images.entries
    assert fork.columns.allocatable("cpu").base is cluster.columns.allocatable("cpu").base
    assert fork.columns.used("cpu").base is not cluster.columns.used("cpu").base


def test_names_that_are_gone_cost_nothing_in_a_fork_either() -> None:
    """What pods of a fork invent goes with them, and what they ask for has a limit."""
    bounds = MemoryBounds(results=5, selectors=5, empty=5, templates=5)
    cluster = crowded(4, 40, bounds)
    fork = cluster.fork()
    for number in range(100, 300):
        fork.put_pod(own_pod(number, "n1"))
        fork.shape_of(own_pod(number)).data["plugin"] = number
        fork.pod_counts.matching(number, lambda _: True)
        fork.columns.remember(number, lambda: 0, Aspect.LABELS)
        fork.remove_pod(f"default/p{number}")
    for number in range(40):
        fork.remove_pod(f"default/p{number}")
    assert len(fork.columns._memo) <= 5
    assert len(fork.pod_counts._followed) <= 5
    assert len(fork.pod_counts._groups) <= 15
    assert len(fork.anti_affinity._terms) <= 15
    assert len(fork.columns._used) == 4
    assert len(fork.columns._ports._counts) == len(fork.columns._ports._addresses) == 0
    assert len(fork._claims) == len(fork._pods) == len(fork._by_uid) == 0
    assert len(fork.shapes.remembering._specs) <= 5
    assert len(cluster.pod_counts._groups) == 40
