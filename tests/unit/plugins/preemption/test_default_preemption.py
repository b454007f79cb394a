"""DefaultPreemption: who may preempt, what it answers, which node it prefers."""

from typing import Any

import pytest

from mooring.framework.hook import Action, FilterNodes
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import ACCEPT, Verdicts, fail
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.preemption.default_preemption import (
    DefaultPreemption,
    DefaultPreemptionArgs,
)
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import problems
from tests.unit.plugins.preemption.preemption_rig import Rig, budget, high, low

PREEMPTED = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]


def small(name: str = "n", **more: Any) -> Node:
    return make_node(name, cpu="4", **more)


def test_it_names_the_best_node_and_everything_it_looked_at() -> None:
    rig = Rig(
        small("cheap"), low("c", "cheap", 1, cpu="4"),
        small("dear"), low("d", "dear", 5, cpu="4"),
        small("proud"), low("p", "proud", 100, cpu="4"),
        small("shut", unschedulable=True),
    )  # fmt: skip
    found = rig.search(high("2"))
    assert found.verdict is ACCEPT
    assert found.eligible
    assert found.potential == ["cheap", "dear", "proud"]
    assert {node: one.victims[0].name for node, one in found.candidates.items()} == {
        "cheap": "c",
        "dear": "d",
    }
    assert list(found.rejected) == ["proud"]
    assert found.best == ["cheap"]


def test_what_nothing_tells_apart_is_all_named() -> None:
    pods = [low(f"on-{node}", node, 1, cpu="4", start="08:00") for node in "abc"]
    rig = Rig(*map(small, "abc"), *pods)
    assert rig.search(high("1")).best == ["a", "b", "c"]


def test_a_record_wants_all_candidates_and_a_scheduler_enough_of_them() -> None:
    nodes = [small(f"n{number}") for number in range(150)]
    rig = Rig(*nodes, *(low(f"p{number}", f"n{number}", cpu="4") for number in range(150)))
    cycle, filtering = rig.failed(high("1"))
    assert len(rig.plugin.post_filter(cycle, filtering).candidates) == 100
    cycle.thorough = True
    assert len(rig.plugin.post_filter(cycle, filtering).candidates) == 150


def test_without_a_candidate_it_says_why_node_by_node() -> None:
    rig = Rig(
        small("proud"), low("p", "proud", 100, cpu="4"),
        small("full"), low("f", "full", 100, cpu="3"), low("g", "full", 1, cpu="1"),
        small("shut", unschedulable=True), small("shut2", unschedulable=True),
    )  # fmt: skip
    found = rig.search(high("2"))
    assert found.verdict.code == "Unschedulable"
    assert found.verdict.also == ()
    assert found.verdict.reason == (
        "preemption: 0/4 nodes are available: 1 Insufficient cpu, "
        "1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert found.eligible
    assert found.best == ()


def test_without_a_node_that_might_help_it_does_not_search() -> None:
    rig = Rig(small("shut", unschedulable=True), low("p", "shut", cpu="4"))
    found = rig.search(high("1"))
    assert found.verdict.reason == (
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    assert found.eligible
    assert found.potential == ()


def test_a_pod_that_never_preempts_is_not_eligible() -> None:
    rig = Rig(small(), low("p", "n", cpu="4"))
    found = rig.search(high("1", spec={"preemptionPolicy": "Never"}))
    assert not found.eligible
    assert found.verdict.code == "Unschedulable"
    assert found.verdict.reasons == ("preemption: not eligible due to preemptionPolicy=Never.",)
    assert found.candidates == {}


def test_a_pod_waits_for_its_victims_to_leave() -> None:
    rig = Rig(small(), low("p", "n", cpu="4", deleted=True, conditions=PREEMPTED))
    found = rig.search(high("1", nominated="n"))
    assert not found.eligible
    assert found.verdict.reasons == (
        "preemption: not eligible due to a terminating pod on the nominated node.",
    )


@pytest.mark.parametrize(
    ("priority", "deleted", "conditions"),
    [
        (0, False, PREEMPTED),
        (0, True, None),
        (0, True, [{**PREEMPTED[0], "status": "False"}]),
        (0, True, [{**PREEMPTED[0], "reason": "EvictionByEvictionAPI"}]),
        (0, True, [{**PREEMPTED[0], "status": "False"}, *PREEMPTED]),
        (0, True, [{"type": "Ready", "status": "True"}]),
        (100, True, PREEMPTED),
    ],
)
def test_a_pod_does_not_wait_for_others_that_leave(
    priority: int, deleted: bool, conditions: list[dict[str, str]] | None
) -> None:
    rig = Rig(small(), low("p", "n", priority, cpu="4", deleted=deleted, conditions=conditions))
    assert rig.search(high("1", nominated="n")).eligible


def test_a_pod_whose_nominated_node_is_lost_may_preempt_elsewhere() -> None:
    leaving = low("p", "shut", cpu="4", deleted=True, conditions=PREEMPTED)
    rig = Rig(small("shut", unschedulable=True), leaving, small("n"), low("q", "n", cpu="4"))
    assert rig.search(high("1", nominated="shut")).best == ["n"]
    assert rig.search(high("1", nominated="gone")).best == ["n"]


class Clueless(FilterNodes):
    """Cannot answer for a node without certain pods."""

    name = "Clueless"

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts.each([ACCEPT if node.pods else fail(f"no {node.name}") for node in nodes])


def test_errors_are_reported_if_nothing_else_was_found() -> None:
    pods = [low("a", "a", cpu="4"), low("b", "b", cpu="4")]
    rig = Rig(small("a"), small("b"), *pods, more=[Clueless()])
    verdict = rig.search(high("1")).verdict
    assert verdict.code == "Error"
    assert verdict.reason == (
        'preemption: [running "Clueless" filter plugin: no a, '
        'running "Clueless" filter plugin: no b]'
    )
    one = Rig(small("a"), pods[0], more=[Clueless()]).search(high("1")).verdict
    assert one.reason == 'preemption: running "Clueless" filter plugin: no a'


def test_errors_do_not_matter_if_something_was_found() -> None:
    pods = [low("a", "a", cpu="4"), low("b", "b", 1, cpu="4"), low("top", "b", 200, cpu="0")]
    rig = Rig(small("a"), small("b"), *pods, more=[Clueless()])
    found = rig.search(high("1"))
    assert found.verdict.accepted
    assert found.best == ["b"]
    assert found.rejected["a"].error


def test_budgets_of_the_cluster_decide() -> None:
    web = {"app": "web"}
    rig = Rig(
        small("a"), low("x", "a", 0, cpu="4", labels=web),
        small("b"), low("y", "b", 7, cpu="4"),
        budget("web", 0, {"matchLabels": web}),
    )  # fmt: skip
    found = rig.search(high("1"))
    assert found.candidates["a"].pdb_violations == 1
    assert found.best == ["b"]


def test_a_limit_and_a_start_are_passed_on() -> None:
    rig = Rig(*map(small, "abcd"), *(low(f"on-{node}", node, cpu="4") for node in "abcd"))
    found = rig.search(high("1"), limit=2, start=3)
    assert list(found.candidates) == ["d", "a"]
    assert found.potential == ["a", "b", "c", "d"]


def test_nothing_of_a_search_is_left_in_the_state() -> None:
    rig = Rig(
        *map(small, "ab"), low("x", "a", 1), low("y", "a", 2, cpu="3"), low("z", "b", cpu="4")
    )
    before = rig.state()
    rig.search(high("2"))
    assert rig.state() == before


@pytest.mark.parametrize(
    ("args", "nodes", "expected"),
    [
        ({}, 50, 50),
        ({}, 100, 100),
        ({}, 500, 100),
        ({}, 5000, 500),
        ({}, 1019, 101),
        ({"min_candidate_nodes_absolute": 0}, 19, 1),
        ({"min_candidate_nodes_percentage": 0, "min_candidate_nodes_absolute": 7}, 5000, 7),
        ({"min_candidate_nodes_percentage": 100}, 5000, 5000),
    ],
)
def test_how_many_candidates_are_enough(args: dict[str, int], nodes: int, expected: int) -> None:
    rig = Rig()
    plugin = DefaultPreemption(DefaultPreemptionArgs(**args), rig.runtime)
    assert plugin.candidates_wanted(nodes) == expected


def test_arguments_are_checked() -> None:
    assert problems(DefaultPreemption) == []
    assert (
        problems(DefaultPreemption, minCandidateNodesPercentage=100, minCandidateNodesAbsolute=0)
        == []
    )
    assert len(problems(DefaultPreemption, minCandidateNodesPercentage=101)) == 1
    assert len(problems(DefaultPreemption, minCandidateNodesPercentage=-1)) == 1
    assert len(problems(DefaultPreemption, minCandidateNodesAbsolute=-1)) == 1
    both = problems(DefaultPreemption, minCandidateNodesPercentage=0, minCandidateNodesAbsolute=0)
    assert ["minCandidateNodesPercentage" in both[0], "minCandidateNodesAbsolute" in both[1]] == [
        True,
        True,
    ]


def test_a_pod_for_which_victims_are_being_preempted_stays_outside_the_queue() -> None:
    rig = Rig()
    pod = make_pod("p")
    assert rig.plugin.pre_enqueue(pod).accepted
    rig.preemptions.start(pod, "a", ["victim"])
    verdict = rig.plugin.pre_enqueue(pod)
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reason == "waiting for the preemption for this pod to be finished"
    assert rig.plugin.pre_enqueue(make_pod("q")).accepted


def test_no_event_requeues_a_pod_for_this_plugin() -> None:
    (hint,) = Rig().plugin.requeue_on()
    assert hint.kind is Pod
    assert hint.actions == Action.DELETE
    assert hint.helps is not None
    assert not hint.helps(make_pod("p"), make_pod("q"), None)
