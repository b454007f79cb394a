"""Every verb answers, and none changes anything."""

from pathlib import Path

import pytest

from mooring.testing import FakeKubeScheduler, make_node, make_pod

POLICY = Path(__file__).with_name("policy.py")
POD = make_pod("web", priority=1000)
VICTIMS = [make_pod("small", node="node-a"), make_pod("smaller", node="node-a")]


@pytest.fixture(params=[True, False], ids=["node cache", "whole nodes"])
def fake(request: pytest.FixtureRequest) -> FakeKubeScheduler:
    nodes = [make_node("node-a"), make_node("node-b")]
    return FakeKubeScheduler(POLICY, nodes, VICTIMS, node_cache=request.param)


def test_every_node_is_kept(fake: FakeKubeScheduler) -> None:
    reply = fake.filter(POD)
    assert reply.kept == ["node-a", "node-b"]
    assert reply.failed == {}


def test_no_node_is_better(fake: FakeKubeScheduler) -> None:
    assert fake.prioritize(POD) == {"node-a": 0, "node-b": 0}


def test_the_victims_stay_as_they_were(fake: FakeKubeScheduler) -> None:
    kept = fake.preempt(POD, {"node-a": VICTIMS})
    assert kept == {"node-a": [victim.uid for victim in VICTIMS]}


def test_a_pod_is_bound_without_annotations(fake: FakeKubeScheduler) -> None:
    binding = fake.bind(POD, "node-b")
    assert (binding.key, binding.node_name) == ("default/web", "node-b")
    assert binding.annotations == {}
