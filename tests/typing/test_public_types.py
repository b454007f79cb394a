"""What a type checker knows of the public API; mypy checks this file with all the others."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import mooring as mr
from mooring import hook
from mooring.testing import FakeKubeScheduler, FilterResult, make_node, make_pod

policy = mr.Policy("types")


@policy.filter
def verdict_filter(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept()


@policy.filter(name="f2", reason="why", unresolvable=True)
def bool_filter(pod: mr.Pod, node: mr.Node) -> bool:
    return True


@policy.filter(name="f3")
def reason_filter(pod: mr.Pod, node: mr.Node) -> str | None:
    return None


@policy.filter_nodes
def mask_filter(pod: mr.Pod, nodes: mr.Nodes) -> mr.Mask:
    return nodes.free["cpu"] >= pod.requests["cpu"]


@policy.filter_nodes(name="f5", reason="why")
def list_filter(pod: mr.Pod, nodes: mr.Nodes) -> list[bool]:
    return [node.ready for node in nodes]


@policy.score
def float_score(pod: mr.Pod, node: mr.Node) -> float:
    return 1.0


@policy.score(name="s2", weight=2, max_score=10)
def int_score(pod: mr.Pod, node: mr.Node) -> int:
    return 1


@policy.score_nodes
def array_score(pod: mr.Pod, nodes: mr.Nodes) -> npt.NDArray[np.float64]:
    return nodes.free["cpu"] / 1000


@policy.score_nodes(name="s4", weight=0.5)
def list_score(pod: mr.Pod, nodes: mr.Nodes) -> list[float]:
    return [0.0 for _ in nodes]


@policy.preempt
def victims_preempt(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> Sequence[mr.Pod]:
    return victims[:1]


@policy.preempt(name="p2")
def bool_preempt(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> bool:
    return True


plain = mr.Policy("plain")
waiting = mr.Policy("waiting")


@plain.bind
def plain_bind(binding: mr.Binding) -> mr.Binding:
    return binding.annotate({"a": "b"})


@waiting.bind(name="b2")
async def async_bind(binding: mr.Binding) -> None:
    return None


def test_decorators_keep_the_functions_type() -> None:
    pod, node, nodes = make_pod(), make_node(pods=[]), mr.Nodes([make_node(pods=[])])
    assert_type(verdict_filter(pod, node), mr.Verdict)
    assert_type(bool_filter(pod, node), bool)
    assert_type(reason_filter(pod, node), str | None)
    assert_type(mask_filter(pod, nodes), mr.Mask)
    assert_type(list_filter(pod, nodes), list[bool])
    assert_type(float_score(pod, node), float)
    assert_type(int_score(pod, node), int)
    assert_type(array_score(pod, nodes), npt.NDArray[np.float64])
    assert_type(list_score(pod, nodes), list[float])
    assert_type(victims_preempt(pod, node, [pod]), Sequence[mr.Pod])
    assert_type(bool_preempt(pod, node, [pod]), bool)
    binding = mr.Binding(namespace="n", name="p", uid="u", node_name="a")
    assert_type(plain_bind(binding), mr.Binding)
    waits: Callable[[mr.Binding], Awaitable[None]] = async_bind
    assert waits is async_bind
    assert len(policy.rules) == 11


def test_wrong_functions_are_type_errors() -> None:
    """A `type: ignore` that is not needed is an error, so each of these must be one."""
    wrong = mr.Policy("wrong")

    @wrong.filter  # type: ignore[type-var]
    def number_filter(pod: mr.Pod, node: mr.Node) -> float:
        return 1.0

    @wrong.score  # type: ignore[type-var]
    def text_score(pod: mr.Pod, node: mr.Node) -> str:
        return "1"

    @wrong.filter_nodes  # type: ignore[type-var]
    def singular(pod: mr.Pod, node: mr.Node) -> bool:
        return True

    @wrong.score(name="x")  # type: ignore[type-var]
    def no_pod(node: mr.Node) -> float:
        return 1

    @wrong.preempt  # type: ignore[type-var]
    def no_victims(pod: mr.Pod, node: mr.Node) -> bool:
        return True

    assert [rule.name for rule in wrong.rules] == [
        "number_filter", "singular", "text_score", "x", "no_victims",
    ]  # fmt: skip


def test_what_policies_read_has_a_type() -> None:
    node, pod = make_node(pods=[]), make_pod(requests={"cpu": "1"})
    assert_type(node.name, str)
    assert_type(node.labels, dict[str, str])
    assert_type(node.allocatable, mr.Resources)
    assert_type(node.allocatable["cpu"], int)
    assert_type(node.used, Mapping[str, int])
    assert_type(node.free, Mapping[str, int])
    assert_type(node.free["cpu"], int)
    assert_type(node.pods, Sequence[mr.Pod])
    assert_type(node.images, tuple[str, ...])
    assert_type(node.taints, list[mr.Taint])
    assert_type(node.ready, bool)
    assert_type(node.raw, dict[str, Any])
    assert_type(pod.requests, mr.Resources)
    assert_type(pod.images, tuple[str, ...])
    assert_type(pod.containers, list[mr.Container])
    assert_type(pod.tolerations, list[mr.Toleration])
    assert_type(pod.priority, int)
    assert_type(mr.untolerated(node.taints, pod.tolerations), mr.Taint | None)


def test_columns_are_arrays_of_whole_numbers() -> None:
    nodes = mr.Nodes([make_node(pods=[])])
    assert_type(nodes.free["cpu"], mr.Amounts)
    assert_type(nodes.free["cpu"], npt.NDArray[np.int64])
    assert_type(nodes[0], mr.Node)
    assert_type(nodes[:1], mr.Nodes)
    assert_type([node.name for node in nodes], list[str])
    assert_type(nodes.labels("zone"), list[str])


def test_reading_and_loading_give_typed_objects() -> None:
    assert_type(mr.Pod.from_json(b"{}"), mr.Pod)
    assert_type(mr.Node.from_dict({}), mr.Node)
    assert_type(mr.parse_quantity("1") + mr.parse_quantity("2"), mr.Quantity)
    assert_type(mr.parse_quantity("1").milli, int)
    loader: Callable[[str], mr.Policy] = mr.load
    assert loader is mr.load
    assert_type(mr.reject("no"), mr.Verdict)


class Plugin(hook.Filter, hook.ScoreNodes):
    """Hook methods may narrow what they return."""

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
        return True

    def score_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> npt.NDArray[np.int64]:
        return nodes.free["cpu"]


def test_plugins_and_the_fake_scheduler_are_typed() -> None:
    plugged = mr.Policy("plugged")
    plugged.add(Plugin())
    scheduler = FakeKubeScheduler(mr.Policy("empty"), [make_node("a")])
    assert_type(scheduler.filter(make_pod()), FilterResult)
    assert_type(scheduler.prioritize(make_pod()), dict[str, int])
    assert_type(scheduler.schedule(make_pod()), str)
    assert_type(scheduler.bind(make_pod("q"), "a"), mr.Binding)
    assert_type(scheduler.preempt(make_pod(), {}), dict[str, list[str]])
