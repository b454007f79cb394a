"""Requests with names are judged by CPU time, all four verbs by the same goal."""

import pytest

from benchmarks.extender.goals import goals
from benchmarks.extender.wire import _NAME_VERBS, Side, WireResult


def side(cpu_ms: float) -> Side:
    return Side(p50_ms=1, p99_ms=1, cold_ms=1, cpu_ms=cpu_ms, peak_memory_mb=80, reply_bytes=1)


def by_name(verb: str, cpu_ms: float) -> WireResult:
    return WireResult(
        case="5,000 names", nodes=5000, whole=False, verb=verb, requests=1, request_bytes=1,
        go=side(4.0), mooring=side(cpu_ms), times_faster=1, times_faster_p99=1,
    )  # fmt: skip


@pytest.mark.parametrize(("slowest", "met"), [(2.0, True), (2.1, False)])
def test_all_verbs_have_to_meet_the_goal(slowest: float, met: bool) -> None:
    verbs = [verb.name for verb in _NAME_VERBS]
    assert verbs == ["filter", "prioritize", "filter_nodes", "score_nodes"]
    found = goals([by_name(verb, slowest if verb == verbs[-1] else 1.0) for verb in verbs], [])
    judged = next(goal for goal in found if "÷ Go" in goal.goal)
    assert judged.met is met
    assert judged.measured == (
        f"filter 0.25, prioritize 0.25, filter_nodes 0.25, score_nodes {slowest / 4:.2f}"
    )


def test_plural_functions_are_compared_with_the_same_answers_of_go() -> None:
    assert [verb.reply for verb in _NAME_VERBS] == ["filter", "prioritize"] * 2
    assert [verb.go_path for verb in _NAME_VERBS] == ["/filter", "/prioritize"] * 2
