"""One decision: its order, its observer, and what a thorough walk may not change."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import mooring as mr
from mooring import Node, Pod, hook
from mooring.errors import MooringError
from mooring.framework.arrays import Mask
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import AskExtenders, Decision, PostFilterResult, Scoring
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.framework.decisions.observer import Observer
from mooring.framework.decisions.recording import record_decision
from mooring.framework.filtering import Candidate, Filtering, Preemption, PreFilterResult, Rejection
from mooring.framework.handle import Ongoing
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdict, Verdicts, fail
from mooring.scheduler.preemptions_in_progress import PreemptionsInProgress
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.framework.deciding import decide_alone
from tests.unit.framework.test_runtime import Allow, Named, One, Rank, chosen, runtime


class Told(Observer):
    """Notes what it is told."""

    def __init__(self, *, each_plugin: bool = False) -> None:
        self.each_plugin = each_plugin
        self.steps: list[str] = []

    def begun(self, cycle: Cycle) -> None:
        self.steps.append(f"begun {cycle.pod.name}")

    def started(self, point: str) -> None:
        self.steps.append(point)

    def failed(self) -> None:
        self.steps.append("failed")

    def pre_filtered(self, whole: Rejection | None, result: PreFilterResult | None) -> None:
        self.steps.append("pre-filtered" if whole is None else "rejected")

    def filtered(self, filtering: Filtering) -> None:
        self.steps.append(f"filtered {len(filtering.feasible)}")

    def scored(self, scoring: Scoring | None) -> None:
        self.steps.append(f"scored {len(scoring.rows) if scoring is not None else 'as kept'}")

    def post_filtered(self, result: PostFilterResult) -> None:
        self.steps.append(f"post-filtered {result.plugin}")

    def decided(self, decision: Decision) -> None:
        self.steps.append(f"decided {len(decision.best)}")

    def asking(self, plugin: str) -> None:
        self.steps.append(f"{plugin}?")

    def pre_filter_answered(self, plugin: str, answer: hook.PreFilterAnswer) -> None:
        self.steps.append(f"{plugin}!")

    def filter_answered(self, plugin: str, verdicts: Verdicts | None) -> None:
        self.steps.append(f"{plugin}!")

    def filters_answered(self, mask: Mask) -> None:
        self.steps.append(f"possible {int(mask.sum())}")

    def score_answered(self, plugin: str) -> None:
        self.steps.append(f"{plugin}!")

    def post_filter_answered(self, plugin: str, answer: Preemption | Verdict) -> None:
        self.steps.append(f"{plugin}!")


class Room(hook.PostFilter):
    """Finds room on some nodes, without victims of its own."""

    def __init__(self, victims: Mapping[str, Sequence[Pod]], name: str = "Room") -> None:
        self.name = name
        self.victims = victims

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Preemption | Verdict:
        candidates = {name: Candidate(name, tuple(pods)) for name, pods in self.victims.items()}
        return Preemption(mr.accept(), eligible=True, candidates=candidates)


LOW = [make_pod(f"low-{node}", node=node, priority=-1) for node in "abc"]
ROOM = {pod.node_name: [pod] for pod in LOW}


def waiting(priority: int = 5) -> Pod:
    return make_pod("p", priority=priority)


class TestObserver:
    def test_a_pod_that_gets_a_node(self) -> None:
        told = Told()
        decide_alone(runtime(Allow("ab"), Rank({"a": 1, "b": 2})), waiting(), told)
        assert told.steps == [
            "begun p", "PreFilter", "pre-filtered", "Filter", "filtered 2", "Score", "scored 2",
            "decided 1",
        ]  # fmt: skip

    def test_a_pod_that_gets_none(self) -> None:
        told = Told()
        decide_alone(runtime(Allow(""), Room(ROOM), pods=tuple(LOW)), waiting(), told)
        assert told.steps[4:] == ["filtered 0", "PostFilter", "post-filtered Room", "decided 0"]

    def test_a_pod_that_is_rejected_before_any_node(self) -> None:
        told = Told()
        decide_alone(runtime(Named(mr.reject("no")), Allow("abc")), waiting(), told)
        assert told.steps == ["begun p", "PreFilter", "rejected", "decided 0"]

    def test_nobody_is_asked_on_a_cluster_without_nodes(self) -> None:
        told = Told(each_plugin=True)
        decision = decide_alone(runtime(Named(None), Allow("abc"), nodes=""), waiting(), told)
        assert told.steps == ["begun p", "decided 0"]
        assert decision.message == "no nodes available to schedule pods"
        assert not decision.post_filter_result.keep_nomination

    def test_a_plugin_that_fails(self) -> None:
        class Broken(hook.FilterNodes):
            def filter_nodes(self, pod: Pod, nodes: mr.Nodes) -> None:
                raise ValueError("no")

        told = Told()
        with pytest.raises(MooringError):
            decide_alone(runtime(Broken()), waiting(), told)
        assert told.steps[-2:] == ["Filter", "failed"]

    def test_each_plugin(self) -> None:
        told = Told(each_plugin=True)
        made = runtime(Named(["a", "b"]), Allow("ab"), Rank({"a": 1, "b": 2}))
        decide_alone(made, waiting(), told)
        assert [step for step in told.steps if step[-1] in "?!"] == [
            "Named?", "Named!", "Allow?", "Allow!", "Rank?", "Rank!",
        ]  # fmt: skip
        assert "possible 2" in told.steps

    def test_each_post_filter_plugin(self) -> None:
        told = Told(each_plugin=True)
        decide_alone(runtime(Allow(""), Room(ROOM), pods=tuple(LOW)), waiting(), told)
        assert [step for step in told.steps if "Room" in step] == [
            "Room?", "Room!", "post-filtered Room",
        ]  # fmt: skip


class Moody(hook.Filter):
    """Fails over some nodes."""

    name = "Moody"

    def __init__(self, over: str) -> None:
        self.over = over

    def filter(self, pod: Pod, node: Node) -> bool:
        if node.name in self.over:
            raise ValueError(f"not {node.name}")
        return True


class TestThorough:
    """A record is about the decision that a scheduler makes, whatever else is asked for it."""

    def test_a_filter_that_fails_over_what_no_scheduler_asks(self) -> None:
        made = runtime(Allow("a"), Moody("bc"))
        assert chosen(made) == ["a"]
        record = record_decision(made, waiting())
        assert record.selected == ["a"]
        said = record.to_dict()["filter"]["Moody"]
        assert (said["a"]["code"], said["b"]["code"]) == ("Success", "Error")
        assert said["b"]["reasons"][0].startswith("plugin Moody failed in filter")

    def test_a_filter_that_fails_when_no_node_is_left(self) -> None:
        made = runtime(Allow(""), Moody("abc"))
        assert chosen(made) == []
        assert record_decision(made, waiting()).message == (
            "0/3 nodes are available: 3 not for Allow."
        )

    def test_a_filter_that_fails_over_what_a_scheduler_asks(self) -> None:
        with pytest.raises(MooringError, match="Moody failed in filter"):
            record_decision(runtime(Allow("ab"), Moody("bc")), waiting())

    def test_a_pre_filter_plugin_that_fails_after_another_rejected(self) -> None:
        class Late(hook.PreFilter):
            name = "Late"

            def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
                raise ValueError("too late")

        made = runtime(Named(mr.reject("never", unresolvable=True)), Late(), Allow("abc"))
        assert chosen(made) == []
        record = record_decision(made, waiting())
        assert record.message == "0/3 nodes are available: never."
        assert record.to_dict()["preFilter"]["Late"]["code"] == "Error"

    def test_what_plugins_keep_that_no_scheduler_asks_is_not_seen_by_the_others(self) -> None:
        class Keeps(hook.PreFilter, hook.PostFilter):
            name = "Keeps"

            def pre_filter(self, cycle: Cycle) -> None:
                cycle.data[self.name] = True

            def post_filter(self, cycle: Cycle, filtering: Filtering) -> Verdict:
                return mr.reject("known" if self.name in cycle.data else "not found")

        made = runtime(Named(mr.reject("never", unresolvable=True)), Keeps())
        message = "0/3 nodes are available: never. not found"
        assert decide_alone(made, waiting()).message == message
        assert record_decision(made, waiting()).message == message

    def test_scores_that_fail_when_there_is_no_choice(self) -> None:
        made = runtime(Allow("a"), Rank({"a": 300}))
        assert chosen(made) == ["a"]
        record = record_decision(made, waiting())
        assert (record.selected, record.scoring) == (["a"], None)

    def test_one_feasible_node_has_scores_in_a_record(self) -> None:
        made = runtime(Allow("a"), Rank({"a": 30}))
        assert decide_alone(made, waiting()).scoring is None
        assert record_decision(made, waiting()).to_dict()["total"] == {"a": 30}

    def test_post_filter_plugins_after_the_one_that_found_room(self) -> None:
        made = runtime(
            Allow(""), Room({"a": ROOM["a"]}, "First"), Room(ROOM, "Second"), pods=tuple(LOW)
        )
        record = record_decision(made, waiting())
        assert list(record.post_filter) == ["First", "Second"]
        assert record.post_filter_result.plugin == "First"
        assert list(record.to_dict()["postFilter"]["candidates"]) == ["a"]

    def test_a_gated_pod_whose_decision_fails(self) -> None:
        class Gate(hook.PreEnqueue):
            name = "Gate"

            def pre_enqueue(self, pod: Pod) -> str:
                return "closed"

        record = record_decision(runtime(Gate(), Moody("a")), waiting())
        assert (record.gated, record.message, record.filtering) == (True, "closed", None)


class Spare(hook.Preempt):
    """Drops some nodes from the candidates."""

    name = "Spare"

    def __init__(self, nodes: str) -> None:
        self.nodes = nodes

    def preempt(self, pod: Pod, node: Node, victims: Sequence[Pod]) -> bool:
        return node.name not in self.nodes


def with_hook(*plugins: hook.Hook, ongoing: Ongoing | None = None) -> Runtime:
    """A runtime in which nothing fits and there is room on every node."""
    base = runtime(Allow(""), Room(ROOM), pods=tuple(LOW))
    made = Runtime(base.cluster, ongoing=ongoing or Ongoing())
    by_name = {one.name: one.plugin for point in base.points.values() for one in point}
    made.install("test", base.points, {**by_name, **{one.name: one for one in plugins}})
    return made


class TestRoom:
    def test_preempt_hooks_have_a_say_in_decisions_and_records(self) -> None:
        made = with_hook(Spare("ab"))
        assert list(decide_alone(made, waiting()).candidates) == ["c"]
        found = record_decision(made, waiting()).to_dict()["postFilter"]
        assert (list(found["candidates"]), found["bestNodes"]) == (["c"], ["c"])
        assert found["victims"] == ["default/low-c"]

    def test_preempt_hooks_that_leave_none(self) -> None:
        decision = decide_alone(with_hook(Spare("abc")), waiting())
        assert not decision.candidates
        assert decision.message == (
            "0/3 nodes are available: 3 not for Allow. preemption: no candidate node for preemption"
        )
        assert decision.post_filter_result.keep_nomination

    def test_victims_of_others_on_their_way_out_defer_a_preemption(self) -> None:
        preemptions = PreemptionsInProgress()
        for node in "abc":
            preemptions.start(make_pod(f"other-{node}"), node, [f"somebody on {node}"])
        decision = decide_alone(with_hook(ongoing=Ongoing(preemptions=preemptions)), waiting())
        assert decision.post_filter_result.deferred
        assert not decision.candidates
        assert decision.message == "0/3 nodes are available: 3 not for Allow."

    def test_a_plugin_sees_for_whom_victims_are_preempted(self) -> None:
        preemptions = PreemptionsInProgress()
        made = Runtime(Cluster(), ongoing=Ongoing(preemptions=preemptions))
        pod = make_pod("p")
        assert pod.uid not in made.preempting
        preemptions.start(pod, "a", ["victim"])
        assert pod.uid in made.preempting


def answered(made: Runtime, pod: Pod, answers: Sequence[Any]) -> tuple[list[AskExtenders], Any]:
    """What a decision asks extenders, given their answers, and the decision."""
    asked, cycle, left = [], decide(made, pod, extended=True), list(answers)
    try:
        ask = next(cycle)
        while True:
            asked.append(ask)
            ask = cycle.send(left.pop(0))
    except StopIteration as stop:
        return asked, stop.value


class TestExtenders:
    def test_they_filter_and_score_after_the_plugins(self) -> None:
        made = runtime(Allow("abc"), Rank({"a": 1, "b": 2, "c": 3}))
        asked, decision = answered(
            made, waiting(), [(["a", "b"], {"c": mr.reject("not there")}), {"a": 50}]
        )
        assert [(one.verb, one.nodes) for one in asked] == [
            ("filter", ("a", "b", "c")), ("prioritize", ("a", "b")),
        ]  # fmt: skip
        assert list(decision.best) == [0]
        assert decision.scoring.total.tolist() == [51, 2]
        assert decision.scoring.scores[-1].name == "Extender"
        assert decision.filtering.rejection(2).plugin == "Extender"

    def test_they_leave_no_node_and_no_candidate(self) -> None:
        made = with_hook()
        asked, decision = answered(made, waiting(), [{}])
        assert [(one.verb, one.nodes) for one in asked] == [("preempt", ("a", "b", "c"))]
        assert decision.message.endswith("preemption: no candidate node for preemption")

    def test_a_nominated_node_needs_their_yes(self) -> None:
        pod = Pod.from_dict({**waiting().raw, "status": {"nominatedNodeName": "b"}})
        made = runtime(Allow("abc"))
        asked, decision = answered(made, pod, [(["b"], {})])
        assert ([one.nodes for one in asked], decision.nominated) == ([("b",)], True)
        no = {"b": mr.reject("no")}
        asked, decision = answered(made, pod, [([], no), (["a"], {**no, "c": mr.reject("no")})])
        assert [one.nodes for one in asked] == [("b",), ("a", "b", "c")]
        assert (decision.nominated, list(decision.best)) == (False, [0])

    def test_nobody_answers_where_none_take_part(self) -> None:
        with pytest.raises(MooringError, match="none take part"):
            without_extenders(decide(runtime(Allow("abc")), waiting(), extended=True))


class TestWholeRejections:
    def test_a_pre_filter_plugin_that_cannot_answer(self) -> None:
        made = runtime(Named(fail("no idea")), One("abc"))
        decision = decide_alone(made, waiting())
        assert decision.error == 'running PreFilter plugin "Named": no idea'
        assert decision.message == decision.error == record_decision(made, waiting()).message

    def test_plugins_that_leave_no_node_are_to_blame(self) -> None:
        made = runtime(Named(["a"], "P0"), Named(["b"], "P1"))
        assert decide_alone(made, waiting()).filtering.plugins == {"P0", "P1"}

    def test_who_rejects_and_who_narrows_are_to_blame(self) -> None:
        made = runtime(Named(["a"], "P0"), Named(mr.reject("full"), "P1"))
        assert decide_alone(made, waiting()).filtering.plugins == {"P0", "P1"}

    def test_nobody_is_to_blame_for_groups(self) -> None:
        pod = Pod.from_dict(
            {"metadata": {"name": "g"}, "spec": {"schedulingGroup": {"podGroupName": "all"}}}
        )
        filtering = decide_alone(runtime(Allow("abc")), pod).filtering
        assert filtering.whole is not None
        assert (filtering.whole.plugin, filtering.plugins) == ("", {"Framework"})


def test_a_cluster_without_nodes_in_one_decision() -> None:
    cluster = Cluster()
    decision = decide_alone(Runtime(cluster), make_pod("p"))
    cluster.put_node(make_node("a"))
    assert decision.filtering.size == 0
    assert list(decide_alone(Runtime(cluster), make_pod("p")).best) == [0]
