"""Every hook and every function of a policy, going wrong in every way.

One scheduler, on the embedded cluster, runs a plugin that fails once for each pod, at the hook and
in the way that the pod's labels say. All pods are there at the same time, with ordinary ones among
them. The scheduler lives, each pod is told why, the others are placed, and in the end every pod is
bound and nothing is left over.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from mooring.live.options import HookLimits, RunOptions, read_settings
from mooring.live.run import scheduling
from mooring.live.state_comparison import check_state
from mooring.testing import cluster, make_node
from mooring.testing.child_process import WaitError
from mooring.testing.embedded_cluster import TestCluster
from tests.unit.live.wild_plugin import FAILURES, Wild, wild_policy

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 1,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "queueSort": {"disabled": [{"name": "PrioritySort"}]},
                # Before DefaultPreemption, which would end the search.
                "postFilter": {"enabled": [{"name": "Wild"}]},
            },
        }
    ],
}
#: Where a failure keeps the pod from its node until the next try, and its event says why.
TOLD = (
    "pre_filter", "filter_nodes", "pre_score", "score_nodes", "normalize", "reserve", "plan",
    "permit", "pre_bind_check", "plan.writes", "plan.ready", "pre_bind", "bind",
    "filter function", "filter_nodes function", "score function", "score_nodes function",
    "bind function",
)  # fmt: skip
#: The same for hooks that are asked only when pods have to be preempted.
PREEMPTING = ("add_pod", "remove_pod", "post_filter", "preempt", "preempt function")
#: Where a failure is logged, or holds the pod back without an attempt.
LOGGED = ("pre_enqueue", "sort_key", "helps", "unreserve", "post_bind")
#: A reason of three hundred thousand characters is legal and rejects the pod; it is cut.
REJECTING = {
    (hook, "huge")
    for hook in (
        "pre_filter", "filter_nodes", "reserve", "permit", "plan.writes", "plan.ready", "pre_bind",
        "bind", "bind function",
    )
}  # fmt: skip
#: Other answers that are legal after all: they reject one node of several, or are not looked at.
LEGAL = {
    *REJECTING,
    ("pre_filter", "too-much"),
    ("plan", "huge"),
    *((hook, "huge") for hook in ("filter function", "post_filter", "preempt", "preempt function")),
    *(
        (hook, failure)
        for hook in ("pre_score", "add_pod", "remove_pod")
        for failure in ("wrong", "too-much", "huge", "hostile", "hostile-part")
    ),
}
CASES = [(hook, failure) for hook in (*TOLD, *PREEMPTING, *LOGGED) for failure in FAILURES]


_MERGE = "application/merge-patch+json"


class Written(logging.Handler):
    """Writes every record as a real handler would, traceback included."""

    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__()
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self.format(record).encode()
        self._records.append(record)


class Outcome(NamedTuple):
    """What became of everything."""

    wild: Wild
    notes: dict[str, list[str]]
    uids: dict[str, str]
    placements: dict[str, str]
    differences: list[str]
    left_over: list[str]
    log: str


def pod_name(hook: str, failure: str) -> str:
    return f"{hook}-{failure}".replace("_", "-").replace(" ", "-")


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    """Run them all once."""
    nodes = [make_node(f"big-{number}", cpu="100", memory="100Gi") for number in range(5)]
    nodes += [
        make_node(
            pod_name(hook, failure),
            cpu="1",
            labels={"only": pod_name(hook, failure)},
            taints=[{"key": "only", "value": "one", "effect": "NoSchedule"}],
        )
        for hook in PREEMPTING
        for failure in FAILURES
    ]
    records: list[logging.LogRecord] = []
    handler = Written(records)
    logger = logging.getLogger("mooring")
    logger.addHandler(handler)
    try:
        with cluster(nodes, scheduler=False) as made:
            yield asyncio.run(_run(made, records))
    finally:
        logger.removeHandler(handler)


async def _run(made: TestCluster, records: list[logging.LogRecord]) -> Outcome:
    for hook, failure in CASES:
        _create(made, hook, failure)
    for number in range(20):
        made.create_pod(f"good-{number}", requests={"cpu": "10m"})
    wild = Wild()
    options = RunOptions(
        policy=wild_policy(wild),
        config=CONFIG,
        kubeconfig=made.kubeconfig,
        leader_elect=False,
        hook_limits=HookLimits(decision_seconds=0.1, binding_seconds=1.0),
    )
    count = len(CASES) + 20
    # With so short a limit, a hook on a slow machine may be interrupted five times while it ends:
    # that counts as ignored, and must not end the process of the tests.
    left: list[int] = []
    async with scheduling(read_settings(options), exit_now=left.append) as components:
        await _until(lambda: len(wild.failed) >= len(CASES) - len(FAILURES))
        # Pods that the plugin rejected wait for a change of a node; so do those about `helps`.
        for number in range(60):
            labels = {"metadata": {"labels": {"change": str(number)}}}
            await asyncio.to_thread(
                made.request, "PATCH", "/api/v1/nodes/big-0", labels, content_type=_MERGE
            )
            with contextlib.suppress(WaitError):
                await asyncio.to_thread(made.wait_placements, count, timeout=3)
                break
        else:
            pytest.fail(f"never bound: {[one for one, at in made.placements().items() if not at]}")
        await _until(lambda: not components.live.core.binding)
        await components.recorder.flush(20)
        found = await check_state(
            components.client,
            components.live.core,
            ["default-scheduler"],
            overdue=components.live.overdue,
        )
        left_over = [one.queued.key for one in components.live.core.binding]
        left_over += [one.key for one in components.live.core.queue]
        return Outcome(
            wild=wild,
            notes=_notes(made),
            uids={pod.name: pod.uid for pod in made.pods()},
            placements=made.placements(),
            differences=[one.text for one in found.differences],
            left_over=left_over,
            log="\n".join(one.getMessage() for one in records),
        )


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not condition():  # noqa: ASYNC110 - a plugin has no events
            await asyncio.sleep(0.02)


def _notes(made: TestCluster) -> dict[str, list[str]]:
    """What the events about failed attempts say, by pod."""
    found: dict[str, list[str]] = {}
    for one in made.list_objects("Event", "default"):
        if one.get("reason") == "FailedScheduling":
            found.setdefault(one["involvedObject"]["name"], []).append(one.get("message", ""))
    return found


def _create(made: TestCluster, hook: str, failure: str) -> None:
    name = pod_name(hook, failure)
    labels = {"hook": hook.replace(" ", "."), "failure": failure}
    if hook not in PREEMPTING:
        made.create_pod(name, labels=labels, requests={"cpu": "10m"})
        return
    spec: dict[str, Any] = {
        "nodeSelector": {"only": name},
        "tolerations": [{"key": "only", "operator": "Exists"}],
    }
    made.create_pod(f"victim-{name}", namespace="kube-public", node=name, requests={"cpu": "600m"})
    made.create_pod(name, labels=labels, requests={"cpu": "600m"}, priority=100, spec=spec)


@pytest.mark.parametrize(("hook", "failure"), CASES)
def test_the_pod_is_told_why_and_bound_at_last(outcome: Outcome, hook: str, failure: str) -> None:
    name = pod_name(hook, failure)
    assert outcome.wild.failed[outcome.uids[name]] == hook.replace(" ", ".")
    assert outcome.placements[name]
    notes = outcome.notes.get(name, [])
    assert all(len(note.encode()) <= 1024 for note in notes)
    if hook in LOGGED:
        return
    if (hook, failure) not in LEGAL:
        told = [note for note in notes if _names_it(note, hook)]
        assert told, notes
    elif (hook, failure) in REJECTING:
        assert any("xxxxx" in note for note in notes), notes


def _names_it(note: str, hook: str) -> bool:
    if hook.endswith("function"):
        return note.startswith(hook.removesuffix("function")) or (
            f": {hook.removesuffix('function')}" in note
        )
    if hook == "preempt":
        return "preempt 'Wild'" in note
    asked = {"normalize": "score", "plan": "reserve"}.get(hook, hook.removesuffix("_nodes"))
    return f"plugin Wild failed in {asked} for pod " in note


def test_others_are_placed_and_nobody_is_preempted_who_is_no_victim(outcome: Outcome) -> None:
    assert all(outcome.placements[f"good-{number}"] for number in range(20))


def test_nothing_is_left_over(outcome: Outcome) -> None:
    assert outcome.differences == []
    assert outcome.left_over == []


@pytest.mark.parametrize("failure", ["raises", "spins", "exits", "recurses"])
@pytest.mark.parametrize("hook", ["pre_enqueue", "unreserve", "post_bind"])
def test_what_no_event_tells_is_in_the_log(outcome: Outcome, hook: str, failure: str) -> None:
    pod = f"default/{pod_name(hook, failure)}"
    assert f"plugin Wild failed in {hook} for pod {pod}: " in outcome.log
