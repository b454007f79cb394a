"""The parts of the benchmark of schedulers in trouble that need no cluster."""

from pathlib import Path

import msgspec

from benchmarks.environment import environment
from benchmarks.faults import objects
from benchmarks.faults.goals import goals
from benchmarks.faults.report import parts
from benchmarks.faults.results import FaultResults, Report
from benchmarks.faults.slow import Slow
from benchmarks.faults.waiting import Waiting
from benchmarks.pages import tables, write_page


def waiting(scheduler: str = "mooring", **changes: float) -> Waiting:
    usual = Waiting(
        scheduler=scheduler,
        claims=600,
        others=200,
        bound=200,
        per_second=90.0,
        per_second_before=100.0,
        cpu_ms_per_pod=2.0,
        cpu_ms_per_pod_before=2.0,
        idle_percent=0.5,
        idle_percent_before=0.4,
        stop_seconds=0.5,
    )
    return msgspec.structs.replace(usual, **changes)


def met(one: Waiting, *, quiet: bool = True) -> list[bool]:
    return [goal.met for goal in goals(FaultResults(waiting=[one]), quiet=quiet)]


def test_all_goals_about_waiting_claims_can_fail() -> None:
    assert met(waiting()) == [True, True, True]
    assert met(waiting(bound=199)) == [False, True, True]
    assert met(waiting(per_second=50.0)) == [False, True, True]
    assert met(waiting(idle_percent=100.0)) == [True, False, True]
    assert met(waiting(stop_seconds=20.0)) == [True, True, False]


def test_on_a_busy_machine_cpu_time_is_asked_for_instead_of_speed() -> None:
    assert met(waiting(per_second=10.0), quiet=False) == [True, True, True]
    assert met(waiting(cpu_ms_per_pod=4.5), quiet=False) == [False, True, True]


def test_the_other_scheduler_has_no_goals() -> None:
    assert met(waiting("kube-scheduler", idle_percent=100.0)) == []


def test_a_scheduler_that_spins_on_a_slow_api_server_misses_its_goal() -> None:
    slow = Slow(
        scheduler="mooring",
        pods=100,
        bound=100,
        seconds=45.0,
        per_minute=133.0,
        cpu_seconds=40.0,
        cpu_percent=89.0,
    )
    assert [one.met for one in goals(FaultResults(slow=[slow]), quiet=True)] == [False]


def test_a_page_gets_the_tables_of_a_run_and_keeps_the_rest(tmp_path: Path) -> None:
    report = Report(
        environment=environment(),
        quick=False,
        nodes=100,
        other_load=0.02,
        found=FaultResults(waiting=[waiting()]),
        goals=[],
        failures=[],
    )
    page = tmp_path / "faults.md"
    page.write_text("before\n<!-- tables -->\nold\n<!-- end -->\nafter\n")
    for _ in range(2):
        write_page(parts(report.found), report.other_load, page)
    text = page.read_text()
    assert text.startswith("before\n<!-- tables -->\n")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "old" not in text
    assert text.count(tables(parts(report.found), report.other_load)) == 1
    assert "| mooring | 600 | 200 of 200 | 90 | 100 | 0.90 |" in text


def test_the_pods_that_fit_nowhere_have_five_templates() -> None:
    pods = [one.content.partition(b"\r\n\r\n")[2] for one in objects.hopeless_pods(20, "here")]
    specs = {bytes(msgspec.json.encode(msgspec.json.decode(one)["spec"])) for one in pods}
    assert len(specs) == objects.TEMPLATES == 5
