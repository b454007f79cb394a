"""Small nodes are better, and a pod's annotation has the time."""

import re
import time
from pathlib import Path

import pytest

from mooring.testing import FakeKubeScheduler, make_node, make_pod

POLICY = Path(__file__).with_name("policy.py")
NODES = [
    make_node("large", cpu="32", memory="128Gi"),
    make_node("small", cpu="4", memory="16Gi"),
    make_node("middle", cpu="18", memory="72Gi"),
]


@pytest.fixture(params=[True, False], ids=["node cache", "whole nodes"])
def fake(request: pytest.FixtureRequest) -> FakeKubeScheduler:
    return FakeKubeScheduler(POLICY, NODES, node_cache=request.param)


def test_the_smallest_node_is_the_best(fake: FakeKubeScheduler) -> None:
    assert fake.prioritize(make_pod()) == {"large": 0, "small": 10, "middle": 5}
    assert fake.schedule(make_pod()) == "small"


def test_a_millicore_counts_as_much_as_a_million_bytes() -> None:
    nodes = [
        make_node("more-memory", cpu="1", memory="3000000000"),
        make_node("more-cpu", cpu="3", memory="1000000000"),
        make_node("both", cpu="3", memory="3000000000"),
    ]
    scores = FakeKubeScheduler(POLICY, nodes, node_cache=True).prioritize(make_pod())
    assert scores == {"more-memory": 10, "more-cpu": 10, "both": 0}


def test_nodes_of_one_size_are_equal(fake: FakeKubeScheduler) -> None:
    assert fake.prioritize(make_pod(), ["large"]) == {"large": 0}


def test_a_bound_pod_has_the_time_in_nanoseconds() -> None:
    fake = FakeKubeScheduler(POLICY, NODES, node_cache=True)
    before = time.time_ns()
    bound = fake.bind(make_pod(), "small")
    [(name, value)] = bound.annotations.items()
    assert name == "scheduler-timestamp"
    assert re.fullmatch(r"\d{19}", value)
    assert before <= int(value) <= time.time_ns()
