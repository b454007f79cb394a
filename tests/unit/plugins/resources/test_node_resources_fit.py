from typing import Any

import pytest

from mooring.model.pod import Pod
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import (
    accepted,
    begin,
    cluster_of,
    filtered,
    made,
    pre_filtered,
    problems,
    scored,
    with_status,
)

GPU = "example.com/gpu"
FPGA = "example.com/fpga"


def asking(**requests: str) -> Pod:
    return make_pod(requests={name.replace("_", "-"): text for name, text in requests.items()})


def reasons(cluster: Cluster, pod: Pod, node: str = "a", **args: Any) -> tuple[str, ...]:
    """Why a node is rejected, asked together with the other nodes and on its own."""
    plugin = made(NodeResourcesFit, **args)
    together, alone = filtered(plugin, cluster, pod)[node], filtered(plugin, cluster, pod, [node])
    assert alone == {node: together}
    return together.reasons


def test_a_pod_fits_exactly() -> None:
    cluster = cluster_of(
        make_node("a", cpu="1", memory="1Gi"), make_pod("p", requests={"cpu": "400m"}, node="a")
    )
    assert reasons(cluster, asking(cpu="600m", memory="1Gi")) == ()
    assert reasons(cluster, asking(cpu="601m")) == ("Insufficient cpu",)


def test_every_shortage_is_a_reason_in_a_fixed_order() -> None:
    taken = {
        "cpu": "1",
        "memory": "1Gi",
        "ephemeral-storage": "1Gi",
        GPU: "1",
        "hugepages-2Mi": "2",
    }
    cluster = cluster_of(
        make_node(
            "a",
            cpu="1",
            memory="1Gi",
            extended={"pods": 1, "ephemeral-storage": "1Gi", GPU: 1, "hugepages-2Mi": 2},
        ),
        make_node("b"),
        make_pod("p", requests=taken, node="a"),
    )
    assert reasons(cluster, make_pod(requests={**taken, "memory": "1"})) == (
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient ephemeral-storage",
        "Insufficient example.com/gpu",
        "Insufficient hugepages-2Mi",
    )


@pytest.mark.parametrize(
    ("requests", "code"),
    [
        ({"cpu": "1"}, "Unschedulable"),
        ({"cpu": "2001m"}, "UnschedulableAndUnresolvable"),
        ({"cpu": "1", "memory": "2Gi"}, "UnschedulableAndUnresolvable"),
        ({"cpu": "1", GPU: "1"}, "UnschedulableAndUnresolvable"),
    ],
)
def test_preempting_does_not_help_if_the_node_is_too_small(
    requests: dict[str, str], code: str
) -> None:
    cluster = cluster_of(
        make_node("a", cpu="2", memory="1Gi"), make_pod("p", requests={"cpu": "1500m"}, node="a")
    )
    verdict = filtered(made(NodeResourcesFit), cluster, make_pod(requests=requests))["a"]
    assert verdict.code == code


def test_too_many_pods_can_be_helped_even_if_the_node_takes_none() -> None:
    cluster = cluster_of(make_node("a", extended={"pods": 0}))
    verdict = filtered(made(NodeResourcesFit), cluster, make_pod())["a"]
    assert (verdict.code, verdict.reasons) == ("Unschedulable", ("Too many pods",))


def test_a_pod_that_asks_for_nothing_fits_on_a_full_node() -> None:
    full = make_pod("p", requests={"cpu": "8", "memory": "32Gi"}, node="a")
    cluster = cluster_of(make_node("a"), full)
    assert reasons(cluster, make_pod()) == ()
    assert reasons(cluster, asking(cpu="0", memory="0")) == ()


def test_resources_of_no_known_form_count_for_nothing() -> None:
    cluster = cluster_of(make_node("a"))
    assert reasons(cluster, make_pod(requests={"pods": "500", "foo": "1", "storage": "1Ti"})) == ()
    assert reasons(cluster, make_pod(requests={"kubernetes.io/x": "1"})) == (
        "Insufficient kubernetes.io/x",
    )


def test_ignored_resources_are_not_looked_at() -> None:
    cluster = cluster_of(make_node("a"))
    pod = make_pod(requests={GPU: "1", FPGA: "1", "hugepages-2Mi": "2Mi"})
    huge, gpu, fpga = (f"Insufficient {name}" for name in ("hugepages-2Mi", GPU, FPGA))
    assert reasons(cluster, pod) == (fpga, gpu, huge)
    assert reasons(cluster, pod, ignoredResources=[GPU]) == (fpga, huge)
    assert reasons(cluster, pod, ignoredResourceGroups=["example.com"]) == (huge,)
    # Only extended resources can be ignored.
    assert reasons(cluster, pod, ignoredResources=["hugepages-2Mi", FPGA]) == (gpu, huge)


def test_the_spec_counts_and_not_the_status() -> None:
    pod = with_status(
        asking(cpu="1"),
        containerStatuses=[{"name": "c0", "resources": {"requests": {"cpu": "100"}}}],
    )
    assert reasons(cluster_of(make_node("a")), pod) == ()


def test_a_pod_is_never_rejected_or_skipped_as_such() -> None:
    assert pre_filtered(made(NodeResourcesFit), cluster_of(make_node("a")), make_pod()) is None


def test_changes_between_two_questions_are_seen() -> None:
    nodes = [make_node(f"n{number}", cpu="1") for number in range(20)]
    cluster, plugin, pod = cluster_of(*nodes), made(NodeResourcesFit), asking(cpu="600m")
    cycle = begin(cluster, pod)
    plugin.pre_filter(cycle)
    assert plugin.filter_nodes(pod, cycle.nodes) is None
    cluster.add_what_if(make_pod("other", requests={"cpu": "500m"}), 7)
    answer = plugin.filter_nodes(pod, cycle.nodes)
    assert answer is not None
    assert [place for place, one in enumerate(answer) if not one.accepted] == [7]
    cluster.remove_what_if(make_pod("other", requests={"cpu": "500m"}), 7)
    assert plugin.filter_nodes(pod, cycle.nodes) is None
    # Many at once are computed together, and some nodes can be asked for.
    for number in range(0, 20, 2):
        cluster.put(make_pod(f"p{number}", requests={"cpu": "1"}, node=f"n{number}"))
    names = [f"n{number}" for number in range(20)]
    assert accepted(plugin, cluster, pod) == names[1::2]
    assert accepted(plugin, cluster, pod, names[3:7]) == ["n3", "n5"]
    # Some, but fewer than a quarter.
    for number in (1, 3, 5, 7, 9):
        cluster.put(make_pod(f"q{number}", requests={"cpu": "1"}, node=f"n{number}"))
    assert accepted(plugin, cluster, pod) == ["n11", "n13", "n15", "n17", "n19"]


def test_more_resources_than_bits_in_a_number() -> None:
    wanted = {f"example.com/r{number:03}": "1" for number in range(80)}
    some = dict.fromkeys(list(wanted)[:40], 1)
    cluster = cluster_of(
        make_node("a", extended=wanted), make_node("b", extended=some), make_node("c")
    )
    found = filtered(made(NodeResourcesFit), cluster, make_pod(requests=wanted))
    assert found["a"].accepted
    assert found["b"].reasons == tuple(f"Insufficient {name}" for name in list(wanted)[40:])
    assert len(found["c"].reasons) == 80
    assert found["c"].unresolvable


def test_the_emptier_node_is_better_by_default() -> None:
    cluster = cluster_of(
        make_node("a", cpu="4", memory="8Gi"),
        make_node("b", cpu="8", memory="8Gi"),
        make_pod("p", requests={"cpu": "1", "memory": "1Gi"}, node="a"),
    )
    pod = asking(cpu="1", memory="1Gi")
    # a: (50 + 75) / 2, b: (87 + 87) / 2
    assert scored(made(NodeResourcesFit), cluster, pod) == {"a": 62, "b": 87}
    assert scored(made(NodeResourcesFit), cluster, pod, ["b"]) == {"b": 87}


def test_silent_containers_count_something_in_scores() -> None:
    cluster = cluster_of(
        make_node("a", cpu="1", memory="2000Mi"), make_pod("p", images=("x", "y"), node="a")
    )
    # 2 * 100m and 2 * 200Mi are there, 100m and 200Mi come: (70 + 70) / 2
    assert scored(made(NodeResourcesFit), cluster, make_pod()) == {"a": 70}


def test_pod_level_requests_of_the_pod_do_not_count_in_scores() -> None:
    cluster = cluster_of(make_node("a", cpu="1", memory="2000Mi"))
    pod = make_pod(spec={"resources": {"requests": {"cpu": "900m", "memory": "1800Mi"}}})
    assert scored(made(NodeResourcesFit), cluster, pod) == {"a": 90}


def strategy(kind: str, *resources: tuple[str, int], **more: Any) -> dict[str, Any]:
    listed = [{"name": name, "weight": weight} for name, weight in resources]
    return {"scoringStrategy": {"type": kind, "resources": listed, **more}}


def test_a_scalar_resource_counts_only_for_pods_that_ask_for_it() -> None:
    plugin = made(NodeResourcesFit, **strategy("MostAllocated", ("cpu", 1), (GPU, 3)))
    cluster = cluster_of(make_node("a", cpu="1", extended={GPU: 4}), make_node("b", cpu="1"))
    assert scored(plugin, cluster, asking(cpu="500m")) == {"a": 50, "b": 50}
    pod = make_pod(requests={"cpu": "500m", GPU: "1"})
    assert scored(plugin, cluster, pod) == {"a": 31, "b": 50}  # (50 + 3 * 25) / 4
    only = made(NodeResourcesFit, **strategy("LeastAllocated", (GPU, 1), ("pods", 5), ("foo", 9)))
    assert scored(only, cluster, asking(cpu="500m")) == {"a": 0, "b": 0}


def test_ephemeral_storage_counts_for_every_pod() -> None:
    plugin = made(NodeResourcesFit, **strategy("LeastAllocated", ("ephemeral-storage", 1)))
    cluster = cluster_of(
        make_node("a", extended={"ephemeral-storage": "10Gi"}),
        make_node("b"),
        make_pod("p", requests={"ephemeral-storage": "4Gi"}, node="a"),
    )
    assert scored(plugin, cluster, make_pod()) == {"a": 60, "b": 0}


def test_a_shape_of_points() -> None:
    points = [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 10}]
    args = strategy(
        "RequestedToCapacityRatio", ("cpu", 0), requestedToCapacityRatio={"shape": points}
    )
    cluster = cluster_of(make_node("a", cpu="1"), make_node("b", cpu="4"))
    assert scored(made(NodeResourcesFit, **args), cluster, asking(cpu="1")) == {"a": 100, "b": 50}


def test_scores_follow_changes() -> None:
    nodes = [make_node(f"n{number}", cpu="1", memory="1Gi") for number in range(8)]
    cluster = cluster_of(*nodes)
    plugin, pod = made(NodeResourcesFit), asking(cpu="500m", memory="512Mi")
    assert set(scored(plugin, cluster, pod).values()) == {50}
    cluster.put(make_pod("p", requests={"cpu": "250m", "memory": "256Mi"}, node="n5"))
    assert scored(plugin, cluster, pod)["n5"] == 25
    cluster.put(make_node("n5", cpu="2", memory="1Gi"))
    assert scored(plugin, cluster, pod)["n5"] == 43  # (62 + 25) / 2


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            {"ignoredResources": ["gpu", "a b"]},
            ("args.ignoredResources[1]: 'a b' is not a valid name"),
        ),
        (
            {"ignoredResourceGroups": ["a/b"]},
            ("args.ignoredResourceGroups[0]: 'a/b' is not a valid prefix"),
        ),
        (
            {"ignoredResourceGroups": ["-"]},
            ("args.ignoredResourceGroups[0]: '-' is not a valid prefix"),
        ),
        ({"scoringStrategy": {}}, "args.scoringStrategy.type: '' is not supported"),
        (strategy("Most"), "args.scoringStrategy.type: 'Most' is not supported"),
        (
            strategy("MostAllocated", ("cpu", 1), ("memory", 101)),
            "args.scoringStrategy.resources[1].weight: 101 is out of range",
        ),
        (
            strategy("LeastAllocated", ("cpu", -1)),
            "args.scoringStrategy.resources[0].weight: -1 is out of range",
        ),
        (
            strategy("LeastAllocated", requestedToCapacityRatio={"shape": []}),
            "args.scoringStrategy.requestedToCapacityRatio: allowed only for type",
        ),
        (
            strategy("RequestedToCapacityRatio"),
            "args.scoringStrategy.requestedToCapacityRatio: required value is missing",
        ),
        (
            strategy("RequestedToCapacityRatio", requestedToCapacityRatio={}),
            "args.scoringStrategy.requestedToCapacityRatio.shape: must have at least one point",
        ),
        ({"scoringStrategi": {}}, "args.scoringStrategi: unknown field"),
    ],
)
def test_wrong_arguments(args: dict[str, Any], problem: str) -> None:
    found = problems(NodeResourcesFit, **args)
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_wrong_points() -> None:
    points = [
        {"utilization": 50, "score": 11},
        {"utilization": 50, "score": -1},
        {"utilization": 101, "score": 10},
    ]
    where = "args.scoringStrategy.requestedToCapacityRatio.shape"
    args = strategy("RequestedToCapacityRatio", requestedToCapacityRatio={"shape": points})
    assert problems(NodeResourcesFit, **args) == [
        f"{where}[1].utilization: must be greater than that of the previous point",
        f"{where}[0].score: 11 is out of range: must be from 0 to 10",
        f"{where}[1].score: -1 is out of range: must be from 0 to 10",
        f"{where}[2].utilization: 101 is out of range: must be from 0 to 100",
    ]


def test_resources_without_weight_or_none_at_all_are_allowed() -> None:
    bare = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}}
    assert problems(NodeResourcesFit, **bare) == []
    plugin = made(NodeResourcesFit, scoringStrategy={"type": "MostAllocated"})
    cluster = cluster_of(make_node("a", cpu="1", memory="1000Mi"))
    assert scored(plugin, cluster, asking(cpu="500m", memory="100Mi")) == {"a": 30}
