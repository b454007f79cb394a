"""The benchmark of the simulator: its page shows its results, and its goals are checked."""

from pathlib import Path

import msgspec

from benchmarks.pages import tables
from benchmarks.reporting import read_report
from benchmarks.simulator.cases import Case, Measured, measure
from benchmarks.simulator.report import Report, goals, parts

FOLDER = Path(__file__).parents[3] / "docs" / "benchmarks"


def test_the_page_shows_the_results() -> None:
    report = read_report(FOLDER / "simulator.json", Report)
    assert tables(parts(report), report.other_load) in (FOLDER / "simulator.md").read_text()
    assert [one.met for one in report.goals] == [True, True]


def test_a_small_case_places_all_pods() -> None:
    churn, mix = measure(Case("churn", 20, 60)), measure(Case("mix", 40, 80))
    assert (churn.placed, mix.placed) == (60, 80)
    assert churn.virtual_seconds > mix.virtual_seconds


def test_a_goal_needs_all_pods_and_little_time() -> None:
    found = Measured(Case("churn", 5000, 50_000), 1.0, 13.0, 60.0, 100.0, 50_000, 50_000, 1)
    late = msgspec.structs.replace(found, seconds=15.0)
    lost = msgspec.structs.replace(found, placed=49_999)
    assert [one.met for one in goals([found, late, lost])] == [True, False, False]
