"""What happens to pods when things happen to nodes and workloads."""

from mooring.simulator.result import SimulationResult
from tests.unit.simulator.scenarios import CLUSTER, by_name, play

WEB = """
workloads:
  - {name: web, kind: Deployment, replicas: 6, pod: {cpu: 1}}
"""
BUDGET = """
  objects:
    - apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: b}
      spec: {minAvailable: 3, selector: {matchLabels: {app: bare}}}
"""


def here(result: SimulationResult) -> list[str]:
    """The nodes of the pods that are there at the end."""
    return sorted(one.node for one in result.pods if one.ended is None)


def test_a_drained_node_is_empty_and_its_pods_are_elsewhere() -> None:
    result = play(CLUSTER + WEB + "events: [{at: 10s, drain: {node: n-1}}]")
    assert here(result) == ["n-2"] * 3 + ["n-3"] * 3
    assert (result.created, result.evictions, result.pending) == (8, 2, 0)


def test_bare_pods_of_a_drained_node_are_gone() -> None:
    pods = "workloads: [{name: bare, count: 3, pod: {cpu: 2}}]\n"
    result = play(CLUSTER + pods + "events: [{at: 10s, drain: {zone: a}}]")
    assert (result.created, result.running, result.evictions) == (3, 2, 1)
    gone = next(one for one in result.pods if one.ended is not None)
    assert (gone.end, gone.ended) == ("evicted", 11.0)


def test_a_disruption_budget_holds_a_drain_up() -> None:
    pods = "workloads: [{name: bare, count: 3, pod: {cpu: 2}}]\nuntil: 10m\n"
    result = play(CLUSTER + BUDGET + pods + "events: [{at: 10s, drain: {zone: a}}]")
    assert (result.running, result.evictions) == (3, 0)


def test_a_budget_from_a_manifest_or_an_event_protects_bare_pods() -> None:
    pods = "workloads: [{name: bare, count: 3, pod: {cpu: 2}}]\nuntil: 10m\n"
    drain = "{at: 20s, drain: {zone: a}}"
    one = (
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, "
        "spec: {minAvailable: 3, selector: {matchLabels: {app: bare}}}}"
    )
    manifests = f"manifests: [b.yaml]\nevents: [{drain}]"
    files = {"b.yaml": one.encode()}
    assert play(CLUSTER + pods + manifests, files=files).evictions == 0
    events = f"events: [{{at: 10s, apply: {one}}}, {drain}]"
    assert play(CLUSTER + pods + events).evictions == 0
    wrong = events.replace("{matchLabels: {app: bare}}", "5")
    assert play(CLUSTER + pods + wrong).evictions == 1


def test_a_drain_that_a_budget_slows_down_goes_on_to_its_end() -> None:
    budget = """
  objects:
    - apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: b}
      spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
"""
    result = play(CLUSTER + budget + WEB + "events: [{at: 10s, drain: {node: n-1}}]")
    evicted = [one.ended for one in result.pods if one.end == "evicted"]
    assert evicted == [11.0, 16.0]  # kubectl drain tries again every five seconds
    assert "n-1" not in here(result)


def test_a_drain_that_a_budget_forbids_does_not_keep_a_simulation_going_for_ever() -> None:
    pods = "workloads: [{name: bare, count: 3, pod: {cpu: 2}}]\n"
    result = play(CLUSTER + BUDGET + pods + "events: [{at: 10s, drain: {zone: a}}]")
    assert (result.running, result.evictions) == (3, 0)
    assert result.end < 660


def test_a_drain_leaves_static_pods_on_their_node() -> None:
    pod = """
  objects:
    - apiVersion: v1
      kind: Pod
      metadata: {name: proxy-n-1, annotations: {kubernetes.io/config.mirror: x}}
      spec: {nodeName: n-1, containers: [{name: c, image: i}]}
"""
    result = play(CLUSTER + pod + "events: [{at: 10s, drain: {node: n-1}}]")
    assert (result.running, result.evictions) == (1, 0)


def test_pods_that_come_to_a_drained_node_later_stay() -> None:
    text = (
        CLUSTER
        + BUDGET
        + (
            "workloads:\n  - {name: bare, count: 3, pod: {cpu: 2}}\n"
            "  - {name: late, count: 6, arrival: {at: 30s}, pod: {cpu: 1}}\nuntil: 10m\n"
            "events: [{at: 10s, drain: {zone: a}}, {at: 20s, uncordon: {zone: a}}]"
        )
    )
    result = play(text)  # the budget keeps the drain going
    assert (result.running, result.evictions) == (9, 0)


def test_an_update_that_the_api_rejects_changes_nothing() -> None:
    events = "events: [{at: 10s, priority: {workload: web, priorityClassName: none}}]"
    result = play(CLUSTER + WEB + events)
    assert "no PriorityClass with name none was found" in result.events[0].message
    assert (result.created, result.running) == (6, 6)


def test_a_group_that_cannot_grow_is_an_event() -> None:
    node = "{kind: Node, apiVersion: v1, metadata: {name: n-4}}"
    events = f"events: [{{at: 1s, apply: {node}}}, {{at: 2s, add: {{group: n}}}}]"
    result = play(CLUSTER + WEB + events)
    assert [one.message for one in result.events] == ["Node n-4", 'nodes "n-4" already exists']


def test_a_cordoned_node_gets_no_pods_until_it_is_uncordoned() -> None:
    text = CLUSTER + (
        "workloads:\n  - {name: late, count: 4, arrival: {at: 20s}, pod: {cpu: 3}}\n"
        "events: [{at: 10s, cordon: {zone: c}}, {at: 1m, uncordon: {zone: c}}]"
    )
    bound = sorted((one.bound or -1.0, one.node) for one in play(text).pods)
    assert bound[0] == (-1.0, "")  # the fourth one does not fit at all
    assert [node for _, node in bound[1:]] == ["n-1", "n-2", "n-3"] or {
        node for _, node in bound[1:3]
    } == {"n-1", "n-2"}
    assert bound[3][0] >= 60


def test_a_zone_that_recovers_in_time_keeps_its_pods() -> None:
    events = "events: [{at: 1m, fail: {zone: a}}, {at: 5m, recover: {zone: a}}]"
    result = play(CLUSTER + WEB + "until: 20m\n" + events)
    assert (result.created, result.evictions) == (6, 0)


def test_pods_of_a_removed_node_are_lost_at_once() -> None:
    result = play(CLUSTER + WEB + "events: [{at: 1m, remove: {node: n-2}}]")
    lost = [one for one in result.pods if one.end == "node-removed"]
    assert [(one.node, one.ended) for one in lost] == [("n-2", 60.0)] * 2
    assert "n-2" not in here(result)
    assert len(here(result)) == 6
    assert next(one for one in result.nodes if one.name == "n-2").removed == 60.0


def test_new_nodes_take_pods_that_wait() -> None:
    text = CLUSTER + (
        "workloads: [{name: big, count: 4, pod: {cpu: 4}}]\n"
        "events: [{at: 1m, add: {group: n, count: 1}}]"
    )
    last = max(by_name(play(text)).values(), key=lambda one: one.bound or 0.0)
    assert last.node == "n-4"
    assert last.bound is not None
    assert 60 <= last.bound < 62


def test_taints_turn_pods_away_and_untaint_lets_them_in() -> None:
    taint = "{zone: a, key: k, effect: NoExecute}"
    events = f"events: [{{at: 1m, taint: {taint}}}, {{at: 2m, untaint: {taint}}}]"
    result = play(CLUSTER + WEB + events)
    assert result.evictions == 2
    assert [one.ended for one in result.pods if one.ended is not None] == [61.0, 61.0]


def test_scaling_changes_the_number_of_pods() -> None:
    events = "events: [{at: 1m, scale: {workload: web, replicas: 9}}, "
    events += "{at: 2m, scale: {workload: web, replicas: 4}}]"
    result = play(CLUSTER + WEB + events)
    assert (result.created, result.running) == (9, 4)


def test_a_rolling_update_replaces_all_pods() -> None:
    events = "events: [{at: 1m, update: {workload: web, pod: {cpu: 1500m}}}]"
    result = play(CLUSTER + WEB + events)
    assert (result.created, result.running) == (12, 6)
    left = [one for one in result.pods if one.ended is None]
    assert all(result.shapes[one.shape].requests["cpu"] == 1500 for one in left)


def test_a_workload_with_more_priority_preempts() -> None:
    text = (
        "cluster:\n  nodeGroups: [{name: n, count: 1, cpu: 4}]\n  objects:\n"
        "    - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high},"
        " value: 1000}\n"
        "workloads:\n  - {name: low, count: 4, pod: {cpu: 1}}\n"
        "  - {name: other, count: 2, pod: {cpu: 1}, arrival: {every: 1m, at: 1m}}\n"
        "events: [{at: 90s, priority: {workload: other, priorityClassName: high}}]"
    )
    result = play(text)
    assert (result.preemptions, result.pending) == (1, 1)
    assert [one.priority for one in result.pods if one.workload == "other"] == [0, 1000]


def test_jobs_complete_and_daemon_sets_have_a_pod_on_every_node() -> None:
    text = CLUSTER + (
        "workloads:\n  - {name: d, kind: DaemonSet}\n"
        "  - {name: j, kind: Job, replicas: 5, parallelism: 2, duration: 30s}\n"
        "  - {name: s, kind: StatefulSet, replicas: 3}"
    )
    result = play(text)
    assert (result.completed, result.running, result.created) == (5, 6, 11)
    assert {one.node for one in result.pods if one.workload == "d"} == {"n-1", "n-2", "n-3"}
    assert [one.pod for one in result.pods if one.workload == "s"] == [
        "default/s-0", "default/s-1", "default/s-2",
    ]  # fmt: skip
