"""Mistakes in scenarios: where they are, and what is expected."""

import pytest

from mooring.embedded.resources import BY_KIND
from mooring.simulator.scenario.scenario_error import ScenarioError
from tests.unit.simulator.scenarios import CLUSTER, play, prepare

NODES = "cluster: {nodeGroups: [{name: n, count: 1}]}\n"
WRONG = [
    ("[]", "s.yaml:1:1: expected a mapping with at least the field cluster"),
    ("a: [", "s.yaml:2:1: it is not valid YAML"),
    ("a: 1\nb: }", "s.yaml:2:4: it is not valid YAML"),
    ("a: 1\nb: \0", "s.yaml:2:4: it is not valid YAML: the character U+0000 is not allowed"),
    ("cluster: &a {nodeGroups: *a}", "s.yaml:1:1: it is not valid YAML: it holds more than"),
    (NODES + "name: !!set {a}", "s.yaml:2:7: it is not valid YAML: the tag !!set is not supported"),
    (
        NODES + "workloads:\n  - name: a\n    pod:\n      labels:\n        a: b\n        v: 1",
        "s.yaml:7:9: workloads[0].pod.labels.v: expected a text, got a whole number",
    ),
    (
        NODES + "workloads:\n  - {name: a, kind: Foo}",
        "s.yaml:3:15: workloads[0].kind: 'Foo' is not possible; expected one of Pod, Deployment, R",
    ),
    (
        NODES + "workloads:\n  - {name: a, replicas: 3}",
        "s.yaml:3:15: workloads[0].replicas: it has no effect on the kind Pod; expected count",
    ),
    (
        NODES + "workloads:\n  - {name: a, kind: Deployment, spec: {replicas: 3}}",
        "s.yaml:3:40: workloads[0].spec.replicas: expected the field replicas of the workload",
    ),
    (
        NODES + "workloads:\n  - {name: a, pod: {spec: {tolerance: []}}}",
        's.yaml:3:15: workloads[0].pod: Pod in version "v1" cannot be handled as a Pod: strict d',
    ),
    (
        NODES + "workloads:\n  - {name: a, namespace: a.b}",
        's.yaml:3:15: workloads[0].namespace: Namespace "a.b" is invalid',
    ),
    (
        NODES + "workloads:\n  - {name: a, count: " + "9" * 4000 + "}",
        "s.yaml:3:15: workloads[0].count: 999999999999999999999999999999... is out of range",
    ),
    (
        NODES + "workloads:\n  - {name: a, arrival: {until: 5s}}",
        "s.yaml:3:25: workloads[0].arrival.until: it ends nothing; expected every or poisson",
    ),
    (
        NODES + "workloads:\n  - {name: a, count: 3, arrival: {csv: {file: a.csv}}}",
        "s.yaml:3:35: workloads[0].arrival.csv: the file says when and how many",
    ),
    (
        NODES + "workloads:\n  - {name: a, arrival: {csv: {file: none.csv}}}",
        "s.yaml:3:31: workloads[0].arrival.csv.file: none.csv does not exist",
    ),
    (NODES + "manifests: [none.yaml]", "s.yaml:2:13: manifests[0]: none.yaml does not exist"),
    (
        NODES + "events:\n  - {at: 1s, drain: {zone: a, count: -1}}",
        "s.yaml:3:31: events[0].drain.count: -1 is out of range",
    ),
    (
        NODES + "events:\n  - {at: 1s, taint: {node: n-1, key: a b}}",
        's.yaml:3:14: events[0].taint: Node "any" is invalid: metadata.taints[0].key',
    ),
    (
        NODES + "events:\n  - {at: 1s, apply: {kind: Foo, apiVersion: v1}}",
        "s.yaml:3:14: events[0].apply: there is no kind Foo in apiVersion v1",
    ),
    (
        NODES + "events:\n  - {at: 1s, apply: {kind: Pod, apiVersion: v1, metadata: x}}",
        "s.yaml:3:49: events[0].apply.metadata: expected a mapping",
    ),
    (
        NODES + "events:\n  - {at: 1s, apply: {kind: Pod, apiVersion: v1, metadata: {name: [a]}}}",
        "s.yaml:3:60: events[0].apply.metadata.name: expected a text",
    ),
    (
        "cluster:\n  nodeGroups: [{name: n, count: 1}, {name: m, cpu: -1}]",
        's.yaml:2:37: cluster.nodeGroups[1]: Node "m-1" is invalid: [status.capacity.cpu',
    ),
    (
        NODES.replace("1}", "1, autoscaling: {max: 2}}") + "autoscaler: {scanInterval: 1ns}",
        "s.yaml:2:14: autoscaler.scanInterval: expected a duration of at least 1s",
    ),
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


def test_devices_in_a_csv_file_are_whole_and_have_names() -> None:
    def told(name: str) -> str:
        columns = f"file: t.csv, columns: {{{name}: gpus}}"
        with pytest.raises(ScenarioError) as error:
            prepare(CSV.replace("file: t.csv", columns), files={"t.csv": b"arrival,gpus\n1,0.5\n"})
        return str(error.value)

    assert told("a.b/gpu") == "t.csv:2:3: a.b/gpu: 0.5 is no whole number, which a.b/gpu has to be"
    assert told("gpu").startswith('s.yaml:6:25: workloads[0].arrival.csv: Pod "t-1" is invalid')


def test_a_list_of_objects_is_a_manifest_and_so_is_a_comment() -> None:
    data = b"""
kind: List
apiVersion: v1
items:
- {kind: ConfigMap, apiVersion: v1, metadata: {name: a}}
---
# nothing
"""
    run = prepare(NODES + "manifests: [m.yaml]", files={"m.yaml": data})
    api = run.simulation.cluster.api
    assert api.store.get(BY_KIND["v1", "ConfigMap"], "default", "a") is not None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"start,cpu\n1,1\n", "t.csv:1:1: there is no column arrival; there are: start, cpu"),
        (b"arrival,cpu\n1\n", "t.csv:2:1: it has 1 cells, and the header has 2"),
        (b"arrival,cpu\n1,1\n-4,1\n", "t.csv:3:1: arrival: -4 is out of range; expected 0 to"),
        (b"arrival,cpu\n1,much\n", "t.csv:2:3: cpu:"),
        (b"arrival,cpu\n1,-2\n", "t.csv:2:3: cpu: -2 is negative"),
        (b"arrival,arrival\n1,2\n", "t.csv:1:1: the column arrival is there twice"),
        (b"arrival\n\xff\n", "t.csv: it is not UTF-8"),
        (b'arrival\n"1\n', "t.csv:2:1: unexpected end of data"),
    ],
)
def test_a_mistake_in_a_csv_file_has_its_place(data: bytes, expected: str) -> None:
    with pytest.raises(ScenarioError) as told:
        prepare(CSV, files={"t.csv": data})
    assert str(told.value).startswith(expected), str(told.value)
