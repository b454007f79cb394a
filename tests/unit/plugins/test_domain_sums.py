"""Sums by domain follow the pods that come and go, whatever is read of them and when."""

import random

import numpy as np
import pytest

from mooring.model.pod import Pod
from mooring.model.selectors import LabelSelector
from mooring.plugins.domain_sums import sums_over
from mooring.plugins.spread.constraint_counts import SpreadPods
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

NODES = 30
APPS = ("a", "b")
WEIGHTS = (3, -3)


def pods_of(app: str) -> SpreadPods:
    return SpreadPods("default", LabelSelector(match_labels={"app": app}), app)


def placed(name: str, app: str, row: int) -> Pod:
    return make_pod(name, labels={"app": app}).placed(f"n{row}", {})


@pytest.mark.parametrize("key", ["zone", "host", "nobody"])
@pytest.mark.parametrize("often", [0.9, 0.01])
def test_sums_are_those_of_all_pods(key: str, often: float) -> None:
    chance = random.Random(f"{key} {often}")
    cluster = Cluster()
    for number in range(NODES):
        labels = {"host": f"n{number}"} | ({"zone": f"z{number % 3}"} if number % 5 else {})
        cluster.put_node(make_node(f"n{number}", labels=labels))
    columns = cluster.columns
    found = sums_over(
        columns, key, [(pods_of(app), weight) for app, weight in zip(APPS, WEIGHTS, strict=True)]
    )
    here: dict[str, tuple[str, int]] = {}
    for step in range(1500):
        if here and chance.random() < 0.5:
            name = chance.choice(list(here))
            del here[name]
            cluster.remove_pod(f"default/{name}")
        else:
            name, app, row = f"p{step}", chance.choice(APPS), chance.randrange(NODES)
            here[name] = (app, row)
            cluster.put_pod(placed(name, app, row))
        if chance.random() > often:
            continue
        column = columns.labels(key)
        wanted = np.zeros(len(column.values), np.int64)
        for app, row in here.values():
            wanted[column.ids[row]] += WEIGHTS[APPS.index(app)]
        wanted[0] = 0
        assert found.catch_up(cluster).sums.tolist() == wanted.tolist()
        domains = wanted[1:]
        assert found.has_pods == domains.any()
        assert found.nodes_with_pods.tolist() == (wanted != 0)[column.ids].tolist()
        if len(domains):
            assert (found.lowest, found.highest) == (domains.min(), domains.max())
