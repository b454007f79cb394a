"""What ``moor capacity`` and ``moor rebalance`` say is what happens, on random clusters."""

import random

import pytest

from mooring.embedded.resources import PODS
from mooring.explaining.explainer import Explainer
from mooring.simulator.capacity.filling import capacity
from mooring.simulator.capacity.node_search import NodeKind, NodeSearch
from mooring.simulator.capacity.pod_sets import WantedPod, copies
from mooring.simulator.forked_scheduler import Deciders, first
from mooring.simulator.node_groups import NodeGrouping
from mooring.simulator.rebalance.plan import Limits, Rebalancing
from tests.property.scheduled_cluster import ScheduledCluster
from tests.property.test_whatif_equals_doing import random_cluster

REQUESTS = {"cpu": "700m", "memory": "300Mi"}


def with_model(seed: int) -> tuple[ScheduledCluster, Explainer, WantedPod]:
    """A random cluster with one pod of another kind, of which more are wanted."""
    cluster = random_cluster(random.Random(seed), preempting=False)
    for app, _ in sorted(cluster.placements()):
        cluster.scale(app, 1)
    cluster.deployment("more", 1, REQUESTS)
    cluster.rest()
    explainer = Explainer(cluster.objects())
    pods = [one for one in explainer.cluster.all_pods() if one.labels["app"] == "more"]
    return cluster, explainer, WantedPod("more", pods[0])


def running(cluster: ScheduledCluster) -> int:
    return sum(n for (app, node), n in cluster.placements().items() if app == "more" and node)


@pytest.mark.parametrize("seed", range(10))
def test_as_many_pods_fit_as_it_says(seed: int) -> None:
    cluster, explainer, wanted = with_model(seed)
    deciders = Deciders(explainer.profiles, explainer.registry)
    groups = NodeGrouping(explainer.cluster.nodes.values())
    found = capacity(explainer, (wanted,), deciders, groups, 1000)
    cluster.scale("more", found.pods[0] + 6)
    assert running(cluster) == found.pods[0] + 1
    assert sum(one.pods[0] for one in found.groups) == found.pods[0]


@pytest.mark.parametrize("seed", range(10))
def test_so_many_nodes_are_needed_and_no_fewer(seed: int) -> None:
    cluster, explainer, wanted = with_model(seed)
    model = next(iter(explainer.cluster.nodes.values()))
    deciders = Deciders(explainer.profiles, explainer.registry)
    number = 60
    pods = [pod for _, pod in copies((wanted._replace(number=number),), 1)]
    found = NodeSearch(explainer, deciders, pods, [NodeKind(model, 1.0)], 200).search()
    assert found.nodes is not None
    needed = found.nodes[model.name]
    if needed:
        cluster.add(needed - 1, model.name)
        cluster.scale("more", 1 + number)
        assert running(cluster) < 1 + number
        cluster.add(1, model.name)
    else:
        cluster.scale("more", 1 + number)
    assert running(cluster) == 1 + number


@pytest.mark.parametrize("seed", range(12))
def test_moves_go_where_the_plan_says(seed: int) -> None:
    draw = random.Random(seed)
    cluster = random_cluster(draw, preempting=False)
    cluster.add(2, draw.choice(sorted({node for _, node in cluster.placements() if node})))
    explainer = Explainer(cluster.objects())
    deciders = Deciders(explainer.profiles, explainer.registry, choose=first)
    plan = Rebalancing(explainer, deciders, Limits(most=5, least_gain=10)).plan()
    for move in plan.moves:
        before = {one["metadata"]["name"] for one in cluster.all(PODS)}
        cluster.evict(move.pod.removeprefix("default/"))
        cluster.rest()
        new = [one for one in cluster.all(PODS) if one["metadata"]["name"] not in before]
        assert [one["spec"].get("nodeName") for one in new] == [move.target], move
        assert move.gain is None or move.gain >= 10
    assert len({move.pod for move in plan.moves}) == len(plan.moves)
