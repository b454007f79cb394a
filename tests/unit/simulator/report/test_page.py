"""The HTML report: nothing from outside, the result's numbers, any names, a bounded size."""

import json
import re
from typing import Any

import msgspec
import pytest

from mooring.simulator.report.node_fill import MOST_FRAMES, MOST_NODES, node_fill
from mooring.simulator.report.page import report_page
from mooring.simulator.report.report_data import waiting_bars
from mooring.simulator.result import (
    NodeSpan,
    PendingReason,
    PodPlacement,
    PodShape,
    Series,
    SimulationResult,
    TimelineEvent,
)
from tests.unit.simulator.scenarios import CLUSTER, play

SCENARIO = (
    CLUSTER
    + """
workloads:
  - name: web
    count: 9
    pod: {cpu: 1, memory: 1Gi}
    arrival: {at: 500ms, every: 10s}
    duration: 45s
  - {name: big, count: 1, pod: {cpu: 9}}
events:
  - {at: 31s, fail: {zone: b}}
until: 2m
"""
)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u2028"
SVG = "http://www.w3.org/2000/svg"  # the name of a namespace, which nobody loads


def data_of(page: bytes) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.decode())
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def hostile_result() -> SimulationResult:
    return SimulationResult(
        scenario=HOSTILE,
        configuration=HOSTILE,
        end=10.0,
        created=1,
        pending=1,
        pending_reasons=[PendingReason(message=HOSTILE, pods=1, example=HOSTILE)],
        series=Series(
            times=[0.0, 10.0],
            utilization={HOSTILE: [0.1, 0.2]},
            nodes=[1, 1],
            running=[0, 1],
            pending=[1, 0],
            fragmentation={},
        ),
        events=[TimelineEvent(time=1.0, kind=HOSTILE, message=HOSTILE)],
        shapes=[PodShape(requests={HOSTILE: 1}, pods=1)],
        pods=[PodPlacement(pod=HOSTILE, workload=HOSTILE, node=HOSTILE, bound=2.0)],
        nodes=[NodeSpan(name=HOSTILE, group=HOSTILE, zone=HOSTILE, allocatable={HOSTILE: 4})],
    )


@pytest.mark.parametrize("result", [play(SCENARIO), hostile_result()], ids=["plain", "hostile"])
def test_nothing_is_loaded_from_outside(result: SimulationResult) -> None:
    page = report_page(result).decode()
    outside = re.sub(r'id="data">.*?</script>', "", page).replace(SVG, "")
    for word in ("http:", "https:", "//", "src=", "href=", "url(", "@import", "fetch(", "import("):
        found = [line for line in outside.splitlines() if word in line.partition("// ")[0]]
        assert found == [], word
    assert "default-src 'none'" in page


def test_the_data_are_those_of_the_result() -> None:
    result = play(SCENARIO)
    data = data_of(report_page(result))
    series = result.series
    assert (data["times"], data["running"]) == (series.times, series.running)
    assert (data["pending"], data["nodes"]) == (series.pending, series.nodes)
    assert data["utilization"] == series.utilization
    assert dict(data["numbers"])["placed"] == result.placed == 9
    assert dict(data["numbers"])["pending at the end"] == result.pending == 1
    assert data["waiting"]["max"] == result.waiting.max
    assert data["cost"] == result.cost
    assert [one[1] for one in data["reasons"]] == [one.message for one in result.pending_reasons]
    assert data["events"] == [[one.time, one.kind, one.message] for one in result.events]
    assert [row[:4] for row in data["workloads"]] == [["big", 1, 0, 1], ["web", 9, 9, 0]]


def test_boxes_are_as_full_as_the_curves_say() -> None:
    result = play(SCENARIO)
    fill = node_fill(result)
    times = result.series.times
    assert len(fill["nodes"]) == 3
    for number, name in enumerate(fill["resources"]):
        for frame, time in enumerate(fill["times"]):
            curve = result.series.utilization[name][times.index(time)]
            # Nodes are alike, so their mean is the share of the whole cluster.
            mean = sum(fill["percent"][number][frame]) / 300
            assert mean == pytest.approx(curve, abs=0.006), (name, time)


def test_a_node_is_there_from_its_coming_to_its_going() -> None:
    result = hostile_result()
    gone = NodeSpan(name="b", allocatable={HOSTILE: 4}, added=5.0, removed=10.0)
    result = msgspec.structs.replace(result, nodes=[*result.nodes, gone])
    assert node_fill(result)["percent"] == [[[0, -1], [25, -1]]]


def test_hostile_names_are_texts() -> None:
    page = report_page(hostile_result())
    assert b"alert(1)<" not in page
    assert b"<img" not in page
    assert page.count(b"</script>") == 2
    data = data_of(page)
    assert data["scenario"] == HOSTILE
    assert data["longest"][0][0] == HOSTILE
    script = page.decode().rpartition("<script>")[2]
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in script


def test_waiting_times_are_counted_once() -> None:
    waits = [0.0, 0.001, 0.0011, 1.0, 1.5, 70.0, 1e9]
    pods = [PodPlacement(pod=str(n), bound=one, attempts=1) for n, one in enumerate(waits)]
    there = PodPlacement(pod="there", bound=0.0)
    bars = waiting_bars([*pods, PodPlacement(pod="pending"), there])
    assert sum(bar[2] for bar in bars) == len(waits)
    assert bars[0] == [0.0, 0.001, 2]
    assert [1.0, 2.0, 1] in bars
    assert waiting_bars([]) == []


def test_a_large_result_is_a_page_of_bounded_size() -> None:
    samples, nodes, pods = 480, 5000, 20_000
    flat = [1] * samples
    result = SimulationResult(
        series=Series(
            times=[float(one) for one in range(samples)],
            utilization={f"r{one}": [0.123456] * samples for one in range(100)},
            nodes=flat,
            running=flat,
            pending=flat,
            fragmentation={f"r{one}": [0.123456] * samples for one in range(100)},
        ),
        events=[TimelineEvent(time=1.0, kind="drain", message="x" * 80)] * 10_000,
        shapes=[PodShape(requests={"r0": 1}, pods=pods)],
        pods=[
            PodPlacement(pod=f"p-{n}", workload=f"w-{n}", node=f"n-{n % nodes}", bound=n / 100)
            for n in range(pods)
        ],
        nodes=[NodeSpan(name=f"n-{n}", allocatable={"r0": 8}) for n in range(nodes)],
    )
    page = report_page(result)
    assert len(page) < 1_500_000
    fill = data_of(page)["fill"]
    assert (len(fill["times"]), len(fill["nodes"])) == (MOST_FRAMES, MOST_NODES)
    assert (fill["times"][0], fill["times"][-1]) == (0.0, samples - 1)
    assert fill["allNodes"] == nodes
