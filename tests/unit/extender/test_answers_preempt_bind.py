"""What the verbs preempt and bind answer."""

# ruff: noqa: ARG005 - a policy's function takes what it is given
import asyncio
import json
from typing import Any

import pytest

import mooring as mr
from mooring.errors import InputError, PolicyError
from mooring.extender.answers import Answers
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod
from tests.unit.extender.answers_bodies import (
    WEB,
    a_cluster,
    ask,
    binding_body,
    ids_body,
    victims_body,
)
from tests.unit.extender.asgi import compact


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
        with pytest.raises(PolicyError, match=r"named default/top on node a.*but not add any"):
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
        with pytest.raises(InputError, match=r"victims were sent by UID only.*--kubeconfig FILE"):
            answers.preempt(ids_body({"a": ["u"]}))

    def test_ids_without_a_say_are_returned(self) -> None:
        reply = ask(Answers(mr.Policy("p")), "preempt", ids_body({"a": ["u"], "b": None}, 1))
        assert kept(reply) == {"a": ["u"]}
        assert reply["NodeNameToMetaVictims"]["a"]["NumPDBViolations"] == 1

    def test_a_node_known_by_name_is_a_clear_error(self) -> None:
        answers = self.answers(lambda pod, node, victims: node.labels)
        with pytest.raises(PolicyError, match=r"preempt 'say' failed on node a: .*only the node"):
            answers.preempt(victims_body({"a": [self.LOW]}))


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


class TestFiltersBeforeBinding:
    """kube-scheduler places the next pod while the one before is being bound."""

    OTHER = make_pod("other", requests={"cpu": "2"})

    def answers(self, *, usage: bool = True) -> Answers:
        policy = mr.Policy("p", usage=usage)
        self.asked: list[str] = []

        @policy.filter
        def alone(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
            self.asked.append(f"{pod.name} {node.name} {pod.raw['spec'].get('schedulerName')}")
            return mr.accept_if(not usage or not node.pods, "node is taken")

        cluster = a_cluster(make_node("a"), make_node("b"), pods=[WEB, self.OTHER])
        return Answers(policy, cluster)

    def filter(self, answers: Answers, pod: Pod) -> None:
        raw = {**pod.raw, "spec": {**pod.raw["spec"], "schedulerName": "as asked"}}
        body = compact({"Pod": raw, "Nodes": None, "NodeNames": ["a", "b"]})
        assert ask(answers, "filter", body)["NodeNames"] == ["a", "b"]

    def bind(self, answers: Answers, pod: Pod, node: str) -> mr.Binding | mr.Verdict:
        body = binding_body(PodName=pod.name, PodUID=pod.uid, Node=node)
        return answers.prepare(answers.binding(body))

    def test_a_node_that_was_taken_since_is_rejected(self) -> None:
        answers = self.answers()
        self.filter(answers, WEB)
        self.filter(answers, self.OTHER)
        assert isinstance(self.bind(answers, WEB, "a"), mr.Binding)
        said = "node a no longer fits: node is taken"
        assert self.bind(answers, self.OTHER, "a") == mr.reject(said)
        # It is tried again, and goes elsewhere.
        assert isinstance(self.bind(answers, self.OTHER, "b"), mr.Binding)
        assert self.asked[-1] == "other b as asked"  # with every field that the request had

    def test_a_pod_that_counts_there_already_is_not_in_its_own_way(self) -> None:
        answers = self.answers()
        self.filter(answers, WEB)
        assert isinstance(self.bind(answers, WEB, "a"), mr.Binding)
        self.asked.clear()
        assert isinstance(self.bind(answers, WEB, "a"), mr.Binding)
        assert self.asked == []

    def test_only_the_filters_that_were_asked_are_asked_again(self) -> None:
        answers = self.answers()
        answers.policy.filter(name="never")(lambda pod, node: False)
        body = compact({"Pod": WEB.raw, "Nodes": None, "NodeNames": ["a"]})
        answers.filter(body, [answers.policy.filters[0]])
        assert isinstance(self.bind(answers, WEB, "a"), mr.Binding)

    def test_a_policy_that_does_not_look_at_pods_is_asked_once(self) -> None:
        answers = self.answers(usage=False)
        self.filter(answers, WEB)
        self.asked.clear()
        assert isinstance(self.bind(answers, WEB, "a"), mr.Binding)
        assert self.asked == []

    def test_what_is_remembered_is_bounded(self) -> None:
        answers = self.answers()
        for number in range(1000):
            answers._remember(make_pod(f"p{number}"), None, 1000)
        assert len(answers._asked) == 256
        for number in range(10):
            answers._remember(make_pod(f"large{number}"), None, 10 << 20)
        assert len(answers._asked) == 1
