"""The goals of `make bench-scheduler` are those of what was measured, and say what is missed."""

from collections.abc import Iterable

import pytest

from benchmarks.reporting import Goal
from benchmarks.scheduler.claim_workloads import ALL_WORKLOADS
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING, POLICY
from benchmarks.scheduler.footprint import Footprint
from benchmarks.scheduler.goals import goals
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.plan import BOTH, PARTS, plan
from benchmarks.scheduler.results import Found, Result
from benchmarks.scheduler.run import Cpu, Events, Latency, Run, Throughput
from benchmarks.scheduler.workloads import TWO


def run_of(scheduler: str, rate: float, cpu: float = 1.0, bound: int = 1000) -> Run:
    return Run(
        scheduler=scheduler,
        bound=bound,
        seconds=1000 / rate,
        pods_per_second=rate,
        throughput=Throughput(rate, rate, rate, rate, rate),
        cpu=Cpu(cpu, cpu),
        peak_memory_mb=100.0,
        events=Events(1000, 2000 / rate),
        latency=Latency(1000 / rate, 2000 / rate, 3000 / rate),
        first_seconds=cpu,
    )


def result_of(workload: str, way: str, runs: Iterable[Run], nodes: int = 5000) -> Result:
    return Result(workload, nodes, way, 1000, 1000, None, list(runs))


def pair(workload: str, way: str, ratio: float, cpu: float = 1.0) -> Result:
    runs = [run_of(KUBE_SCHEDULER, 100.0), run_of(MOORING, 100.0 * ratio, cpu)]
    return result_of(workload, way, runs)


def about(found: Found, words: str) -> list[Goal]:
    return [goal for goal in goals(found) if words in goal.goal]


def met(found: Found, words: str) -> list[bool]:
    return [goal.met for goal in about(found, words)]


@pytest.mark.parametrize(
    ("workload", "ratio", "expected"),
    [
        ("SchedulingBasic", 3.0, True),
        ("SchedulingBasic", 2.9, False),
        ("PreferredTopologySpreading", 4.0, True),
        ("TopologySpreading", 4.9, False),
        ("SchedulingPodAffinity", 6.0, True),
    ],
)
def test_drained_pods_are_compared_with_kube_scheduler(
    workload: str, ratio: float, expected: bool
) -> None:
    found = Found(results=[pair(workload, "drain", ratio)])
    assert met(found, "times kube-scheduler's pods/s") == [expected]


def test_goals_are_about_whole_runs_on_5000_nodes() -> None:
    small = result_of("SchedulingBasic", "drain", [run_of(MOORING, 1.0)], nodes=500)
    assert goals(Found(results=[small])) == []
    partial = result_of(
        "SchedulingBasic", "drain", [run_of(KUBE_SCHEDULER, 1), run_of(MOORING, 9, bound=999)]
    )
    (goal,) = goals(Found(results=[partial]))
    assert (goal.met, goal.measured) == (False, "not all pods were bound")


@pytest.mark.parametrize(("cpu", "expected"), [(0.35, True), (0.36, False)])
def test_the_cpu_of_plain_pods(cpu: float, expected: bool) -> None:
    found = Found(results=[pair("SchedulingBasic", "drain", 3.0, cpu)])
    assert met(found, "ms of CPU a pod") == [expected]


@pytest.mark.parametrize(("cpu", "expected"), [(0.1, True), (0.11, False)])
def test_the_cpu_of_pods_with_rules(cpu: float, expected: bool) -> None:
    found = Found(results=[pair("TopologySpreading", "drain", 5.0, cpu)])
    assert met(found, "of kube-scheduler's CPU") == [expected]


@pytest.mark.parametrize(
    ("way", "words", "needed"),
    [("drain", "a loop that only binds", 0.75), ("create", "a loop that creates", 0.85)],
)
def test_pods_a_second_are_compared_with_a_bare_loop(way: str, words: str, needed: float) -> None:
    for share, expected in ((needed, True), (needed - 0.01, False)):
        result = result_of("SchedulingBasic", way, [run_of(MOORING, 1000 * share)])
        limit = Limit("SchedulingBasic", 5000, 2000, 2000.0, 1000.0, 1000.0, 800.0)
        assert met(Found(limits=[limit], results=[result]), words) == [expected]


def test_events_must_not_be_late() -> None:
    found = Found(results=[pair("SchedulingBasic", "drain", 3.0)])
    assert met(found, "all events written") == [True]
    found.results[0].runs[1].events = Events(999, None)
    (goal,) = about(found, "all events written")
    assert not goal.met
    assert "missing" in goal.measured


def test_latencies_must_be_lower_in_all_three() -> None:
    assert met(Found(results=[pair("SchedulingBasic", "50/s", 1.1)]), "50 pods") == [True]
    assert met(Found(results=[pair("SchedulingBasic", "50/s", 0.9)]), "50 pods") == [False]


@pytest.mark.parametrize(("rate", "expected"), [(101.0, True), (100.0, False)])
def test_a_policy_must_be_faster_than_kube_scheduler(rate: float, expected: bool) -> None:
    runs = [run_of(KUBE_SCHEDULER, 100.0), run_of(POLICY, rate)]
    found = Found(results=[result_of("SchedulingBasic", "drain", runs)])
    assert met(found, "README's policy") == [expected]


@pytest.mark.parametrize(("busy", "expected"), [(2.5, True), (2.0, False)])
def test_updates_may_cost_a_tenth_more_than_they_cost_the_loop(busy: float, expected: bool) -> None:
    names = ("SchedulingBasic", "SchedulingWithUpdates")
    limits = [
        Limit(name, 5000, 1, 1, rate, 1, 1) for name, rate in zip(names, (100, 90), strict=True)
    ]
    results = [pair(names[0], "drain", 3.0), pair(names[1], "drain", busy)]
    assert met(Found(limits=limits, results=results), "more loss") == [expected]


@pytest.mark.parametrize(("seconds", "expected"), [(1.5, True), (1.6, False)])
def test_the_first_binding_after_the_start(seconds: float, expected: bool) -> None:
    assert met(Found(results=[pair("StartUp", "drain", 1.0, seconds)]), "first") == [expected]


def test_the_memory_of_both_replicas() -> None:
    kube = Footprint(KUBE_SCHEDULER, 5000, 50000, 1, 400.0, 1, 400.0)
    mooring = Footprint(MOORING, 5000, 50000, 1, 300.0, 1, 301.0)
    assert met(Found(footprints=[kube, mooring]), "memory") == [True, False]


def test_results_of_parts_are_put_together() -> None:
    newer = Found(results=[result_of("SchedulingBasic", "drain", [run_of(POLICY, 1.0)])])
    newer.add(
        Found(
            results=[
                pair("SchedulingBasic", "drain", 2.0),
                pair("TopologySpreading", "drain", 2.0),
            ]
        )
    )
    assert [result.workload for result in newer.results] == ["SchedulingBasic", "TopologySpreading"]
    basic = newer.results[0]
    assert {run.scheduler for run in basic.runs} == {KUBE_SCHEDULER, MOORING, POLICY}
    assert basic.ratio == 2.0


def test_small_parts_are_about_two_workloads() -> None:
    whole = plan(list(PARTS), [], [], [])
    assert {workload for workload, _ in whole} == set(ALL_WORKLOADS)
    rates = plan(["rates"], [], [], [])
    assert list(rates) == [(name, 5000) for name in TWO]
    assert [(step.way, step.scheduler) for step in rates["SchedulingBasic", 5000]] == [
        (way, scheduler) for way in ("50/s", "100/s", "200/s") for scheduler in BOTH
    ]
    assert plan(["sampling"], [], [], [MOORING]) == {}
    assert list(plan(["drain"], ["SchedulingBasic"], [20], [])) == [("SchedulingBasic", 20)]
