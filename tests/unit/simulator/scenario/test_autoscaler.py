"""Node groups that grow for pods that would fit, and shrink when nobody needs them."""

import pytest

from mooring.simulator.result import SimulationResult
from tests.unit.simulator.scenarios import play

ONE = """
autoscaler: {{expander: {expander}, scaleDownUnneededTime: 2m, scaleDownDelayAfterAdd: 0s}}
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
    autoscaler: {scaleDownUnneededTime: 2m, scaleDownDelayAfterAdd: 0s}
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


def shrunk(workload: str, node: str = "", objects: str = "", rest: str = "") -> SimulationResult:
    """Three nodes of four cores, of which one is enough, and a workload on them."""
    return play(f"""
autoscaler: {{scaleDownUnneededTime: 2m, scaleDownDelayAfterAdd: 0s}}
until: 30m
cluster:
  nodeGroups: [{{name: n, count: 3, cpu: 4, {node} autoscaling: {{min: 1, max: 6}}}}]
  objects: [{objects}]
workloads: [{{name: web, {workload}}}]
{rest}
""")


def left(result: SimulationResult) -> int:
    return len([one for one in result.nodes if one.removed is None])


SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DEPLOYMENT = "kind: Deployment, replicas: 3, pod: {cpu: 1}"


def test_nodes_are_drained_one_at_a_time() -> None:
    result = shrunk(DEPLOYMENT, rest="latencies: {podStop: 30s}")
    assert left(result) == 1
    first, second = (one.time for one in result.events if one.kind == "scale-down")
    assert second >= first + 30


@pytest.mark.parametrize(
    ("workload", "node"),
    [
        ("count: 3, pod: {cpu: 1}", ""),  # nothing would create them again
        ("kind: DaemonSet, pod: {cpu: 3}", ""),  # most of a node, whoever it belongs to
        ("kind: Deployment, replicas: 3, pod: {resources: {nvidia.com/gpu: 1}}",
         "resources: {nvidia.com/gpu: 2},"),
        ("kind: Deployment, replicas: 3, namespace: kube-system, pod: {cpu: 1}", ""),
        (f"kind: Deployment, replicas: 3, pod: {{cpu: 1, annotations: {{{SAFE}: 'false'}}}}", ""),
    ],
)  # fmt: skip
def test_nodes_that_cluster_autoscaler_keeps_stay(workload: str, node: str) -> None:
    result = shrunk(workload, node)
    assert left(result) == 3
    assert result.events == []


def test_pods_that_say_so_are_safe_to_evict() -> None:
    result = shrunk(f"count: 3, pod: {{cpu: 1, annotations: {{{SAFE}: 'true'}}}}")
    assert left(result) == 1


def budget(allowed: int) -> str:
    selector = "{matchLabels: {app: web}}"
    return (
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, "
        f"spec: {{maxUnavailable: {allowed}, selector: {selector}}}}}"
    )


def test_a_node_whose_pods_a_budget_protects_is_not_drained() -> None:
    assert shrunk(DEPLOYMENT, objects=budget(0)).events == []
    assert left(shrunk(DEPLOYMENT, objects=budget(1))) == 1


def test_a_node_that_cannot_be_drained_in_time_is_uncordoned() -> None:
    # Two pods on each node may go one after the other, but each takes two minutes to start.
    web = "kind: Deployment, replicas: 6, pod: {cpu: 500m}"
    result = shrunk(web, objects=budget(1), rest="latencies: {podStart: 3m}")
    told = [one.message for one in result.events]
    assert "pods were not evicted in 120 s" in told[1]
    assert told[0].split()[0] == told[1].split()[0]
    times = [one.time for one in result.events]
    assert times[1] == times[0] + 120
    assert times[2] >= times[1] + 180


def test_nothing_shrinks_for_a_while_after_something_has_grown() -> None:
    text = """
    autoscaler: {scaleDownUnneededTime: 1m}
    cluster:
      nodeGroups: [{name: n, cpu: 4, autoscaling: {min: 0, max: 6, startup: 30s}}]
    workloads: [{name: job, count: 1, pod: {cpu: 4}, duration: 10s}]
    """
    result = play(text)
    grown = next(one.time for one in result.events if one.kind == "scale-up")
    gone = next(one.time for one in result.events if one.kind == "scale-down")
    assert 600 <= gone - grown <= 620
