"""Node groups that grow for pods that would fit, and shrink when nobody needs them."""

import pytest

from tests.unit.simulator.scenarios import play

ONE = """
autoscaler: {{expander: {expander}, scaleDownDelay: 2m}}
cluster:
  nodeGroups:
    - name: small
      cpu: 2
      memory: 8Gi
      pricePerHour: 1
      autoscaling: {{min: 1, max: 10, startup: 30s, priority: 1}}
    - name: large
      cpu: 8
      memory: 32Gi
      pricePerHour: 3
      autoscaling: {{max: 3, startup: 60s, priority: 5}}
workloads:
  - name: job
    count: {count}
    pod: {{cpu: {cpu}, memory: 1Gi}}
    arrival: {{at: 5s}}
    duration: 5m
"""


def grown(expander: str, count: int = 4, cpu: int = 2) -> dict[str, int]:
    result = play(ONE.format(expander=expander, count=count, cpu=cpu))
    assert result.pending == 0
    return {one.group: one.most_nodes for one in result.costs}


@pytest.mark.parametrize(
    ("expander", "expected"),
    [
        ("least-waste", {"small": 4}),
        ("priority", {"small": 1, "large": 1}),
    ],
)
def test_the_expander_chooses_the_group(expander: str, expected: dict[str, int]) -> None:
    assert grown(expander) == expected


def test_most_pods_takes_the_group_that_helps_most() -> None:
    # Eleven more pods: ten small nodes at most, of which one is there; three large ones take all.
    assert grown("most-pods", count=12) == {"small": 1, "large": 3}


def test_a_pod_that_fits_only_one_group_gets_it() -> None:
    assert grown("least-waste", count=1, cpu=6) == {"small": 1, "large": 1}


def test_nothing_grows_for_a_pod_that_would_not_fit() -> None:
    result = play(ONE.format(expander="random", count=1, cpu=9))
    assert (result.pending, len(result.nodes)) == (1, 1)
    assert result.events == []


def test_nodes_come_after_their_start_up_time_and_go_when_they_are_idle() -> None:
    result = play(ONE.format(expander="priority", count=4, cpu=2))
    large = next(one for one in result.nodes if one.group == "large")
    assert large.added == pytest.approx(70.0)  # seen at the scan at 10 s, ready 60 s later
    assert large.removed is not None
    ended = max(one.ended or 0.0 for one in result.pods if one.node == large.name)
    assert 120 <= large.removed - ended <= 141
    assert len([one for one in result.nodes if one.removed is None]) == 1  # the minimum


def test_a_group_never_exceeds_its_maximum() -> None:
    result = play(ONE.format(expander="least-waste", count=40, cpu=2))
    assert {one.group: one.most_nodes for one in result.costs}["small"] <= 10
    assert result.completed == 40


def test_replicas_move_together_and_free_a_node() -> None:
    text = """
    autoscaler: {scaleDownDelay: 2m}
    until: 30m
    cluster:
      nodeGroups:
        - {name: n, count: 4, cpu: 4, autoscaling: {min: 1, max: 6}}
    workloads:
      - {name: web, kind: Deployment, replicas: 4, pod: {cpu: 1}}
    """
    result = play(text)
    assert [one.removed is None for one in result.nodes].count(True) == 2  # each half full
    assert (result.running, result.pending) == (4, 0)
