# ruff: noqa: ARG005 - a policy's function takes what it is given
import asyncio
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import mooring as mr
from mooring.errors import PolicyError
from mooring.extender.answers import Answers
from mooring.framework.rules import Rule
from mooring.testing import make_node, make_pod
from tests.unit.extender.answers_bodies import WEB, a_cluster, ask, binding_body, victims_body
from tests.unit.extender.asgi import args


class TestFilter:
    def test_reasons_of_several_filters_are_joined(self) -> None:
        policy = mr.Policy("p")
        policy.filter(name="one")(lambda pod, node: node.name != "a" or "too old")
        policy.filter(name="two")(lambda pod, node: node.name == "c")
        policy.filter(name="three", reason="no gpu")(lambda pod, node: node.name == "c")
        reply = ask(Answers(policy), "filter", args(WEB, names=["a", "b", "c"]))
        assert reply == {
            "Nodes": None,
            "NodeNames": ["c"],
            "FailedNodes": {"a": "too old,rejected by two,no gpu", "b": "rejected by two,no gpu"},
            "FailedAndUnresolvableNodes": {},
            "Error": "",
        }

    def test_one_unresolvable_reason_makes_the_node_hopeless(self) -> None:
        policy = mr.Policy("p")
        policy.filter(name="soft")(lambda pod, node: "full")
        policy.filter(name="hard")(
            lambda pod, node: mr.accept_if(node.name == "a", "wrong zone", unresolvable=True)
        )
        reply = ask(Answers(policy), "filter", args(WEB, [make_node("a"), make_node("b")]))
        assert reply["FailedNodes"] == {"a": "full"}
        assert reply["FailedAndUnresolvableNodes"] == {"b": "full,wrong zone"}
        assert reply["Nodes"] == {"metadata": {}, "items": []}

    def test_without_filters_all_nodes_pass(self) -> None:
        reply = ask(Answers(mr.Policy("p")), "filter", args(WEB, names=["b", "a"]))
        assert reply["NodeNames"] == ["b", "a"]

    def test_a_mask_decides_all_nodes_at_once(self) -> None:
        policy = mr.Policy("p")

        @policy.filter_nodes(reason="odd")
        def even(pod: mr.Pod, nodes: mr.Nodes) -> Any:
            return np.arange(len(nodes)) % 2 == 0

        nodes = [make_node(name) for name in "abcd"]
        reply = ask(Answers(policy), "filter", args(WEB, nodes))
        assert [one["metadata"]["name"] for one in reply["Nodes"]["items"]] == ["a", "c"]
        assert reply["FailedNodes"] == {"b": "odd", "d": "odd"}

    def test_only_the_given_rules_are_asked(self) -> None:
        policy = mr.Policy("p")
        policy.filter(name="no")(lambda pod, node: False)
        policy.filter(name="yes")(lambda pod, node: True)
        answers = Answers(policy)
        reply = json.loads(answers.filter(args(WEB, names=["a"]), policy.filters[1:]))
        assert reply["NodeNames"] == ["a"]

    def test_names_the_node_cache_does_not_know_are_rejected(self) -> None:
        answers = Answers(mr.Policy("p"), a_cluster(make_node("a")))
        reply = ask(answers, "filter", args(WEB, names=["ghost", "a", "gone"]))
        assert reply["NodeNames"] == ["a"]
        sentence = "node is not known to the extender yet"
        assert reply["FailedNodes"] == {"ghost": sentence, "gone": sentence}

    def test_whole_nodes_count_even_if_the_node_cache_knows_others(self) -> None:
        policy = mr.Policy("p")
        policy.filter(name="fits")(lambda pod, node: node.free["cpu"] >= pod.requests["cpu"])
        running = make_pod("db", requests={"cpu": "7"}, node="a")
        answers = Answers(policy, a_cluster(make_node("a"), pods=[running]))
        reply = ask(answers, "filter", args(WEB, [make_node("a"), make_node("new")], ["a", "new"]))
        assert reply["NodeNames"] == ["new"]
        assert reply["FailedNodes"] == {"a": "rejected by fits"}
        assert [one["metadata"]["name"] for one in reply["Nodes"]["items"]] == ["new"]

    def test_a_node_known_by_name_can_be_judged_by_its_name(self) -> None:
        policy = mr.Policy("p")
        policy.filter(name="named")(lambda pod, node: node.name.startswith("gpu-"))
        reply = ask(Answers(policy), "filter", args(WEB, names=["gpu-1", "cpu-1"]))
        assert reply["NodeNames"] == ["gpu-1"]

    @pytest.mark.parametrize("verb", ["filter", "prioritize"])
    def test_labels_of_a_node_known_by_name_are_a_clear_error(self, verb: str) -> None:
        policy = mr.Policy("p")
        policy.filter(name="zone")(lambda pod, node: "zone" in node.labels)
        policy.score(name="zone")(lambda pod, node: len(node.labels))
        with pytest.raises(PolicyError) as caught:
            ask(Answers(policy), verb, args(WEB, names=["a"]))
        point = "score" if verb == "prioritize" else "filter"
        assert str(caught.value) == (
            f"{point} 'zone' failed on node a: kube-scheduler sent only the node's name, and this "
            "server has no cluster to look it up in: start it with --kubeconfig FILE, or set "
            "nodeCacheCapable: false"
        )

    @pytest.mark.parametrize("names_only", [False, True])
    def test_usage_without_a_cluster_is_a_clear_error(self, names_only: bool) -> None:
        policy = mr.Policy("p")
        policy.filter(name="fits")(lambda pod, node: node.used["cpu"] == 0)
        body = args(WEB, names=["a"]) if names_only else args(WEB, [make_node("a")])
        with pytest.raises(PolicyError) as caught:
            Answers(policy).filter(body)
        assert str(caught.value) == (
            "filter 'fits' failed on node a: node.used, node.free and node.pods need the cluster's "
            "pods, which are not watched here: start the server with --kubeconfig FILE, and do "
            "not set usage=False"
        )
        assert caught.value.function == "fits"
        assert caught.value.node == "a"


class TestPrioritize:
    @pytest.mark.parametrize(
        ("score", "wire"),
        [(0, 0), (4.4, 0), (4.5, 1), (14.4, 1), (15, 2), (50, 5), (94.4, 9), (95, 10), (100, 10)],
    )
    def test_scores_go_over_the_wire_from_0_to_10(self, score: float, wire: int) -> None:
        policy = mr.Policy("p")
        policy.score(name="s")(lambda pod, node: score)
        reply = Answers(policy).prioritize(args(WEB, names=["a"]))
        assert reply == b'[{"Host":"a","Score":%d}]' % wire

    def test_scores_are_the_weighted_mean(self) -> None:
        policy = mr.Policy("p")
        policy.score(name="one", weight=3)(lambda pod, node: 100)
        policy.score(name="two", max_score=5)(lambda pod, node: 0 if node.name == "a" else 5)
        reply = ask(Answers(policy), "prioritize", args(WEB, [make_node("a"), make_node("b")]))
        assert reply == [{"Host": "a", "Score": 8}, {"Host": "b", "Score": 10}]

    def test_without_score_functions_all_are_0(self) -> None:
        reply = ask(Answers(mr.Policy("p")), "prioritize", args(WEB, names=["a"]))
        assert reply == [{"Host": "a", "Score": 0}]

    def test_names_the_node_cache_does_not_know_score_0(self) -> None:
        policy = mr.Policy("p")
        policy.score(name="best")(lambda pod, node: 100)
        answers = Answers(policy, a_cluster(make_node("a")))
        reply = ask(answers, "prioritize", args(WEB, names=["ghost", "a"]))
        assert sorted((one["Host"], one["Score"]) for one in reply) == [("a", 10), ("ghost", 0)]

    def test_only_the_given_rules_are_asked(self) -> None:
        policy = mr.Policy("p")
        policy.score(name="bad")(lambda pod, node: 0)
        policy.score(name="good")(lambda pod, node: 100)
        reply = json.loads(Answers(policy).prioritize(args(WEB, names=["a"]), policy.scores[1:]))
        assert reply == [{"Host": "a", "Score": 10}]


@dataclass
class Recorder:
    told: list[tuple[object, ...]] = field(default_factory=list)

    def ran(self, rule: Rule, seconds: float) -> None:
        self.told.append(("ran", rule.name, seconds))

    def failed(self, rule: Rule) -> None:
        self.told.append(("failed", rule.name))

    def hung(self, rule: Rule) -> None:
        self.told.append(("hung", rule.name))

    def rejected(self, rule: Rule, reason: str, count: int) -> None:
        self.told.append(("rejected", rule.name, reason, count))

    def received(self, whole_nodes: int, decoded: int) -> None:
        self.told.append(("received", whole_nodes, decoded))


class TestObserver:
    @pytest.fixture
    def ticks(self) -> Iterator[float]:
        return iter(range(100))

    def test_is_told_what_happened(self, ticks: Iterator[float]) -> None:
        policy = mr.Policy("p")
        policy.filter(name="f")(lambda pod, node: node.name == "a" or f"not {node.name}")
        policy.filter(name="g")(lambda pod, node: node.name == "a")
        policy.score(name="s")(lambda pod, node: 1)
        recorder = Recorder()
        answers = Answers(policy, clock=lambda: next(ticks), observer=recorder)
        body = args(WEB, [make_node(name) for name in "abcb"])
        answers.filter(body)
        answers.prioritize(body)
        assert recorder.told == [
            ("received", 4, 3),
            ("ran", "f", 1),
            ("ran", "g", 1),
            ("rejected", "f", "not b", 2),
            ("rejected", "f", "not c", 1),
            ("rejected", "g", "rejected by g", 3),
            ("received", 4, 0),
            ("ran", "s", 1),
        ]

    def test_is_told_of_failures(self) -> None:
        policy = mr.Policy("p")
        policy.filter(name="f")(lambda pod, node: 1 // 0 == 1)
        policy.score(name="s")(lambda pod, node: 101)
        policy.preempt(name="q")(lambda pod, node, victims: sys.exit(3))
        policy.bind(name="b")(lambda binding: binding.annotations["x"])
        recorder = Recorder()
        answers = Answers(policy, observer=recorder)
        for verb, body, sentence in [
            ("filter", args(WEB, names=["a"]), "filter 'f' failed on node a: ZeroDivisionError"),
            ("prioritize", args(WEB, names=["a"]), "score 's' returned 101 for node a"),
            (
                "preempt",
                victims_body({"a": [WEB]}),
                "preempt 'q' failed on node a: it tried to end the process",
            ),
        ]:
            with pytest.raises(PolicyError, match=sentence):
                ask(answers, verb, body)
        with pytest.raises(PolicyError, match="bind 'b' failed on node a: KeyError: 'x'"):
            answers.prepare(answers.binding(binding_body()))
        assert recorder.told == [("failed", name) for name in "fsqb"]

    def test_is_told_of_async_functions(self, ticks: Iterator[float]) -> None:
        policy = mr.Policy("p")

        @policy.bind
        async def slowly(binding: mr.Binding) -> None:
            if binding.node_name == "bad":
                sys.exit()

        recorder = Recorder()
        answers = Answers(policy, clock=lambda: next(ticks), observer=recorder)
        asyncio.run(answers.prepare_async(answers.binding(binding_body())))
        with pytest.raises(PolicyError, match="bind 'slowly' failed"):
            asyncio.run(answers.prepare_async(answers.binding(binding_body(Node="bad"))))
        assert recorder.told == [("ran", "slowly", 1), ("failed", "slowly")]


def test_at_debug_every_verdict_and_score_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    policy = mr.Policy("p")
    policy.filter(name="f")(lambda pod, node: node.name == "a" or "wrong zone")
    policy.filter(name="g", reason="odd")(lambda pod, node: node.name == "a")
    policy.score(name="s")(lambda pod, node: 66)
    policy.preempt(name="q")(lambda pod, node, victims: victims[1:])
    answers = Answers(policy)
    with caplog.at_level(logging.DEBUG, "mooring.extender"):
        answers.filter(args(WEB, names=["a", "b"]))
        answers.prioritize(args(WEB, names=["a"]))
        answers.preempt(victims_body({"a": [WEB, make_pod("low")]}))
    assert [record.getMessage() for record in caplog.records] == [
        "pod default/web node a accepted",
        "pod default/web node b rejected: wrong zone,odd",
        "pod default/web node a score 7 (66)",
        "pod default/web node a keeps 1 of 2 victims",
    ]
    caplog.clear()
    with caplog.at_level(logging.INFO, "mooring.extender"):
        answers.filter(args(WEB, names=["a", "b"]))
    assert caplog.records == []
