"""A policy's plugins inside `moor run`, on both API servers: every hook, and what goes wrong."""

from collections.abc import Iterator
from typing import Any

import pytest

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane
from tests.e2e.pod_helpers import (
    events_of,
    node_of,
    nodes,
    note_of,
    pod,
    schedule,
    scheduled_condition,
    unschedulable,
    write_policy,
)

SCHEDULER = "with-policy"
#: What a pod wants is in its labels, so that one scheduler serves all tests.
POLICY = '''
from mooring import hook


@policy.filter
def disk(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    wanted = pod.labels.get("disk")
    return mr.accept_if(wanted in (None, node.labels["disk"]), "node(s) had another disk")


@policy.score(max_score=10)
def by_label(pod: mr.Pod, node: mr.Node) -> float:
    return float(node.labels.get(pod.labels.get("prefers", ""), "0"))


@policy.bind
def mark(binding: mr.Binding) -> mr.Binding | str:
    assert binding.pod is not None and binding.node is not None
    if binding.pod.labels.get("reject") == "bind":
        return "not by me"
    return binding.annotate({"example.com/bound-by": "policy"})


class Together(hook.Permit):
    """Pods of a group wait for each other; a pod may also ask to be rejected or to be late."""

    name = "Together"

    def attach(self, handle: hook.Handle) -> None:
        self.handle = handle

    def permit(self, cycle: hook.Cycle, node: mr.Node) -> hook.FilterAnswer | hook.Wait:
        labels = cycle.pod.labels
        others = [
            one for one in self.handle.waiting
            if one.pod.labels.get("group", one.pod.name) == labels.get("frees", labels.get("group"))
        ]
        if "rejects" in labels:
            held = self.handle.waiting.get(f"{cycle.pod.namespace}/{labels['rejects']}")
            assert held is not None
            held.reject(self.name, "node(s) were wanted by another")
        if "late" in labels:
            return hook.Wait(float(labels["late"]))
        if "group" in labels and len(others) + 1 < int(labels["size"]):
            return hook.Wait(600)
        for one in others:
            one.allow(self.name)
        return True


class Ledger(hook.Reserve, hook.PreBind, hook.PostBind):
    """Writes down what happens, and asks the outside world before it goes on."""

    name = "Ledger"

    def __init__(self) -> None:
        self.lines: list[str] = []

    def reserve(self, cycle: hook.Cycle, node: mr.Node) -> hook.FilterAnswer:
        self.lines.append(f"reserve {cycle.pod.key}")
        return "node(s) had no slot" if cycle.pod.labels.get("reject") == "reserve" else None

    def unreserve(self, cycle: hook.Cycle, node: mr.Node) -> None:
        self.lines.append(f"unreserve {cycle.pod.key}")

    async def pre_bind(self, binding: mr.Binding) -> hook.BindAnswer:
        import asyncio

        await asyncio.sleep(0.01)
        if binding.pod.labels.get("reject") == "pre_bind":
            return "the store is closed"
        mine = [line.split()[0] for line in self.lines if line.endswith(f" {binding.key}")]
        return binding.annotate({"example.com/ledger": ", ".join(mine)})

    async def post_bind(self, binding: mr.Binding) -> None:
        print("post_bind", binding.name, binding.node_name, flush=True)


def spoil(pod: mr.Pod, where: str) -> None:
    if pod.labels.get("raises") == where:
        raise KeyError("absent")
    while pod.labels.get("hangs") == where:
        pass


class Spoiled(
    hook.PreFilter, hook.FilterNodes, hook.ScoreNodes, hook.Reserve, hook.Permit, hook.PreBind
):
    """Fails or hangs where the pod says."""

    name = "Spoiled"

    def pre_filter(self, cycle: hook.Cycle) -> None:
        spoil(cycle.pod, "pre_filter")

    def filter_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> list[bool]:
        spoil(pod, "filter")
        return [True] * len(nodes)

    def score_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> list[float]:
        spoil(pod, "score")
        return [0.0] * len(nodes)

    def reserve(self, cycle: hook.Cycle, node: mr.Node) -> None:
        spoil(cycle.pod, "reserve")

    def unreserve(self, cycle: hook.Cycle, node: mr.Node) -> None:
        pass

    def permit(self, cycle: hook.Cycle, node: mr.Node) -> None:
        spoil(cycle.pod, "permit")

    async def pre_bind(self, binding: mr.Binding) -> None:
        spoil(binding.pod, "pre_bind")


policy.add(Together())
policy.add(Ledger())
policy.add(Spoiled())
'''
CONFIG = {
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 2,
    "profiles": [
        {
            "schedulerName": SCHEDULER,
            "plugins": {"multiPoint": {"enabled": [{"name": "SchedulerTimestamp"}]}},
            "pluginConfig": [
                {"name": "SchedulerTimestamp", "args": {"annotation": "example.com/started"}}
            ],
        }
    ],
}
HOOKS = ["pre_filter", "filter", "score", "reserve", "permit", "pre_bind"]
FLEET: dict[str, dict[str, Any]] = {
    "fast": {"labels": {"disk": "ssd", "left": "1", "right": "9"}},
    "slow": {"labels": {"disk": "hdd", "left": "9", "right": "1"}},
}


@pytest.fixture(scope="module")
def scheduler(
    plane: BaseControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MoorRun]:
    """A scheduler with the policy, and two nodes, for all tests of this file."""
    policy = write_policy(tmp_path_factory.mktemp("policy"), POLICY)
    with (
        nodes(plane, **FLEET),
        MoorRun(plane, CONFIG, policy=policy, args=["--hook-timeout", "2"]) as running,
    ):
        yield running


def labelled(name: str, namespace: str, **labels: str) -> dict[str, Any]:
    made = pod(name, namespace, SCHEDULER)
    made["metadata"]["labels"] = labels
    return made


def annotations(plane: BaseControlPlane, name: str, namespace: str) -> dict[str, str]:
    found: dict[str, str] = plane.get("Pod", name, namespace)["metadata"].get("annotations", {})
    return found


def nominated_node(plane: BaseControlPlane, name: str, namespace: str) -> str:
    """The node that is kept for a waiting pod, waiting for it."""

    def nominated() -> str | None:
        found: str | None = plane.get("Pod", name, namespace)["status"].get("nominatedNodeName")
        return found

    return plane.wait_for(nominated, f"pod {name} to have a nominated node")


@pytest.mark.usefixtures("scheduler")
def test_filters_and_scores_decide(plane: BaseControlPlane, namespace: str) -> None:
    for name, labels, where in [
        ("ssd", {"disk": "ssd", "prefers": "left"}, "fast"),
        ("hdd", {"disk": "hdd", "prefers": "right"}, "slow"),
        ("left", {"prefers": "left"}, "slow"),
        ("right", {"prefers": "right"}, "fast"),
    ]:
        plane.create(labelled(name, namespace, **labels))
        assert node_of(plane, name, namespace) == where
    plane.create(labelled("tape", namespace, disk="tape"))
    unschedulable(plane, "tape", namespace, "0/2 nodes are available: 2 node(s) had another disk.")


def test_hooks_around_binding_run_once_each_and_annotate(
    plane: BaseControlPlane, namespace: str, scheduler: MoorRun
) -> None:
    plane.create(labelled("p", namespace))
    where = node_of(plane, "p", namespace)
    found = plane.get("Pod", "p", namespace)
    written = found["metadata"]["annotations"]
    assert written["example.com/bound-by"] == "policy"
    assert written["example.com/ledger"] == "reserve"
    # In nanoseconds, between the pod's creation and now.
    assert len(written["example.com/started"]) == 19
    assert sorted(written) == [
        "example.com/bound-by", "example.com/ledger", "example.com/started",
    ]  # fmt: skip
    # All in one step with the binding: the pod was changed once after its creation.
    assert found["metadata"]["generation"] <= 2
    plane.wait_for(lambda: f"post_bind p {where}" in scheduler.log(), "post_bind to run")
    assert scheduler.log().count("post_bind p ") == 1


@pytest.mark.usefixtures("scheduler")
def test_pods_of_a_group_wait_for_each_other(plane: BaseControlPlane, namespace: str) -> None:
    for number in range(2):
        plane.create(labelled(f"g{number}", namespace, group="g", size="3"))
    # They are reserved and nominated, but they are not bound.
    for number in range(2):
        nominated_node(plane, f"g{number}", namespace)
    plane.create(labelled("other", namespace))
    node_of(plane, "other", namespace)
    for number in range(2):
        waiting = plane.get("Pod", f"g{number}", namespace)
        assert "nodeName" not in waiting["spec"]
        assert events_of(plane, f"g{number}", namespace) == []
    plane.create(labelled("g2", namespace, group="g", size="3"))
    for number in range(3):
        node_of(plane, f"g{number}", namespace)
        note_of(plane, f"g{number}", namespace, "Scheduled")


@pytest.mark.usefixtures("scheduler")
def test_waiting_pods_are_rejected_or_too_late_and_tried_again(
    plane: BaseControlPlane, namespace: str
) -> None:
    plane.create(labelled("held", namespace, group="alone", size="2"))
    nominated_node(plane, "held", namespace)
    plane.create(labelled("rival", namespace, rejects="held"))
    node_of(plane, "rival", namespace)
    unschedulable(
        plane, "held", namespace, "0/1 nodes are available: 1 node(s) were wanted by another."
    )
    plane.create(labelled("late", namespace, late="0.3"))
    why = (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 300ms at plugin Together."
    )
    unschedulable(plane, "late", namespace, why)
    note_of(plane, "late", namespace, "FailedScheduling", why)
    condition = scheduled_condition(plane.get("Pod", "late", namespace))
    assert condition["reason"] == "Unschedulable"
    # Both are tried again when something changes: one that waits is let go by its partner.
    plane.create(labelled("partner", namespace, group="alone", size="2"))
    node_of(plane, "partner", namespace)
    node_of(plane, "held", namespace)


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize(
    ("where", "told"),
    [
        # As kube-scheduler says it: until Permit, a pod that fits no node; after that, the reason.
        ("reserve", "0/1 nodes are available: 1 node(s) had no slot."),
        ("pre_bind", "the store is closed"),
        ("bind", "not by me"),
    ],
)
def test_a_rejection_after_the_choice_gives_the_place_back(
    plane: BaseControlPlane, namespace: str, where: str, told: str
) -> None:
    plane.create(labelled("no", namespace, reject=where))
    assert note_of(plane, "no", namespace, "FailedScheduling") == told
    unschedulable(plane, "no", namespace, told)
    found = plane.get("Pod", "no", namespace)
    condition = scheduled_condition(found)
    assert (condition["reason"], condition["message"]) == ("Unschedulable", told)
    # It comes back when the label goes; a change of the pod is a reason to try again.
    path = plane.path("Pod", "no", namespace)
    patch = {"metadata": {"labels": {"reject": None}}}
    plane.request("PATCH", path, patch, content_type="application/merge-patch+json")
    node_of(plane, "no", namespace)
    lines = annotations(plane, "no", namespace)["example.com/ledger"].split(", ")
    assert lines[:2] == ["reserve", "unreserve"]
    assert lines.count("reserve") == lines.count("unreserve") + 1


@pytest.mark.parametrize("where", HOOKS)
@pytest.mark.parametrize(
    ("label", "said"),
    [("raises", "KeyError: 'absent'"), ("hangs", "it was interrupted because ")],
)
def test_a_broken_hook_is_named_and_holds_up_nobody_else(
    plane: BaseControlPlane,
    namespace: str,
    scheduler: MoorRun,
    where: str,
    label: str,
    said: str,
) -> None:
    rejected = schedule(plane, labelled("broken", namespace, **{label: where}))
    condition = scheduled_condition(rejected)
    assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
    expected = f"plugin Spoiled failed in {where} for pod {namespace}/broken: {said}"
    assert expected in condition["message"]
    note = note_of(plane, "broken", namespace, "FailedScheduling")
    assert expected in note
    event = events_of(plane, "broken", namespace)[0]
    assert (event["type"], event["reportingController"]) == ("Warning", SCHEDULER)
    plane.create(labelled("fine", namespace))
    node_of(plane, "fine", namespace)
    assert scheduler.get("/livez") == "ok"
    plane.delete("Pod", "broken", namespace)
