"""Pods that ask for an SSD get one; others go anywhere."""

from pathlib import Path

import pytest

from mooring.testing import FakeKubeScheduler, make_node, make_pod

POLICY = Path(__file__).with_name("policy.py")
NODES = [
    make_node("plain"),
    make_node("disk", labels={"disktype": "hdd"}),
    make_node("fast", labels={"disktype": "ssd"}),
]
ASKING = make_pod("database", annotations={"mooring.example/disk": "ssd"})


@pytest.fixture(params=[True, False], ids=["node cache", "whole nodes"])
def fake(request: pytest.FixtureRequest) -> FakeKubeScheduler:
    return FakeKubeScheduler(POLICY, NODES, node_cache=request.param)


def test_who_asks_gets_an_ssd(fake: FakeKubeScheduler) -> None:
    reply = fake.filter(ASKING)
    assert reply.kept == ["fast"]
    assert reply.failed == {"plain": "node has no SSD", "disk": "node has no SSD"}
    assert fake.schedule(ASKING) == "fast"


def test_preemption_is_not_tried_for_a_missing_ssd(fake: FakeKubeScheduler) -> None:
    assert set(fake.filter(ASKING).unresolvable) == {"plain", "disk"}


@pytest.mark.parametrize("annotations", [{}, {"mooring.example/disk": "any"}])
def test_who_does_not_ask_goes_anywhere(
    fake: FakeKubeScheduler, annotations: dict[str, str]
) -> None:
    assert fake.filter(make_pod(annotations=annotations)).kept == ["plain", "disk", "fast"]


def test_without_an_ssd_the_pod_waits(fake: FakeKubeScheduler) -> None:
    assert fake.filter(ASKING, ["plain", "disk"]).kept == []
