"""The workloads of `make bench-scheduler` are scheduler_perf's and start within the rules."""

from collections import Counter

import msgspec
import pytest

from benchmarks.scheduler import kinds
from benchmarks.scheduler.clients import bind_pod, create_pod
from benchmarks.scheduler.kinds import Object, PodKind
from benchmarks.scheduler.rules import broken_rules
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.workloads import QUICK, WORKLOADS, Size, Workload

NAMES = list(WORKLOADS)
CPU_MILLI = {"": 0, "100m": 100, "900m": 900, "3": 3000, "9": 9000}


def task_of(name: str, nodes: int = 500, *, quick: bool = False) -> Task:
    return Task(WORKLOADS[name], nodes, quick=quick)


def requested(pod: Object) -> int:
    resources = pod["spec"]["containers"][0].get("resources", {})
    return CPU_MILLI[resources.get("requests", {}).get("cpu", "")]


@pytest.mark.parametrize(
    ("name", "nodes", "init", "pods"),
    [
        ("SchedulingBasic", 500, 500, 1000),
        ("SchedulingBasic", 5000, 1000, 10000),
        ("SchedulingPodAntiAffinity", 5000, 1000, 2000),
        ("TopologySpreading", 5000, 5000, 5000),
        ("MixedSchedulingBasePod", 5000, 10000, 5000),
        ("PreemptionAsync", 5000, 20000, 5000),
        ("Unschedulable", 5000, 100, 10000),
    ],
)
def test_sizes_are_those_of_scheduler_perf(name: str, nodes: int, init: int, pods: int) -> None:
    task = task_of(name, nodes)
    assert (task.init_pods, task.size.pods, task.size.official) == (init, pods, None)


def test_other_sizes_say_what_scheduler_perf_has() -> None:
    basic = WORKLOADS["SchedulingBasic"]
    assert basic.size(5000, quick=True) == Size(1000, 2000, official=10000)
    assert basic.size(500, quick=True) == basic.small
    assert basic.size(100) == Size(100, 200, official=0)
    assert WORKLOADS["SchedulingDaemonset"].size(5000, quick=True) == Size(0, 1000, official=0)
    assert set(QUICK) < set(WORKLOADS)


@pytest.mark.parametrize("nodes", [10, 100, 500, 5000])
@pytest.mark.parametrize("name", NAMES)
def test_pods_at_the_start_fit_and_keep_apart(name: str, nodes: int) -> None:
    task = task_of(name, nodes)
    used: Counter[str] = Counter()
    green: Counter[str] = Counter()
    for pod in task.placed_pods():
        node = pod["spec"]["nodeName"]
        used[node] += requested(pod)
        green[node] += pod["metadata"]["labels"].get("color") == "green"
    assert set(used) <= {node["metadata"]["name"] for node in task.node_manifests()}
    assert all(cpu <= 4000 for cpu in used.values())
    assert all(count <= 1 for count in green.values())


@pytest.mark.parametrize("name", NAMES)
def test_pods_at_the_start_break_no_rule(name: str) -> None:
    task = task_of(name)
    assert broken_rules(task, [*task.placed_pods(), *task.warm_up_pods()]) == []


@pytest.mark.parametrize(
    ("name", "kind", "nodes", "said"),
    [
        ("SchedulingBasic", kinds.PLAIN, [0] * 40, ""),
        ("SchedulingBasic", kinds.PLAIN, [0] * 41, "a node has more pods than it has CPU for"),
        ("SchedulingPodAntiAffinity", kinds.ANTI_AFFINITY, [1, 2, 3], ""),
        ("SchedulingPodAntiAffinity", kinds.ANTI_AFFINITY, [1, 2, 1], "share a node"),
        ("TopologySpreading", kinds.SPREAD, [0, 3, 6, 9, 12], ""),
        ("TopologySpreading", kinds.SPREAD, [0, 3, 6, 9, 12, 15], "zones are uneven"),
        ("PreferredTopologySpreading", kinds.PREFERRED_SPREAD, [0, 3, 6, 9, 12, 15], ""),
        ("SchedulingDaemonset", kinds.DAEMON, [4], "that needs scheduler-perf-node"),
        ("SchedulingBasic", kinds.PLAIN, [500], "scheduler-perf-00500, which is no node"),
    ],
)
def test_a_broken_rule_is_seen(name: str, kind: PodKind, nodes: list[int], said: str) -> None:
    pods = [kind.manifest(number, "a", kinds.node_name(node)) for number, node in enumerate(nodes)]
    broken = broken_rules(task_of(name), pods)
    assert len(broken) == bool(said)
    assert said in "".join(broken)


@pytest.mark.parametrize("name", NAMES)
def test_the_scheduler_places_the_last_pods_at_the_start_itself(name: str) -> None:
    task = task_of(name)
    warm_ups = list(task.warm_up_pods())
    assert len(warm_ups) == min(50, task.init_pods)
    assert len(list(task.placed_pods())) + len(warm_ups) == task.init_pods
    assert not any("nodeName" in pod["spec"] for pod in [*warm_ups, *task.measured_pods()])


@pytest.mark.parametrize("name", NAMES)
def test_no_two_pods_have_the_same_name(name: str) -> None:
    task = task_of(name, 100)
    pods = [*task.placed_pods(), *task.warm_up_pods(), *task.measured_pods()]
    keys = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods}
    assert len(keys) == len(pods)
    assert {namespace for namespace, _ in keys} <= set(task.namespaces())


def test_zones_are_given_in_turn() -> None:
    nodes = task_of("TopologySpreading", 10).node_manifests()
    zones = [node["metadata"]["labels"][kinds.ZONE] for node in nodes]
    assert zones[:4] == ["moon-1", "moon-2", "moon-3", "moon-1"]
    assert (
        kinds.ZONE not in task_of("SchedulingBasic", 10).node_manifests()[0]["metadata"]["labels"]
    )


def test_a_daemon_set_has_a_node_of_its_own() -> None:
    task = task_of("SchedulingDaemonset", 10)
    first, *others = task.node_manifests()
    assert len(others) == 10
    assert int(first["status"]["capacity"]["pods"]) >= task.size.pods
    pod = next(task.measured_pods())
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms[0]["matchFields"][0]["values"] == [first["metadata"]["name"]]
    assert "resources" not in pod["spec"]["containers"][0]


def test_preemption_needs_three_victims_and_leaves_room_for_the_measured() -> None:
    workload: Workload = WORKLOADS["PreemptionAsync"]
    assert workload.churn is not None
    low, high, plain = (
        requested(kind.manifest(0, "a")) for kind in (*workload.init, workload.churn, workload.pods)
    )
    per_node = workload.large.init // 5000
    free = 4000 - per_node * low
    assert free + 2 * low < high <= free + 3 * low
    assert free * 5000 >= plain * workload.large.pods


def test_requests_are_whole_http() -> None:
    pod = kinds.PLAIN.manifest(7, "namespace-2")
    head, _, body = create_pod(pod).content.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /api/v1/namespaces/namespace-2/pods HTTP/1.1\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert msgspec.json.decode(body) == pod
    bind = bind_pod("namespace-2", "pod-00007", "n")
    assert bind.name == "pod-00007"
    assert bind.content.startswith(
        b"POST /api/v1/namespaces/namespace-2/pods/pod-00007/binding HTTP/1.1\r\n"
    )
    assert msgspec.json.decode(bind.content.partition(b"\r\n\r\n")[2])["target"]["name"] == "n"
