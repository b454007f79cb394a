"""Mistakes in scenarios: where they are, and what is expected."""

import pytest

from mooring.simulator.scenario.scenario_error import ScenarioError
from tests.unit.simulator.scenarios import CLUSTER, play, prepare

NODES = "cluster: {nodeGroups: [{name: n, count: 1}]}\n"
WRONG = [
    ("[]", "s.yaml:1:1: expected a mapping with at least the field cluster"),
    ("a: [", "s.yaml:2:1: it is not valid YAML"),
    ("cluster: {}", "s.yaml:1:1: cluster: there are no nodes; expected nodeGroups, nodes or a"),
    (
        NODES + "workload: []",
        "s.yaml:2:1: workload: there is no such field; expected one of name, seed, until, cluster",
    ),
    (
        NODES + "workloads:\n  - name: a\n    coutn: 3",
        "s.yaml:4:5: workloads[0].coutn: there is no such field; expected one of name, namespace",
    ),
    (
        NODES + "workloads:\n  - name: a\n    count: many",
        "s.yaml:4:5: workloads[0].count: expected a whole number or nothing, got a text",
    ),
    (
        NODES + "workloads:\n  - name: a\n    count: -1",
        "s.yaml:4:5: workloads[0].count: -1 is out of range; expected 0 to 2000000",
    ),
    (
        NODES + "workloads:\n  - {name: a, duration: 5x}",
        "s.yaml:3:15: workloads[0].duration: '5x' is no duration; expected one such as 90s",
    ),
    (
        NODES + "workloads:\n  - {name: a, arrival: {poisson: 3}}",
        "s.yaml:3:25: workloads[0].arrival.poisson: expected a text, got a whole number",
    ),
    (
        NODES + "workloads:\n  - {name: a, arrival: {poisson: 3/x}}",
        "s.yaml:3:25: workloads[0].arrival.poisson: '3/x' is no rate; expected one such as 30/s",
    ),
    (
        NODES + "workloads:\n  - {name: a, arrival: {every: 1s}}",
        "s.yaml:3:15: workloads[0].arrival: it never ends; expected a count, or until",
    ),
    (
        NODES + "workloads:\n  - {name: a, kind: Job}",
        "s.yaml:3:5: workloads[0]: a Job needs a duration",
    ),
    (
        NODES + "workloads:\n  - {name: a, pod: {cpu: lots}}",
        "s.yaml:3:21: workloads[0].pod.cpu:",
    ),
    (
        NODES + "workloads:\n  - {name: a, pod: {spec: {restartPolicy: Sometimes}}}",
        's.yaml:3:15: workloads[0].pod: Pod "a-1" is invalid: spec.restartPolicy',
    ),
    (
        NODES + "workloads:\n  - {name: a}\n  - {name: a}",
        "s.yaml:4:6: workloads[1].name: there is another workload named a",
    ),
    (
        NODES + "until: 1s\nseed: 3\nuntil: 2s",
        "s.yaml:4:1: until: the field is there twice",
    ),
    (
        NODES + "workloads:\n  - {name: a, arrival: {poisson: 1000/s, until: 1d}}",
        "s.yaml:3:5: workloads[0]: that makes more than 2000000 pods in all",
    ),
    (
        NODES + "workloads:\n  - {name: a, kind: Job, count: 20000, replicas: 200, duration: 1s}",
        "s.yaml:3:5: workloads[0]: that makes more than 2000000 pods in all",
    ),
    (
        NODES + "events:\n  - {at: 1s}",
        "s.yaml:3:5: events[0]: expected exactly one of cordon, uncordon, drain",
    ),
    (
        NODES + "events:\n  - at: 1s\n    scale: {workload: w, replicas: 2}",
        "s.yaml:4:13: events[0].scale.workload: there is no workload named w",
    ),
    (
        NODES + "events:\n  - {at: 1s, add: {group: m}}",
        "s.yaml:3:20: events[0].add.group: there is no node group named m",
    ),
    (
        NODES + "autoscaler: {}",
        "s.yaml:2:1: autoscaler: no node group has autoscaling; expected one that does",
    ),
    (
        "cluster:\n  nodeGroups: [{name: n}]\n  objects:\n  - {kind: Thing, apiVersion: v1}",
        "s.yaml:4:5: cluster.objects[0]: there is no kind Thing in apiVersion v1",
    ),
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_a_mistake_has_its_place(text: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as told:
        prepare(text)
    assert str(told.value).startswith(expected), str(told.value)


def test_a_scenario_without_workloads_is_over_at_once() -> None:
    assert play(CLUSTER).created == 0


TRACE = b"arrival,duration,cpu,gpu\n5,10,500m,\n0,1m,1,\n"
CSV = CLUSTER + "workloads:\n  - {name: t, arrival: {csv: {file: t.csv}}}"


def test_pods_come_from_a_csv_file() -> None:
    result = play(CSV, files={"t.csv": TRACE})
    assert [(one.created, one.ended) for one in result.pods] == [(0.0, 61.01), (5.0, 16.01)]
    assert [one.requests["cpu"] for one in result.shapes] == [1000, 500]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"start,cpu\n1,1\n", "t.csv:1:1: there is no column arrival; there are: start, cpu"),
        (b"arrival,cpu\n1\n", "t.csv:2:1: it has 1 cells, and the header has 2"),
        (b"arrival,cpu\n1,1\n-4,1\n", "t.csv:3:1: arrival: -4 is out of range; expected 0 to"),
        (b"arrival,cpu\n1,much\n", "t.csv:2:3: cpu:"),
        (b"arrival\n\xff\n", "t.csv: it is not UTF-8"),
        (b'arrival\n"1\n', "t.csv:2:1: unexpected end of data"),
    ],
)
def test_a_mistake_in_a_csv_file_has_its_place(data: bytes, expected: str) -> None:
    with pytest.raises(ScenarioError) as told:
        prepare(CSV, files={"t.csv": data})
    assert str(told.value).startswith(expected), str(told.value)
