"""The clusters of `make bench-core` are what they claim to be, and decisions follow their rules."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.core.bench import Bench
from benchmarks.core.kinds import TEMPLATES
from benchmarks.core.workloads import WORKLOADS, ZONE
from mooring.model.defaults import Defaults
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.shapes import Shapes

NODES = 40
NAMES = list(WORKLOADS)
#: The workloads whose pods are in the mix.
ALONE = NAMES[: NAMES.index("mix")]


def placed(bench: Bench) -> list[tuple[Pod, Node]]:
    return [
        (pod, node)
        for row, node in enumerate(bench.cluster.columns.nodes)
        for pod in bench.cluster.pods_on(row)
    ]


def kind(pod: Pod) -> str:
    return pod.name.rpartition("-")[0]


def zones(found: list[tuple[Pod, Node]]) -> Counter[str]:
    return Counter(node.labels[ZONE] for _, node in found)


def assert_rules_hold(found: list[tuple[Pod, Node]]) -> None:
    """What each kind of pods demands of where they are."""
    of = {name: [(pod, node) for pod, node in found if kind(pod) == name] for name in ALONE}
    assert set(zones(of["node-affinity"])) <= {"zone1", "zone2"}
    apart = Counter((pod.labels["color"], node.name) for pod, node in of["anti-affinity"])
    assert set(apart.values()) <= {1}
    assert set(zones(of["affinity"])) <= {"zone1"}
    spread = zones(of["spread"])
    counts = [spread[zone] for zone in ("zone1", "zone2", "zone3")]
    assert max(counts) - min(counts) <= 5


@pytest.mark.parametrize("name", NAMES)
def test_objects_are_as_an_api_server_stores_them(name: str) -> None:
    defaults = Defaults()
    bench = Bench(WORKLOADS[name], NODES, 8)
    for pod in (*bench.new_pods(8), *(pod for pod, _ in placed(bench))):
        assert defaults.apply(pod) is pod
    for node in bench.cluster.columns.nodes:
        assert defaults.apply(node) is node


@pytest.mark.parametrize("name", NAMES)
def test_pods_are_put_on_nodes_evenly_and_within_their_rules(name: str) -> None:
    bench = Bench(WORKLOADS[name], NODES, 4 * NODES)
    found = placed(bench)
    assert len(found) == bench.cluster.pods == 4 * NODES
    assert_rules_hold(found)
    if name in ("plain", "anti-affinity", "spread"):
        assert set(bench.cluster.columns.used("pods").tolist()) == {4}


@pytest.mark.parametrize("name", NAMES)
def test_decisions_follow_the_rules_and_are_taken_back(name: str) -> None:
    bench = Bench(WORKLOADS[name], NODES, 8)
    before = bench.cluster.columns.used("cpu").copy()
    pods = bench.new_pods(24)
    bench.place(pods)
    found = placed(bench)
    assert len(found) == 8 + 24
    assert_rules_hold(found)
    bench.take_back(pods)
    assert len(placed(bench)) == bench.cluster.pods == 8
    assert np.array_equal(bench.cluster.columns.used("cpu"), before)


def test_preferences_decide() -> None:
    together = Bench(WORKLOADS["preferred-affinity"], NODES, 8)
    image = Bench(WORKLOADS["images"], NODES, 8)
    occupied = {node.name for _, node in placed(together)}
    for _ in range(3):
        pods = together.new_pods(1)
        assert together.place(pods)[0] in occupied
        together.take_back(pods)
        pods = image.new_pods(1)
        assert pods[0].images[0] in image.cluster.nodes[image.place(pods)[0]].images


def test_preferred_spread_keeps_zones_even() -> None:
    bench = Bench(WORKLOADS["preferred-spread"], NODES, 0)
    bench.place(bench.new_pods(30))
    counts = zones(placed(bench))
    assert max(counts.values()) - min(counts.values()) <= 2


@pytest.mark.parametrize("name", [name for name in ALONE if name != "images"])
def test_pods_of_a_kind_are_distinct_objects_of_one_template(name: str) -> None:
    first, second = Bench(WORKLOADS[name], NODES, 0).new_pods(2)
    assert first is not second
    assert first.key != second.key
    shapes = Shapes()
    assert shapes.of(first) is shapes.of(second)


@pytest.mark.parametrize("name", ["deployment", "stateful-set"])
def test_pods_with_a_service_are_spread_by_default(name: str) -> None:
    bench = Bench(WORKLOADS[name], NODES, 0)
    names = bench.place(bench.new_pods(30))
    counts = zones(placed(bench))
    assert max(counts.values()) - min(counts.values()) <= 2
    assert len(set(names)) == 30


@pytest.mark.parametrize("name", ["stateful-set", "indexed-job"])
def test_pods_with_an_index_have_labels_of_their_own(name: str) -> None:
    first, second = Bench(WORKLOADS[name], NODES, 0).new_pods(2)
    assert first.labels != second.labels
    shapes = Shapes()
    assert shapes.of(first) is not shapes.of(second)


def test_templates_come_in_random_order_with_requests_of_their_own() -> None:
    pods = Bench(WORKLOADS["templates"], NODES, 0).new_pods(400)
    apps = [pod.labels["app"] for pod in pods]
    assert len(set(apps)) == TEMPLATES
    assert apps[:50] != apps[50:100]
    assert len({(pod.labels["app"], pod.requests["cpu"]) for pod in pods}) == TEMPLATES
    shapes = Shapes()
    # Pods that keep apart are of one group here, so that every template is one shape.
    found = [shapes.of(pod) for pod in pods]
    assert len({id(shape) for shape in found}) == TEMPLATES


def test_a_bound_pod_is_the_same_pod_on_its_node() -> None:
    bench = Bench(WORKLOADS["deployment"], NODES, 8)
    pods = bench.new_pods(2)
    names = bench.place(pods)
    before = bench.cluster.columns.used("cpu").copy()
    for pod, name, seen in zip(pods, names, bench.seen_bound(pods, names), strict=True):
        assert (seen.key, seen.uid, seen.labels) == (pod.key, pod.uid, pod.labels)
        assert seen.node_name == name
        bench.bound(pod, name)
        bench.confirm(seen)
        assert bench.cluster.pod(pod.namespace, pod.name) is seen
    assert np.array_equal(bench.cluster.columns.used("cpu"), before)
    assert not bench.core.binding


def test_a_mix_has_all_kinds_in_turn() -> None:
    bench = Bench(WORKLOADS["mix"], NODES, 16)
    assert [kind(pod) for pod in bench.new_pods(16)] == [*ALONE, *ALONE]
    assert Counter(kind(pod) for pod, _ in placed(bench)) == dict.fromkeys(ALONE, 2)


def test_pods_to_place_are_new_each_time() -> None:
    bench = Bench(WORKLOADS["mix"], NODES, 16)
    keys = [pod.key for _ in range(3) for pod in bench.new_pods(11)]
    keys += [pod.key for pod, _ in placed(bench)]
    assert len(set(keys)) == 3 * 11 + 16


def test_the_same_seed_gives_the_same_decisions() -> None:
    def decided() -> list[str]:
        bench = Bench(WORKLOADS["mix"], NODES, 8)
        bench.place(bench.new_pods(16))
        return sorted(f"{pod.key} {node.name}" for pod, node in placed(bench))

    assert decided() == decided()
