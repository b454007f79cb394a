"""Numbers of a result: only of pods that were waited for, and exact over time."""

from mooring.simulator.engine.recorder import Recorder
from mooring.simulator.engine.sampling import Sampler
from mooring.simulator.engine.summary import summarize
from mooring.simulator.result import SimulationResult, WaitingTimes
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.simulator.scenarios import play


def summary(recorder: Recorder, end: float) -> SimulationResult:
    sampler = Sampler(Cluster(), recorder, first_step=1e6)
    sampler.end(end)
    return summarize(recorder, sampler.series(), end)


def test_pods_that_came_with_their_node_did_not_wait() -> None:
    recorder = Recorder()
    for number in range(99):
        recorder.created(make_pod(f"there-{number}", node="n"), "", 0.0)
    new = make_pod("new")
    recorder.created(new, "w", 10.0)
    recorder.tried(new.uid)
    recorder.bound(new.uid, "n", 14.0)
    result = summary(recorder, 20.0)
    assert result.placed == 100
    assert result.waiting == WaitingTimes(mean=4.0, p50=4.0, p90=4.0, p99=4.0, max=4.0)


def test_utilization_counts_amounts_for_as_long_as_they_were_there() -> None:
    recorder = Recorder()
    recorder.node_added(make_node("a", cpu="4"), "", 0.0, 0.0)
    recorder.node_added(make_node("b", cpu="4"), "", 0.0, 90.0)
    pod = make_pod("p", requests={"cpu": "2"})
    recorder.created(pod, "", 0.0)
    recorder.bound(pod.uid, "a", 10.0)
    recorder.ended(pod.uid, 65.0, completed=True)
    # Two cores for 55 s; four cores for 100 s and four for the last 10 s.
    assert summary(recorder, 100.0).utilization["cpu"] == 0.25


def test_no_short_pod_is_overlooked_between_two_samples() -> None:
    text = """
    until: 24h
    cluster:
      nodeGroups: [{name: n, count: 1, cpu: 10}]
    workloads:
      - {name: short, count: 288, arrival: {every: 5m}, duration: 14s, pod: {cpu: 10}}
    """
    # 15 s with the start, and 10 ms of binding, of every five minutes.
    assert play(text).utilization["cpu"] == 0.05


def test_the_highest_number_of_nodes_may_be_between_two_samples() -> None:
    recorder = Recorder()
    for number in range(3):
        recorder.node_added(make_node(f"n{number}"), "", 0.0, 100.0)
    for number in range(1, 3):
        recorder.node_removed(f"n{number}", 101.0)
    assert summary(recorder, 1000.0).most_nodes == 3
