"""What ``moor whatif`` says is what happens when it is really done, on random clusters.

The embedded cluster's own controllers and kubelets do it. Both sides choose the first of equally
good nodes. Workloads have different priorities, so that it does not matter in which order
controllers create their pods again.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from mooring.embedded.resources import NODES, PODS, PRIORITY_CLASSES
from mooring.explaining.explainer import Explainer
from mooring.simulator.forked_scheduler import Deciders, first
from mooring.simulator.node_groups import NodeGrouping, Prices
from mooring.simulator.whatif.operations import read_operations
from mooring.simulator.whatif.report import WhatIfReport, WhatIfSettings, what_if
from tests.property.scheduled_cluster import ScheduledCluster

ZONES = ("zone-a", "zone-b", "zone-c")
ZONE = "topology.kubernetes.io/zone"


class Deed(NamedTuple):
    """Something to be done, as it is typed and as it is done."""

    words: list[str]
    like: list[str]
    do: Callable[[ScheduledCluster], None]


@pytest.mark.parametrize("seed", range(40))
def test_what_if_says_what_happens(seed: int) -> None:
    draw = random.Random(seed)
    cluster = random_cluster(draw, preempting=seed % 4 == 0)
    objects, before = cluster.objects(), cluster.placements()
    # Always more replicas than before: which of equal pods a ReplicaSet deletes is open.
    deeds = [random_deed(draw, cluster, before, 9 + 4 * n) for n in range(draw.randint(1, 3))]
    words = " then ".join(" ".join(one.words) for one in deeds).split()

    report = asked(objects, words, [name for one in deeds for name in one.like])
    for deed in deeds:
        deed.do(cluster)

    after = cluster.placements()
    assert Counter(dict(said(report, before))) == after, words
    assert report.left_pending == sum(n for (_, node), n in after.items() if not node)
    assert not report.lost


def asked(objects: list[dict[str, object]], words: list[str], likes: list[str]) -> WhatIfReport:
    explainer = Explainer(objects)
    prices = Prices(NodeGrouping(explainer.cluster.nodes.values()))
    deciders = Deciders(explainer.profiles, explainer.registry)
    settings = WhatIfSettings(deciders, lambda _: (explainer.profiles, explainer.registry), prices)
    return what_if(explainer, read_operations(words, likes), settings)


def said(report: WhatIfReport, before: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Where the pods of each workload are in the end, from the report alone."""
    found = Counter(before)
    for one in (*report.moved, *report.created, *report.placed, *report.newly_pending):
        app = one.pod.removeprefix("default/").split("-")[0]
        if not one.new:
            found[app, one.source] -= 1
        found[app, one.target] += 1
    for one in report.deleted:
        found[one.pod.removeprefix("default/").split("-")[0], one.source] -= 1
    return +found


def random_cluster(draw: random.Random, *, preempting: bool) -> ScheduledCluster:
    cluster = ScheduledCluster(first)
    for number in range(draw.randint(4, 12)):
        cluster.node(f"node{number:02}", cpu=str(draw.choice([2, 4, 8])))
        zone = {ZONE: draw.choice(ZONES)}
        cluster.change(
            NODES,
            f"node{number:02}",
            lambda one: one["metadata"]["labels"].update(zone),  # noqa: B023
        )
    for number in range(draw.randint(2, 6)):
        name = f"class{number}"
        policy = "PreemptLowerPriority" if preempting else "Never"
        cluster.create(
            PRIORITY_CLASSES,
            {"metadata": {"name": name}, "value": number, "preemptionPolicy": policy},
        )
        app = f"app{number}"
        spec = {"priorityClassName": name, **draw.choice([{}, {}, spread(app), apart(app)])}
        requests = {"cpu": f"{draw.randint(1, 15)}00m", "memory": f"{draw.randint(1, 8)}00Mi"}
        cluster.deployment(app, draw.randint(1, 9), requests, **spec)
    cluster.rest()
    return cluster


def random_deed(
    draw: random.Random, cluster: ScheduledCluster, before: Counter[tuple[str, str]], least: int
) -> Deed:
    names = cluster.names(NODES)
    node, other = draw.sample(names, 2)
    app = draw.choice(sorted({app for app, _ in before}))
    number = draw.randint(1, 3)
    replicas = least + draw.randint(0, 4)
    match draw.randrange(4):
        case 0:
            return Deed(["drain", node, other], [], lambda one: one.drain(node, other))
        case 1:
            return Deed(["add", str(number)], [node], lambda one: one.add(number, node))
        case 2:
            workload = ["scale", f"deployment/{app}", str(replicas)]
            return Deed(workload, [], lambda one: one.scale(app, replicas))
        case _:
            return Deed(["drain", node], [], lambda one: one.drain(node))


def spread(app: str) -> dict[str, object]:
    constraint = {
        "maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }  # fmt: skip
    return {"topologySpreadConstraints": [constraint]}


def apart(app: str) -> dict[str, object]:
    term = {
        "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}},
    }  # fmt: skip
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    }


def test_nodes_that_fail_take_their_pods_along() -> None:
    draw = random.Random(7)
    cluster = random_cluster(draw, preempting=False)
    cluster.daemon_set("agent", {"cpu": "50m"})
    cluster.rest()
    objects, before = cluster.objects(), cluster.placements()
    names = cluster.names(NODES)[:2]
    report = asked(objects, ["remove", *names], [])
    cluster.remove(*names)
    after = cluster.placements()
    gone = {key: n for key, n in before.items() if key[0] == "agent" and key[1] in names}
    assert len(gone) == len(names)
    assert said(report, before) - Counter(gone) == after
    assert len(cluster.all(PODS)) == sum(after.values())
