"""The runtime: order, skipping, PreFilter results, nominated pods, errors that name the plugin."""

from collections.abc import Callable

import numpy as np
import pytest

from mooring import Node, Nodes, Pod, Verdict, accept_if, hook, reject
from mooring.errors import PluginError
from mooring.framework.arrays import Amounts
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.record import Record
from mooring.framework.decisions.recording import record_decision
from mooring.framework.extension_points import PluginAtPoint
from mooring.framework.filtering import Filtering, Preemption
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import ACCEPT, Verdicts, fail
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.framework.deciding import decide_alone

POINTS: dict[str, tuple[type[hook.Hook], ...]] = {
    "preEnqueue": (hook.PreEnqueue,),
    "preFilter": (hook.PreFilter,),
    "filter": (hook.Filter, hook.FilterNodes),
    "postFilter": (hook.PostFilter,),
    "preScore": (hook.PreScore,),
    "score": (hook.Score, hook.ScoreNodes),
}


def runtime(*plugins: hook.Hook, nodes: str = "abc", pods: tuple[Pod, ...] = ()) -> Runtime:
    cluster = Cluster()
    for name in nodes:
        cluster.put_node(make_node(name, cpu="4", labels={"kubernetes.io/hostname": name}))
    for one in pods:
        cluster.put_pod(one)
    made = Runtime(cluster)
    made.install(
        "test",
        {
            point: [
                PluginAtPoint(one.name or type(one).__name__, one, getattr(one, "points_weight", 1))
                for one in plugins
                if isinstance(one, kinds)
            ]
            for point, kinds in POINTS.items()
        },
    )
    return made


def chosen(made: Runtime, pod: Pod | None = None) -> list[str]:
    decision = decide_alone(made, pod or make_pod("p"))
    return [made.cluster.columns.nodes[row].name for row in decision.best]


class Allow(hook.FilterNodes):
    """Accepts some nodes."""

    def __init__(self, names: str, name: str = "Allow") -> None:
        self.names = names
        self.name = name
        self.asked: list[list[str]] = []

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        self.asked.append(nodes.names)
        no = reject(f"not for {self.name}")
        return Verdicts.each([ACCEPT if name in self.names else no for name in nodes.names])


class One(hook.Filter):
    """Accepts some nodes, asked for one after the other."""

    def __init__(self, names: str) -> None:
        self.names = names
        self.asked: list[str] = []

    def filter(self, pod: Pod, node: Node) -> Verdict:
        self.asked.append(node.name)
        return accept_if(node.name in self.names, "not that one")


class Rank(hook.ScoreNodes):
    """Scores by a table."""

    name = "Rank"

    def __init__(self, scores: dict[str, float], weight: int = 1) -> None:
        self.scores = scores
        self.points_weight = weight

    def score_nodes(self, pod: Pod, nodes: Nodes) -> list[float]:
        return [self.scores[name] for name in nodes.names]


class Named(hook.PreFilter):
    """Narrows the nodes, rejects or skips."""

    def __init__(self, answer: hook.PreFilterAnswer, name: str = "Named") -> None:
        self.answer = answer
        self.name = name

    def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
        return self.answer


def test_the_highest_total_wins() -> None:
    assert chosen(runtime(Rank({"a": 10, "b": 90, "c": 20}))) == ["b"]


def test_without_scores_every_possible_node_is_best() -> None:
    assert chosen(runtime(Allow("ac"))) == ["a", "c"]


def test_weights_multiply() -> None:
    slow = Rank({"a": 100, "b": 0, "c": 0})
    heavy = Rank({"a": 0, "b": 40, "c": 30}, weight=3)
    heavy.name = "Heavy"
    decision = runtime(slow, heavy)
    record = record_decision(decision, make_pod("p")).to_dict()
    assert record["total"] == {"a": 100, "b": 120, "c": 90}
    assert record["best"] == ["b"]


def test_a_costly_filter_is_asked_only_about_possible_nodes() -> None:
    one = One("bc")
    assert chosen(runtime(Allow("ab"), one)) == ["b"]
    assert one.asked == ["a", "b"]


def test_in_a_record_every_filter_is_asked_about_every_node() -> None:
    one = One("bc")
    record = record_decision(runtime(Allow("ab"), one), make_pod("p"))
    assert one.asked == ["a", "b", "c"]
    assert record.to_dict()["filter"]["One"]["a"] == {
        "code": "Unschedulable",
        "reasons": ["not that one"],
    }


def test_no_filter_is_asked_when_no_node_is_left() -> None:
    late = Allow("abc", "Late")
    assert chosen(runtime(Allow(""), late)) == []
    assert late.asked == []


def test_the_first_rejection_counts_for_the_message() -> None:
    made = runtime(Allow("a", "First"), Allow("b", "Second"))
    record = record_decision(made, make_pod("p"))
    assert record.message == "0/3 nodes are available: 1 not for Second, 2 not for First."
    assert record.to_dict()["nodeStatus"]["c"] == {"plugin": "First", "code": "Unschedulable"}


def test_a_skipping_plugin_is_not_asked() -> None:
    class Idle(hook.PreFilter, hook.FilterNodes):
        def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
            return hook.SKIP

        def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
            raise AssertionError("it was skipped")

    made = runtime(Idle())
    assert chosen(made) == ["a", "b", "c"]
    assert record_decision(made, make_pod("p")).to_dict()["filter"] == {"Idle": "Skip"}


def test_plugins_narrow_the_nodes_together() -> None:
    made = runtime(Named(["a", "b", "z"], "One"), Named({"b", "c"}, "Two"))
    assert chosen(made) == ["b"]
    status = record_decision(made, make_pod("p")).to_dict()["nodeStatus"]
    assert status["a"] == {"plugin": "PreFilterResult", "code": "UnschedulableAndUnresolvable"}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ((["z"],), "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [P0]."),
        (([],), "0/3 nodes are available: node(s) didn't satisfy plugin P0."),
        (
            (["a"], ["b"]),
            "0/3 nodes are available: node(s) didn't satisfy plugin(s) [P0 P1] simultaneously.",
        ),
        ((reject("never", unresolvable=True),), "0/3 nodes are available: never."),
    ],
)
def test_a_pod_rejected_before_any_node(
    answers: tuple[hook.PreFilterAnswer, ...], message: str
) -> None:
    made = runtime(*(Named(answer, f"P{place}") for place, answer in enumerate(answers)))
    assert chosen(made) == []
    assert record_decision(made, make_pod("p")).message == message


def test_a_pod_of_a_group_is_rejected_and_told_why() -> None:
    pod = Pod.from_dict({"metadata": {"name": "g"}, "spec": {"schedulingGroup": {"name": "all"}}})
    assert "not supported by mooring yet" in record_decision(runtime(Allow("abc")), pod).message


class PostFilterResult(hook.FilterNodes):
    """Allows one pod on a node."""

    name = "PostFilterResult"

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:
        full: np.ndarray[tuple[int], np.dtype[np.bool_]] = nodes.used["pods"] >= 1
        return Verdicts.where(full, reject("full"))


def waiting(name: str, node: str, priority: int) -> Pod:
    raw = make_pod(name).raw
    return Pod.from_dict(
        {**raw, "spec": {"priority": priority}, "status": {"nominatedNodeName": node}}
    )


def test_a_node_promised_to_a_more_important_pod_is_taken() -> None:
    made = runtime(PostFilterResult(), pods=(waiting("vip", "b", 5),))
    assert chosen(made) == ["a", "c"]
    record = record_decision(made, make_pod("p")).to_dict()
    assert record["feasibleWithoutNominated"] == ["a", "b", "c"]
    assert made.cluster.columns.used("pods").tolist() == [0, 0, 0]


def test_a_promise_to_a_less_important_pod_does_not_count() -> None:
    made = runtime(PostFilterResult(), pods=(waiting("later", "b", -1),))
    assert chosen(made) == ["a", "b", "c"]


def test_the_pods_own_promised_node_is_taken_without_scoring() -> None:
    made = runtime(PostFilterResult(), Rank({"a": 1, "b": 2, "c": 3}))
    assert chosen(made, waiting("p", "a", 0)) == ["a"]
    assert record_decision(made, waiting("p", "a", 0)).selected == ["a"]


def test_what_if_plugins_follow_the_pods() -> None:
    class Follower(hook.WhatIf, hook.FilterNodes):
        name = "Follower"

        def __init__(self) -> None:
            self.seen: list[tuple[str, str, int]] = []

        def pre_filter(self, cycle: Cycle) -> None:
            cycle.data[self.name] = "mine"

        def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
            assert cycle.data[self.name] == "mine"
            self.seen.append(("add", pod.name, row))

        def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
            self.seen.append(("remove", pod.name, row))

        def filter_nodes(self, pod: Pod, nodes: Nodes) -> None:
            return None

    follower = Follower()
    made = runtime(follower, pods=(waiting("v", "b", 5), waiting("w", "b", 5)))
    assert chosen(made) == ["a", "b", "c"]
    assert follower.seen == [
        ("add", "v", 1), ("add", "w", 1), ("remove", "w", 1), ("remove", "v", 1),
    ]  # fmt: skip


def test_a_search_for_room_runs_only_if_no_node_is_possible() -> None:
    class Search(hook.PostFilter):
        def __init__(self) -> None:
            self.calls = 0

        def post_filter(self, cycle: Cycle, filtering: Filtering) -> Preemption | Verdict:
            self.calls += 1
            assert filtering.resolvable == [0, 1, 2]
            return reject("no victims anywhere")

    search = Search()
    assert chosen(runtime(Allow("a"), search)) == ["a"]
    assert search.calls == 0
    record = record_decision(runtime(Allow(""), search), make_pod("p"))
    assert record.message == "0/3 nodes are available: 3 not for Allow. no victims anywhere"


def test_a_held_pod_is_gated_and_still_examined() -> None:
    class Hold(hook.PreEnqueue):
        def pre_enqueue(self, pod: Pod) -> str:
            return "wait for it"

    record = record_decision(runtime(Hold()), make_pod("p"))
    assert (record.gated, record.feasible, record.selected) == (True, ["a", "b", "c"], [])
    assert record.message == "wait for it"


def test_a_question_that_cannot_be_answered_is_an_error() -> None:
    class Lost(hook.FilterNodes):
        name = "Lost"

        def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:
            return Verdicts.each([fail("no idea"), ACCEPT, ACCEPT])

    decision = decide_alone(runtime(Lost()), make_pod("p"))
    assert decision.error == 'running "Lost" filter plugin: no idea'
    assert not len(decision.best)
    record: Record = record_decision(runtime(Lost()), make_pod("p"))
    assert record.error == 'running "Lost" filter plugin: no idea'
    assert record.feasible == []


def test_a_filter_that_fails_for_a_promised_node_leaves_no_trace() -> None:
    class Fragile(hook.FilterNodes):
        name = "Fragile"

        def filter_nodes(self, pod: Pod, nodes: Nodes) -> None:
            if nodes.used["pods"].any():
                raise ZeroDivisionError("by zero")

    made = runtime(Fragile(), pods=(waiting("vip", "b", 5),))
    with pytest.raises(PluginError, match="Fragile failed in filter"):
        chosen(made)
    assert made.cluster.columns.used("pods").tolist() == [0, 0, 0]


def test_a_question_that_cannot_be_answered_beside_a_promised_pod_is_an_error() -> None:
    class Unsure(hook.FilterNodes):
        name = "Unsure"

        def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:
            full = nodes.used["pods"] > 0
            return Verdicts.where(full, fail("who knows"))

    made = runtime(Unsure(), pods=(waiting("vip", "b", 5),))
    assert record_decision(made, make_pod("p")).error == 'running "Unsure" filter plugin: who knows'


class Broken(
    hook.PreEnqueue,
    hook.PreFilter,
    hook.FilterNodes,
    hook.PreScore,
    hook.ScoreNodes,
    hook.Normalize,
):
    """Raises in one hook."""

    name = "Broken"

    def __init__(self, where: str) -> None:
        self.where = where

    def _at(self, where: str) -> None:
        if where == self.where:
            raise ZeroDivisionError("by zero")

    def pre_enqueue(self, pod: Pod) -> None:
        self._at("pre_enqueue")

    def pre_filter(self, cycle: Cycle) -> None:
        self._at("pre_filter")

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> None:
        self._at("filter")

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> None:
        self._at("pre_score")

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:
        self._at("score")
        return np.zeros(len(nodes), np.int64)

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:
        return scores + (101 if self.where == "normalize" else 0)


@pytest.mark.parametrize("where", ["pre_enqueue", "pre_filter", "filter", "pre_score", "score"])
def test_a_plugin_that_raises_is_named(where: str) -> None:
    with pytest.raises(PluginError) as caught:
        record_decision(runtime(Broken(where)), make_pod("p"))
    error = caught.value
    assert (error.plugin, error.hook, error.pod) == ("Broken", where, "default/p")
    assert str(error) == (
        f"plugin Broken failed in {where} for pod default/p: ZeroDivisionError: by zero"
    )
    assert isinstance(error.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Broken("normalize"), "returned 101 for node a"),
        (lambda: Rank({"a": 1, "b": -3, "c": 1}), "it must return a number from 0 to 100"),
        (lambda: Rank({"a": 1, "b": 300, "c": 1}), "returned 300 for node b"),
    ],
)
def test_scores_outside_the_range_are_rejected(make: Callable[[], hook.Hook], what: str) -> None:
    with pytest.raises(PluginError, match=what):
        chosen(runtime(make()))


def test_a_cluster_without_nodes() -> None:
    record = record_decision(runtime(nodes=""), make_pod("p"))
    assert record.error == "no nodes available to schedule pods"
    assert record.to_dict()["feasible"] == []


class Forgetful(hook.WhatIf):
    """Cannot take a pod off a node in thought."""

    name = "Forgetful"

    def pre_filter(self, cycle: Cycle) -> None:
        """Nothing to prepare."""

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Nothing to do."""

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        raise KeyError(pod.name)


def test_pods_in_thought_are_gone_although_a_plugin_fails_over_one() -> None:
    nominated = tuple(
        Pod.from_dict(
            {
                "metadata": {"name": name},
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
                "status": {"nominatedNodeName": "a"},
            }
        )
        for name in ("n1", "n2", "n3")
    )
    made = runtime(Forgetful(), Allow("abc"), pods=nominated)
    for _ in range(2):
        with pytest.raises(PluginError, match="Forgetful failed in remove_pod"):
            decide_alone(made, make_pod("p"))
        assert made.cluster.columns.used("cpu").tolist() == [0, 0, 0]
