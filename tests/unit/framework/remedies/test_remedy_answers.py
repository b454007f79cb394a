"""What a plugin proposes is read anew: what comes out can be tried, and nothing else does."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from mooring.errors import AnswerError
from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.framework.remedies.remedy_answers import legal_pod, legal_remedies
from mooring.framework.verdict import reject
from mooring.model import changed_copies
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.model.storage import PersistentVolumeClaim
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

POD = Pod.from_dict(
    {
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "dnsPolicy": "Default",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "x/gpu": 1}}}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }
)
NODE = make_node("a", labels={"zone": "z"}, taints=[{"key": "t", "effect": "NoSchedule"}])
CLAIM = PersistentVolumeClaim(metadata=ObjectMeta(name="data", namespace="default"))


def case() -> RemedyCase:
    cluster = Cluster()
    cluster.put_node(NODE)
    cluster.put_pod(make_pod("other", node="a"))
    return RemedyCase(POD, NODE, reject("no"), cluster, lambda _: False)


def legal(*remedies: Any) -> list[Remedy]:
    return legal_remedies(remedies, case())


LEGAL: dict[str, Remedy] = {
    "pod": Remedy("do", 1, frozenset({"x"}), pod=changed_copies.with_spec(POD, node_name="a")),
    "node": Remedy("do", 2.5, node=changed_copies.with_labels(NODE, {"zone": None})),
    "moved": Remedy("do", 1, moved="default/other"),
    "added": Remedy("do", 1, added=make_node("b")),
    "created": Remedy("do", 1, created=(CLAIM,)),
    "moved with what it has": Remedy("do", 1, moved="default/other", created=(CLAIM,)),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_change_comes_out_as_it_is(name: str) -> None:
    assert legal(LEGAL[name]) == [LEGAL[name]]


def test_any_collection_will_do() -> None:
    def generated() -> Iterator[Remedy]:
        yield LEGAL["moved"]

    assert legal_remedies(generated(), case()) == [LEGAL["moved"]]
    assert legal_remedies({1: LEGAL["moved"]}.values(), case()) == [LEGAL["moved"]]
    assert legal_remedies((), case()) == []


def test_a_changed_object_keeps_what_was_read() -> None:
    [found] = legal(Remedy("do", 1, pod=replace(POD, spec=replace(POD.spec, node_name="a"))))
    assert found.pod is not None
    assert found.pod.raw["spec"]["dnsPolicy"] == "Default"
    own = Pod.from_dict({"metadata": {"name": "web"}, "spec": {"dnsPolicy": "None"}})
    assert legal_pod(own, case()).raw["spec"]["dnsPolicy"] == "None"


def test_numbers_and_texts_become_plain() -> None:
    class Text(str):
        __slots__ = ()

    [found] = legal(Remedy(Text("do"), np.float64(2), {Text("x")}, moved=Text("default/other")))  # type: ignore[arg-type]
    assert (type(found.text), type(found.cost), type(found.moved)) == (str, float, str)
    assert {type(one) for one in found.kinds} == {str}


def test_long_texts_are_cut() -> None:
    assert len(legal(Remedy("x" * 5000, 1, moved="default/other"))[0].text) < 1100


def spec(**fields: Any) -> Pod:
    return replace(POD, spec=replace(POD.spec, **fields))


def changed(**fields: Any) -> Callable[[], object]:
    """Remedies that are wrong, made when the test runs."""
    given = {"text": "do", "cost": 1, **fields}
    return lambda: [Remedy(**given)]


class Imitation(Pod, frozen=True, dict=True):
    """A pod of a class of its own may do anything."""


ILLEGAL: dict[str, tuple[Callable[[], object], str]] = {
    "nothing": (lambda: None, "it returned None; it must return hook.Remedy objects"),
    "one": (lambda: LEGAL["moved"], "must return hook.Remedy objects"),
    "a text": (
        lambda: "uncordon a",
        "it returned 'uncordon a'; it must return hook.Remedy objects",
    ),
    "none of them": (lambda: [None], "it returned None; it must return hook.Remedy objects"),
    "no change": (changed(), "a Remedy with 0 changes; set one of pod"),
    "two changes": (changed(pod=POD, node=NODE), "a Remedy with 2 changes"),
    "no text": (changed(text=" ", pod=POD), "it returned ' ' as the text of a Remedy"),
    "a text of bytes": (
        changed(text=b"x", pod=POD),
        "as the text of a Remedy; it must be a string",
    ),
    "no cost": (
        changed(cost=0, pod=POD),
        "it returned 0 as a cost; it must be a number greater than 0",
    ),
    "below": (changed(cost=-1, pod=POD), "as a cost"),
    "endless": (changed(cost=float("inf"), pod=POD), "as a cost"),
    "no number": (changed(cost=float("nan"), pod=POD), "as a cost"),
    "a written cost": (changed(cost="1", pod=POD), "it returned '1' as a cost"),
    "a kind": (changed(kinds="cordon", pod=POD), "as a kind of change"),
    "kinds": (changed(kinds={1}, pod=POD), "it returned 1 as a kind of change"),
    "a function": (changed(pod=lambda pod: pod), "a changed pod must be a Pod"),
    "an imitation": (changed(pod=Imitation(metadata=POD.metadata)), "a changed pod must be a Pod"),
    "another name": (changed(pod=make_pod("x")), "pod default/x in place of default/web"),
    "another uid": (
        changed(pod=replace(POD, metadata=replace(POD.metadata, uid="u"))),
        "in place of default/web",
    ),
    "a part of the pod": (
        changed(pod=replace(POD, spec=7)),
        ("it returned a Pod with an invalid part"),
    ),
    "a deep part": (changed(pod=spec(tolerations=[object()])), "a Pod with an invalid part"),
    "an unknown operator": (
        changed(
            pod=Pod.from_dict(
                {
                    "metadata": {"name": "web"},
                    "spec": {
                        "topologySpreadConstraints": [
                            {
                                "labelSelector": {
                                    "matchExpressions": [{"key": "x", "operator": "Near"}]
                                }
                            }
                        ]
                    },
                }
            )
        ),
        "it returned an invalid object: Pod default/web: field spec.topologySpreadConstraints[0]",
    ),
    "an impossible amount": (
        changed(
            pod=Pod.from_dict(
                {
                    "metadata": {"name": "web"},
                    "spec": {
                        "containers": [
                            {"name": "c", "resources": {"requests": {"memory": "9000000Ti"}}}
                        ]
                    },
                }
            )
        ),
        "it returned Pod default/web with an invalid amount",
    ),
    "another node": (changed(node=make_node("x")), "it returned node x in place of a"),
    "no node": (changed(node="a"), "a changed or new node must be a Node"),
    "a node that is there": (changed(added=make_node("a")), "'a' as a node that is added"),
    "a node without a name": (changed(added=make_node("")), "'' as a node that is added"),
    "a pod that is gone": (changed(moved="default/gone"), "'default/gone' as a pod to be moved"),
    "a pod itself": (changed(moved=POD), "as a pod to be moved; it must be a string"),
    "one object": (changed(created=CLAIM), "created objects must be a tuple"),
    "a created pod": (changed(created=(POD,)), "as a created object; it must have a name"),
    "a nameless claim": (changed(created=(PersistentVolumeClaim(),)), "as a created object"),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_what_cannot_be_tried_is_named(name: str) -> None:
    answer, text = ILLEGAL[name]
    with pytest.raises(AnswerError) as raised:
        legal_remedies(answer(), case())
    assert text in str(raised.value)


def test_no_more_than_a_hundred_are_read() -> None:
    def endless() -> Iterator[Remedy]:
        while True:
            yield LEGAL["moved"]

    assert len(legal_remedies(endless(), case())) == 100


def test_pods_of_every_shape_come_out_equal() -> None:
    pods = [POD, make_pod("web"), make_pod("web", requests={"cpu": "1"}, priority=3)]
    pods += [replace(POD, spec=PodSpec()), changed_copies.tolerating(POD, NODE.taints)]
    for pod in pods:
        assert legal_pod(pod, replace(case(), pod=pod)) == pod
