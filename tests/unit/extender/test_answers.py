# ruff: noqa: ARG005 - a policy's function takes what it is given
import asyncio
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import mooring as mr
from mooring.errors import InputError, PolicyError
from mooring.extender.answers import Answers
from mooring.framework.rules import Rule
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import args, compact

WEB = make_pod("web", requests={"cpu": "2"})


def a_cluster(*nodes: Node, pods: Sequence[Pod] = ()) -> Cluster:
    cluster = Cluster()
    for node in nodes:
        cluster.put_node(node)
    for pod in pods:
        cluster.put_pod(pod)
    return cluster


def ask(answers: Answers, verb: str, body: bytes) -> Any:
    return json.loads(getattr(answers, verb)(body))


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
            "pods, which nobody watches here: give the server a cluster (--kubeconfig FILE), and "
            "the policy no usage=False"
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


def victims_body(victims: dict[str, list[Pod] | None], violations: int = 0) -> bytes:
    by_node = {
        name: pods
        if pods is None
        else {"Pods": [pod.raw for pod in pods], "NumPDBViolations": violations}
        for name, pods in victims.items()
    }
    return compact({"Pod": WEB.raw, "NodeNameToVictims": by_node, "NodeNameToMetaVictims": None})


def ids_body(victims: dict[str, list[str] | None], violations: int = 0) -> bytes:
    by_node = {
        name: uids
        if uids is None
        else {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}
        for name, uids in victims.items()
    }
    return compact({"Pod": WEB.raw, "NodeNameToVictims": None, "NodeNameToMetaVictims": by_node})


def kept(reply: Any) -> dict[str, list[str]]:
    assert list(reply) == ["NodeNameToMetaVictims"]
    return {
        name: [pod["UID"] for pod in meta["Pods"]]
        for name, meta in reply["NodeNameToMetaVictims"].items()
    }


class TestPreempt:
    LOW, MID, TOP = make_pod("low"), make_pod("mid"), make_pod("top")
    UIDS = (LOW.uid, MID.uid, TOP.uid)

    def answers(self, function: Any, *pods: Pod) -> Answers:
        policy = mr.Policy("p")
        policy.preempt(name="say")(function)
        cluster = a_cluster(make_node("a"), make_node("b"), pods=pods) if pods else None
        return Answers(policy, cluster)

    @pytest.mark.parametrize("answer", [None, True, mr.accept()])
    def test_accepting_keeps_all_victims(self, answer: object) -> None:
        answers = self.answers(lambda pod, node, victims: answer)
        reply = ask(answers, "preempt", victims_body({"a": [self.LOW, self.MID]}, 1))
        assert kept(reply) == {"a": [self.LOW.uid, self.MID.uid]}
        assert reply["NodeNameToMetaVictims"]["a"]["NumPDBViolations"] == 1

    @pytest.mark.parametrize("answer", [False, "too dear", mr.reject("no"), []])
    def test_rejecting_drops_the_node(self, answer: object) -> None:
        answers = self.answers(lambda pod, node, victims: answer if node.name == "a" else None)
        body = victims_body({"a": [self.LOW], "b": [self.MID]})
        assert kept(ask(answers, "preempt", body)) == {"b": [self.MID.uid]}

    @pytest.mark.parametrize("by_id", [False, True])
    def test_victims_may_be_dropped_and_stay_in_order(self, by_id: bool) -> None:
        pods = (self.LOW, self.MID, self.TOP)
        answers = self.answers(lambda pod, node, victims: [victims[2], victims[0]], *pods)
        body = ids_body({"a": list(self.UIDS)}, 3) if by_id else victims_body({"a": list(pods)}, 3)
        reply = ask(answers, "preempt", body)
        assert kept(reply) == {"a": [self.LOW.uid, self.TOP.uid]}
        assert reply["NodeNameToMetaVictims"]["a"]["NumPDBViolations"] == 2

    def test_victims_are_never_invented(self) -> None:
        answers = self.answers(lambda pod, node, victims: [*victims, self.TOP])
        with pytest.raises(PolicyError, match=r"named default/top on node a.*never add any"):
            answers.preempt(victims_body({"a": [self.LOW]}))

    def test_all_functions_have_a_say(self) -> None:
        answers = self.answers(lambda pod, node, victims: victims[1:])
        answers.policy.preempt(name="more")(lambda pod, node, victims: victims[1:])
        body = victims_body({"a": [self.LOW, self.MID, self.TOP], "b": [self.LOW]})
        assert kept(ask(answers, "preempt", body)) == {"a": [self.TOP.uid]}

    def test_an_unknown_victim_drops_its_node(self, caplog: pytest.LogCaptureFixture) -> None:
        answers = self.answers(lambda pod, node, victims: None, self.LOW)
        body = ids_body({"a": [self.LOW.uid], "b": [self.LOW.uid, "nobody"]})
        assert kept(ask(answers, "preempt", body)) == {"a": [self.LOW.uid]}
        assert "dropped node b from preemption: its victim nobody is not known yet" in caplog.text

    def test_nodes_without_victims_are_left_out(self) -> None:
        # kube-scheduler takes an answer that has one for an error.
        answers = self.answers(lambda pod, node, victims: None, self.LOW)
        assert kept(ask(answers, "preempt", victims_body({"a": None, "b": []}))) == {}
        assert kept(ask(answers, "preempt", ids_body({"a": None, "b": []}))) == {}

    def test_both_forms_together(self) -> None:
        answers = self.answers(lambda pod, node, victims: None, self.LOW, self.MID)
        body = json.loads(victims_body({"a": [self.LOW]}))
        body |= {"NodeNameToMetaVictims": {
            "a": {"Pods": [{"UID": "nobody"}]}, "b": {"Pods": [{"UID": self.MID.uid}]},
        }}  # fmt: skip
        assert kept(ask(answers, "preempt", compact(body))) == {
            "a": [self.LOW.uid], "b": [self.MID.uid],
        }  # fmt: skip

    def test_the_function_sees_the_node_and_its_pods(self) -> None:
        seen = []
        running = make_pod("low", node="a", requests={"cpu": "1"})
        answers = self.answers(
            lambda pod, node, victims: seen.append((node.used["cpu"], victims[0].node_name)),
            running,
        )
        ask(answers, "preempt", ids_body({"a": [running.uid]}))
        assert seen == [(1000, "a")]

    def test_ids_without_a_cluster_are_a_clear_error(self) -> None:
        answers = self.answers(lambda pod, node, victims: None)
        with pytest.raises(InputError, match=r"victims came by id only.*--kubeconfig FILE"):
            answers.preempt(ids_body({"a": ["u"]}))

    def test_ids_without_a_say_are_returned(self) -> None:
        reply = ask(Answers(mr.Policy("p")), "preempt", ids_body({"a": ["u"], "b": None}, 1))
        assert kept(reply) == {"a": ["u"]}
        assert reply["NodeNameToMetaVictims"]["a"]["NumPDBViolations"] == 1

    def test_a_node_known_by_name_is_a_clear_error(self) -> None:
        answers = self.answers(lambda pod, node, victims: node.labels)
        with pytest.raises(PolicyError, match=r"preempt 'say' failed on node a: .*only the node"):
            answers.preempt(victims_body({"a": [self.LOW]}))


def binding_body(**fields: str) -> bytes:
    names = {"PodName": "web", "PodNamespace": "default", "PodUID": WEB.uid, "Node": "a"}
    return compact({**names, **fields})


class TestBind:
    @pytest.mark.parametrize("key", ["PodName", "PodNamespace", "Node"])
    def test_incomplete_requests(self, key: str) -> None:
        with pytest.raises(InputError, match=f"the request has no {key}"):
            Answers(mr.Policy("p")).binding(binding_body(**{key: ""}))

    def test_pod_and_node_are_there_when_known(self) -> None:
        cluster = a_cluster(make_node("a"), pods=[WEB])
        binding = Answers(mr.Policy("p"), cluster).binding(binding_body())
        assert binding.pod is WEB
        assert binding.node is cluster.nodes["a"]
        assert Answers(mr.Policy("p"), cluster).binding(binding_body(PodUID="")).pod is WEB
        other = Answers(mr.Policy("p"), cluster).binding(binding_body(PodUID="other", Node="b"))
        assert (other.pod, other.node) == (None, None)
        bare = Answers(mr.Policy("p")).binding(binding_body())
        assert (bare.key, bare.uid, bare.node_name) == ("default/web", WEB.uid, "a")
        assert (bare.pod, bare.node) == (None, None)

    def test_a_prepared_pod_counts_until_it_is_forgotten(self) -> None:
        cluster = a_cluster(make_node("a"), pods=[WEB])
        answers = Answers(mr.Policy("p"), cluster)
        prepared = answers.prepare(answers.binding(binding_body()))
        assert isinstance(prepared, mr.Binding)
        assert cluster.nodes["a"].used["cpu"] == 2000
        answers.forget(prepared)
        assert cluster.nodes["a"].used["cpu"] == 0

    def test_annotations_of_the_function_are_seen_on_the_node(self) -> None:
        policy = mr.Policy("p")
        policy.bind(name="mark")(lambda binding: binding.annotate({"gpu": "3"}))
        cluster = a_cluster(make_node("a"), pods=[WEB])
        answers = Answers(policy, cluster)
        answers.prepare(answers.binding(binding_body()))
        assert [pod.annotations for pod in cluster.nodes["a"].pods] == [{"gpu": "3"}]

    def test_a_rejected_pod_does_not_count(self) -> None:
        policy = mr.Policy("p")
        policy.bind(name="no")(lambda binding: "not today")
        cluster = a_cluster(make_node("a"), pods=[WEB])
        answers = Answers(policy, cluster)
        verdict = answers.prepare(answers.binding(binding_body()))
        assert verdict == mr.reject("not today")
        assert cluster.assumed == 0

    def test_the_last_of_two_bindings_counts_until_one_is_confirmed(self) -> None:
        # A caller that timed out asks again, maybe for another node.
        cluster = a_cluster(make_node("a"), make_node("b"), pods=[WEB])
        answers = Answers(mr.Policy("p"), cluster)

        def used() -> tuple[float, float]:
            return cluster.nodes["a"].used["cpu"], cluster.nodes["b"].used["cpu"]

        first = answers.prepare(answers.binding(binding_body()))
        second = answers.prepare(answers.binding(binding_body(Node="b")))
        assert isinstance(first, mr.Binding)
        assert isinstance(second, mr.Binding)
        assert used() == (0, 2000)
        answers.annotate(first.annotate({"late": "yes"}))
        answers.forget(first)
        assert used() == (0, 2000)
        answers.confirm(first)
        assert used() == (2000, 0)
        answers.forget(second)
        answers.forget(first)
        answers.prepare(answers.binding(binding_body(Node="b")))
        assert used() == (2000, 0)

    def test_a_bound_pod_counts_though_it_was_forgotten(self) -> None:
        cluster = a_cluster(make_node("a"), pods=[WEB])
        answers = Answers(mr.Policy("p"), cluster)
        prepared = answers.prepare(answers.binding(binding_body()))
        assert isinstance(prepared, mr.Binding)
        answers.forget(prepared)
        answers.confirm(prepared)
        assert cluster.nodes["a"].used["cpu"] == 2000
        cluster.remove_pod(WEB.key)
        answers.confirm(prepared)
        assert cluster.nodes["a"].used["cpu"] == 0

    def test_another_pod_of_the_same_name_is_left_alone(self) -> None:
        cluster = a_cluster(make_node("a"), pods=[WEB])
        answers = Answers(mr.Policy("p"), cluster)
        stranger = answers.prepare(answers.binding(binding_body(PodUID="other")))
        answers.prepare(answers.binding(binding_body()))
        assert isinstance(stranger, mr.Binding)
        answers.forget(stranger)
        assert cluster.nodes["a"].used["cpu"] == 2000
        answers.confirm(stranger)
        assert cluster.assumed == 1

    def test_a_pod_that_is_on_a_node_stays_there(self) -> None:
        cluster = a_cluster(make_node("a"), make_node("b"), pods=[WEB])
        answers = Answers(mr.Policy("p"), cluster)
        cluster.put_pod(make_pod("web", requests={"cpu": "2"}, node="b"))
        again = answers.prepare(answers.binding(binding_body()))
        assert isinstance(again, mr.Binding)
        answers.forget(again)
        assert cluster.nodes["b"].used["cpu"] == 2000

    def test_an_async_function_is_not_called_by_prepare(self) -> None:
        policy = mr.Policy("p")

        @policy.bind
        async def slowly(binding: mr.Binding) -> mr.Binding:
            return binding.annotate({"slow": "yes"})

        answers = Answers(policy)
        prepared = answers.prepare(answers.binding(binding_body()))
        assert isinstance(prepared, mr.Binding)
        assert prepared.annotations == {}
        finished = asyncio.run(answers.prepare_async(prepared))
        assert isinstance(finished, mr.Binding)
        assert finished.annotations == {"slow": "yes"}


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
