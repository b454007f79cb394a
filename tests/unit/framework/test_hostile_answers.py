"""Answers whose parts do harm: they are looked at behind the border alone, or not at all."""

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from mooring import Binding, Node, Nodes, Pod, Verdict, accept, hook, reject
from mooring.errors import MooringError, PluginError, PolicyError
from mooring.framework import foreign
from mooring.framework.binding_hooks import BindingHooks
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.recording import record_decision
from mooring.framework.extension_points import PluginAtPoint
from mooring.framework.filtering import Filtering
from mooring.framework.hook_answers import legal_binding, legal_verdict, legal_wait
from mooring.framework.rules import FilterRule, PreemptRule, ScoreRule
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdicts
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.framework.deciding import decide_alone


class Hostile:
    """Does harm whoever looks at it."""

    def _harm(self, *_: object) -> Any:
        sys.exit(5)

    __class__ = property(_harm)
    __repr__ = __str__ = __iter__ = __len__ = __bool__ = __eq__ = __array__ = __getitem__ = _harm
    __float__ = __index__ = __lt__ = __gt__ = _harm
    __hash__ = None  # type: ignore[assignment]


class Number(float):
    """A number that does harm when it is computed with."""

    def _harm(self, *_: object) -> Any:
        sys.exit(6)

    __float__ = __add__ = __radd__ = __mul__ = __lt__ = __gt__ = __le__ = __ge__ = _harm


class Array(np.ndarray[Any, Any]):
    """An array that does harm when it is computed with."""

    def __array_ufunc__(self, *_: object, **__: object) -> Any:
        sys.exit(7)

    def __len__(self) -> int:  # noqa: PLE0303 - it never does
        sys.exit(7)


class Pretender:
    """Says that it is something else."""

    def __init__(self, kind: type, **parts: object) -> None:
        self.kind = kind
        vars(self).update(parts)

    __class__ = property(lambda self: self.kind)


def hostile() -> Any:
    """Made when it is needed: pytest looks at everything in a module."""
    return Hostile()


VERDICTS: dict[str, Callable[[], Any]] = {
    "accepted": lambda: Verdict(accepted=hostile(), reason="x"),
    "unresolvable": lambda: Verdict(accepted=False, reason="x", unresolvable=hostile()),
    "error": lambda: Verdict(accepted=False, reason="x", error=hostile()),
    "reason": lambda: Verdict(accepted=False, reason=hostile()),
    "also": lambda: Verdict(accepted=False, reason="x", also=hostile()),
    "a part of also": lambda: Verdict(accepted=False, reason="x", also=(hostile(),)),
    "its class": lambda: Pretender(Verdict, accepted=hostile(), reason="x"),
}


def _each(make: Callable[[], Any]) -> Callable[[int], Any]:
    return lambda size: [make()] * size


MANY: dict[str, Callable[[int], Any]] = {
    "choice": lambda _: Verdicts(hostile(), (accept(),)),
    "table": lambda size: Verdicts(np.zeros(size, np.int32), hostile()),
    "a part of table": lambda size: Verdicts(np.zeros(size, np.int32), (accept(), hostile())),
    "the first accepts": lambda size: Verdicts(
        np.zeros(size, np.int32), (Verdict(accepted=hostile()),)
    ),
}
MANY |= {f"each {part}": _each(make) for part, make in VERDICTS.items()}
WAITS: dict[str, Callable[[], Any]] = {
    "no number": lambda: hook.Wait(hostile()),
    "a number of its own": lambda: hook.Wait(Pretender(float)),  # type: ignore[arg-type]
    "not a number": lambda: hook.Wait(math.nan),
}


class Answering(hook.PreEnqueue, hook.PreFilter, hook.FilterNodes, hook.PostFilter):
    """Returns an answer at one hook."""

    name = "Answering"

    def __init__(self, at: str, make: Callable[..., Any]) -> None:
        self._at = at
        self._make = make

    def pre_enqueue(self, pod: Pod) -> Any:
        return self._make() if self._at == "pre_enqueue" else None

    def pre_filter(self, cycle: Cycle) -> Any:
        return self._make() if self._at == "pre_filter" else None

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Any:
        if self._at == "post_filter":
            return [reject("full")] * len(nodes)
        return self._make(len(nodes)) if self._at == "filter" else None

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Any:
        return self._make()


class Placer(hook.Reserve, hook.Permit):
    """Returns an answer at one hook."""

    name = "Placer"

    def __init__(self, at: str, make: Callable[[], Any]) -> None:
        self._at = at
        self._make = make
        self.given_back = 0

    def reserve(self, cycle: Cycle, node: Node) -> Any:
        return self._make() if self._at == "reserve" else None

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        self.given_back += 1

    def permit(self, cycle: Cycle, node: Node) -> Any:
        return self._make() if self._at == "permit" else None


def runtime(plugin: hook.Hook, points: Sequence[str]) -> Runtime:
    cluster = Cluster()
    for name in "abc":
        cluster.put_node(make_node(name, cpu="4"))
    made = Runtime(cluster)
    made.install("test", {point: [PluginAtPoint(plugin.name, plugin)] for point in points})
    return made


POINTS = ("preEnqueue", "preFilter", "filter", "postFilter")


@pytest.mark.parametrize("part", VERDICTS)
@pytest.mark.parametrize("at", ["pre_enqueue", "pre_filter", "post_filter"])
def test_a_verdict_with_a_hostile_part_is_refused(at: str, part: str) -> None:
    made = runtime(Answering(at, VERDICTS[part]), POINTS)
    with pytest.raises(PluginError, match=f"plugin Answering failed in {at} for pod default/p"):
        record_decision(made, make_pod("p"))
    if at != "pre_enqueue":
        with pytest.raises(PluginError, match=f"failed in {at}"):
            decide_alone(made, make_pod("p"))


@pytest.mark.parametrize("part", MANY)
def test_verdicts_with_a_hostile_part_are_refused(part: str) -> None:
    made = runtime(Answering("filter", MANY[part]), POINTS)
    for ask in (
        lambda: decide_alone(made, make_pod("p")),
        lambda: record_decision(made, make_pod("p")),
    ):
        with pytest.raises(PluginError, match="plugin Answering failed in filter for pod"):
            ask()


@pytest.mark.parametrize("part", VERDICTS)
def test_a_function_of_a_policy_is_named_with_what_it_returned(part: str) -> None:
    filters = FilterRule(kind="filter", name="mine", function=lambda *_: VERDICTS[part]())
    victims = PreemptRule(kind="preempt", name="mine", function=lambda *_: VERDICTS[part]())
    node = make_node("a")
    with pytest.raises(PolicyError, match="filter 'mine' "):
        filters.rejections(make_pod("p"), [node])
    if part in ("accepted", "its class"):  # a rejection by others is one, whatever its reason is
        with pytest.raises(PolicyError, match="preempt 'mine' "):
            victims.remaining(make_pod("p"), node, [make_pod("v")])


@pytest.mark.parametrize("part", VERDICTS)
def test_what_was_reserved_is_given_back_whatever_the_answer_is(part: str) -> None:
    plugin = Placer("reserve", VERDICTS[part])
    hooks = BindingHooks({"reserve": [PluginAtPoint("Placer", plugin)]})
    with pytest.raises(PluginError, match="plugin Placer failed in reserve"):
        hooks.reserve(Cycle(make_pod("p"), Cluster()), make_node("n"))
    assert plugin.given_back == 1


@pytest.mark.parametrize("make", [*VERDICTS.values(), *WAITS.values()], ids=[*VERDICTS, *WAITS])
def test_a_permit_with_a_hostile_part_is_refused(make: Callable[[], Any]) -> None:
    hooks = BindingHooks({"permit": [PluginAtPoint("Placer", Placer("permit", make))]})
    with pytest.raises(PluginError, match="plugin Placer failed in permit"):
        hooks.permit(Cycle(make_pod("p"), Cluster()), make_node("n"))


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(5, 5.0), (True, 1.0), (np.float32(2), 2.0), (-math.inf, 0.0), (-1e308, 0.0), (math.inf, 900)],
)
def test_a_time_to_wait_is_a_plain_number_within_bounds(given: float, seconds: float) -> None:
    hooks = BindingHooks(
        {"permit": [PluginAtPoint("Placer", Placer("permit", lambda: hook.Wait(given)))]}
    )
    waits = hooks.permit(Cycle(make_pod("p"), Cluster()), make_node("n"))
    assert isinstance(waits, dict)
    assert (waits, type(waits["Placer"])) == ({"Placer": seconds}, float)


def test_a_number_that_is_code_becomes_a_plain_one_or_none() -> None:
    with pytest.raises(MooringError):
        foreign.call(legal_wait, hook.Wait(Number(5)))


def test_flags_become_truth_values() -> None:
    made = legal_verdict(Verdict(accepted=np.bool_(False), reason="x", error=np.bool_(True)))  # type: ignore[arg-type]
    assert made == Verdict(accepted=False, reason="x", error=True)
    assert (type(made.accepted), type(made.error)) == (bool, bool)
    with pytest.raises(MooringError, match="must be True or False"):
        legal_verdict(Verdict(accepted="yes"))  # type: ignore[arg-type]


def test_verdicts_on_an_array_of_another_class_become_plain() -> None:
    def answer(size: int) -> Verdicts:
        return Verdicts(np.zeros(size, np.int64).view(Array), (accept(),))

    made = runtime(Answering("filter", answer), POINTS)
    assert list(decide_alone(made, make_pod("p")).best) == [0, 1, 2]


def test_scores_in_an_array_of_another_class_become_plain() -> None:
    rule = ScoreRule(kind="score_nodes", name="mine", function=len, max_score=10)
    found = rule.look(rule.checked, np.array([1.0, 2.0]).view(Array), [make_node("a")] * 2)
    assert type(found) is np.ndarray
    assert found.tolist() == [10, 20]


def pretended() -> Any:
    parts = {"key": "shop/web", "uid": "u-1", "node_name": "a", "annotations": {}}
    return Pretender(Binding, **parts)


def altered() -> Any:
    return Binding(namespace="shop", name="web", uid="u-1", node_name="a", pod=hostile())


@pytest.mark.parametrize("make", [pretended, altered])
def test_a_binding_is_ours_whatever_comes_back(make: Callable[[], Any]) -> None:
    binding = Binding(namespace="shop", name="web", uid="u-1", node_name="a", pod=make_pod("web"))
    found = foreign.call(legal_binding, binding, make(), "Mine")
    assert type(found) is Binding
    assert found.pod is binding.pod
