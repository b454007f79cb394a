"""Nodes and zones that stop answering: who notices when, and what becomes of pods there."""

from mooring.simulator.result import SimulationResult
from tests.unit.simulator.scenarios import CLUSTER, by_name, play

#: Until a node counts as unreachable, and then what its pods tolerate.
NOTICED = 50.0
TOLERATED = 300.0
WEB = "workloads: [{name: web, kind: Deployment, replicas: 6, pod: {cpu: 1}}]\n"
RECOVERS = "events: [{at: 1m, fail: {zone: a}}, {at: 15m, recover: {zone: a}}]\nuntil: 20m\n"


def evicted(result: SimulationResult) -> list[str]:
    return [one.node for one in result.pods if one.end == "evicted"]


def replaced_at(result: SimulationResult, workload: str) -> list[float]:
    """When pods were created after the beginning."""
    return [one.created for one in result.pods if one.workload == workload and one.created > 30]


def test_pods_are_replaced_when_they_no_longer_tolerate_the_failure() -> None:
    result = play(CLUSTER + WEB + "until: 20m\nevents: [{at: 1m, fail: {zone: a}}]")
    assert evicted(result) == ["n-1", "n-1"]
    assert replaced_at(result, "web") == [60.0 + NOTICED + TOLERATED] * 2
    assert {one.node for one in result.pods if one.created > 60} == {"n-2", "n-3"}
    assert next(one for one in result.nodes if one.name == "n-1").failed == 60.0


def test_a_failed_node_gets_pods_until_somebody_notices() -> None:
    late = "{name: late, count: 2, arrival: {every: 40s, at: 80s}, pod: {cpu: 3}, duration: 5s}"
    text = "cluster: {nodeGroups: [{name: n, count: 1, cpu: 4}]}\n"
    text += f"workloads: [{late}]\nevents: [{{at: 1m, fail: {{node: n-1}}}}]\n"
    first, second = by_name(play(text)).values()
    assert (first.node, first.ended) == ("n-1", None)  # nobody runs it
    assert (second.node, second.bound) == ("", None)


def test_pods_on_a_failed_node_end_when_it_answers_again() -> None:
    text = CLUSTER + (
        "workloads:\n  - {name: j, kind: Job, replicas: 3, duration: 3m, pod: {cpu: 500m}}\n"
        "  - {name: bare, count: 3, duration: 3m, pod: {cpu: 500m}}\n"
        "until: 10m\nevents: [{at: 1m, fail: {zone: a}}, {at: 4m, recover: {zone: a}}]"
    )
    result = play(text)
    there = [one for one in result.pods if one.node == "n-1"]
    assert {one.workload for one in there} == {"j", "bare"}
    assert {(one.end, one.ended) for one in there} == {("completed", 240.0)}
    assert all((one.ended or 0.0) < 182 for one in result.pods if one.node != "n-1")


def test_evicted_pods_stay_on_a_failed_node_until_it_answers_again() -> None:
    bare = "workloads: [{name: bare, count: 3, pod: {cpu: 3}}]\n"
    for workloads in (WEB, bare):
        result = play(CLUSTER + workloads + RECOVERS)
        ended = {one.ended for one in result.pods if one.end == "evicted"}
        assert ended == {901.0}


def test_a_stateful_set_waits_for_its_pods_on_a_failed_node() -> None:
    text = CLUSTER + "workloads: [{name: s, kind: StatefulSet, replicas: 3, pod: {cpu: 1}}]\n"
    result = play(text + RECOVERS)
    lost = evicted(result)
    assert lost == ["n-1"]
    assert replaced_at(result, "s") == [901.0]
    removed = text + "until: 20m\nevents: [{at: 1m, fail: {zone: a}}, {at: 10m, remove: {zone: a}}]"
    assert replaced_at(play(removed), "s") == [600.0]


def test_light_pods_and_those_of_controllers_are_evicted_at_the_same_time() -> None:
    text = CLUSTER + (
        "workloads:\n  - {name: web, kind: Deployment, replicas: 3, pod: {cpu: 1}}\n"
        "  - {name: bare, count: 3, pod: {cpu: 1}}\n"
        "events: [{at: 1m, fail: {zone: a}}]\nuntil: "
    )
    assert evicted(play(text + "408s")) == []
    result = play(text + "412s")
    assert sorted(one.workload for one in result.pods if one.end == "evicted") == ["bare", "web"]


def zones(count: int, failing: str, until: str = "20m") -> SimulationResult:
    text = f"""
cluster:
  nodeGroups:
    - {{name: n, count: {count}, cpu: 1, zones: [a, b, c]}}
    - {{name: other, count: 1, cpu: 1, zones: [d]}}
workloads: [{{name: web, kind: Deployment, replicas: {count + 1}, pod: {{cpu: 1}}}}]
until: {until}
events: [{{at: 0s, fail: {failing}}}]
"""
    return play("latencies: {nodeMonitorGracePeriod: 10s}\n" + text)


def test_a_zone_is_evicted_node_by_node() -> None:
    result = zones(12, "{zone: a}")
    assert replaced_at(result, "web") == [310.0, 320.0, 330.0, 340.0]


def test_nobody_is_evicted_if_all_zones_fail() -> None:
    assert evicted(zones(3, "{labels: {kubernetes.io/os: linux}}")) == []


def test_nobody_is_evicted_from_a_small_zone_most_of_which_fails() -> None:
    assert evicted(zones(12, "{zone: a, count: 3}")) == []


def test_a_large_zone_most_of_which_fails_is_evicted_slowly() -> None:
    times = replaced_at(zones(180, "{zone: a, count: 40}", "9m"), "web")
    assert times == [310.0, 410.0, 510.0]
