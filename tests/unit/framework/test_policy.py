"""How functions and plugins become rules."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import mooring as mr
from mooring import hook
from mooring.framework.policy_calls import keep_victims, reject_nodes, score_nodes
from mooring.testing import make_node, make_pod

KINDS = ["filter", "filter_nodes", "score", "score_nodes", "preempt", "bind"]


def decorator(policy: mr.Policy, kind: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(policy, kind)
    return found


@pytest.mark.parametrize("weight", [0, -1, 1.5, True, "2", 2**31])
def test_an_illegal_weight_of_a_policy_is_rejected(weight: Any) -> None:
    with pytest.raises(mr.InputError, match=r"^policy 'p' has weight=.*integer from 1 to"):
        mr.Policy("p", weight=weight)


def test_a_policy_may_say_its_weight() -> None:
    assert mr.Policy("p").weight is None
    assert mr.Policy("p", weight=3).weight == 3


def test_a_plugin_that_prepares_its_score_has_a_legal_weight() -> None:
    class Prepared(hook.PreScore, hook.Score):
        weight = 0

        def pre_score(self, cycle: hook.Cycle, nodes: mr.Nodes) -> None:
            pass

        def score(self, pod: mr.Pod, node: mr.Node) -> float:
            return 0

    with pytest.raises(mr.InputError, match="plugin 'Prepared' has weight=0; it must be a number"):
        mr.Policy("p").add(Prepared())


@pytest.mark.parametrize("kind", KINDS)
def test_a_bare_decorator_keeps_the_function_and_takes_name_and_docstring(kind: str) -> None:
    policy = mr.Policy("p")

    def near_data(*args: object) -> None:
        """Keep pods near their data.

        More about it.
        """

    assert decorator(policy, kind)(near_data) is near_data
    (rule,) = policy.rules
    assert (rule.kind, rule.name, rule.function) == (kind, "near_data", near_data)
    assert rule.doc == "Keep pods near their data."
    assert rule.plural == kind.endswith("_nodes")


@pytest.mark.parametrize("kind", KINDS)
def test_a_decorator_with_keywords_takes_the_given_name(kind: str) -> None:
    policy = mr.Policy("p")

    def function(*args: object) -> None: ...

    assert decorator(policy, kind)(name="my-rule")(function) is function
    (rule,) = policy.rules
    assert (rule.name, rule.doc) == ("my-rule", "")


def test_filter_keywords_reach_the_rule() -> None:
    policy = mr.Policy("p")
    policy.filter(reason="because", unresolvable=True)(one_filter)
    policy.filter_nodes(reason="why", name="all")(lambda _pod, nodes: [True] * len(nodes))
    one, all_at_once = policy.filters
    assert (one.reason, one.unresolvable) == ("because", True)
    assert (all_at_once.reason, all_at_once.unresolvable) == ("why", False)


def test_score_keywords_reach_the_rule() -> None:
    policy = mr.Policy("p")
    policy.score(weight=2.5, max_score=10)(one_score)
    policy.score_nodes(name="all", weight=3)(lambda _pod, nodes: [0.0] * len(nodes))
    one, all_at_once = policy.scores
    assert (one.weight, one.max_score) == (2.5, 10)
    assert (all_at_once.weight, all_at_once.max_score) == (3, 100)


def one_filter(pod: mr.Pod, node: mr.Node) -> bool:
    return True


def one_score(pod: mr.Pod, node: mr.Node) -> float:
    return 1


def test_rules_are_in_the_order_they_run() -> None:
    policy = mr.Policy("p")
    policy.bind(lambda_named("d"))
    policy.preempt(lambda_named("c"))
    policy.score(lambda_named("b"))
    policy.filter(lambda_named("a"))
    policy.filter_nodes(lambda_named("a2"))
    assert [rule.name for rule in policy.rules] == ["a", "a2", "b", "c", "d"]
    assert repr(policy) == "<Policy p: a, a2, b, c, d>"
    assert repr(mr.Policy("q")) == "<Policy q: empty>"


def lambda_named(name: str) -> Callable[..., Any]:
    def function(*args: object) -> None: ...

    function.__name__ = name
    return function


def test_a_policy_says_what_it_needs() -> None:
    assert mr.Policy("p").usage
    policy = mr.Policy("p", usage=False, description="for tests")
    assert (policy.name, policy.usage, policy.description) == ("p", False, "for tests")


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a-", "_a", "a/b", "ä", "a\n"])
def test_an_illegal_policy_name_is_rejected(name: str) -> None:
    with pytest.raises(mr.InputError, match=r"policy name .* is invalid; use letters"):
        mr.Policy(name)


@pytest.mark.parametrize("name", ["a", "A1", "a.b-c_d", "0"])
def test_a_legal_policy_name_is_kept(name: str) -> None:
    assert mr.Policy(name).name == name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["a b", "x/y", "_hidden"])
def test_an_illegal_function_name_is_rejected(kind: str, name: str) -> None:
    policy = mr.Policy("p")
    with pytest.raises(mr.InputError, match=rf"^{kind} name {name!r} is invalid in policy 'p'"):
        decorator(policy, kind)(name=name)(one_filter)
    assert policy.rules == []


def test_a_function_without_a_usable_name_needs_one() -> None:
    policy = mr.Policy("p")
    with pytest.raises(mr.InputError, match=r"'<lambda>' is invalid.*name="):
        policy.filter(lambda _pod, _node: True)
    with pytest.raises(mr.InputError, match=r"'' is invalid.*name="):
        policy.filter(functools.partial(one_filter))
    policy.filter(name="partial")(functools.partial(one_filter))
    assert [rule.name for rule in policy.filters] == ["partial"]


@pytest.mark.parametrize("pair", [("filter", "filter_nodes"), ("score", "score"),
                                  ("score", "score_nodes"), ("preempt", "preempt")])  # fmt: skip
def test_two_functions_of_one_point_and_name_are_rejected(pair: tuple[str, str]) -> None:
    policy = mr.Policy("p")
    first, second = pair
    decorator(policy, first)(name="same")(one_score)
    with pytest.raises(mr.InputError, match=rf"'p' has two {second} functions named 'same'"):
        decorator(policy, second)(name="same")(one_score)
    assert len(policy.rules) == 1


def test_one_name_may_serve_at_several_points() -> None:
    policy = mr.Policy("p")
    policy.filter(name="gpu")(one_filter)
    policy.score(name="gpu")(one_score)
    assert [rule.kind for rule in policy.rules] == ["filter", "score"]


def test_a_second_bind_function_is_rejected() -> None:
    policy = mr.Policy("p")
    policy.bind(name="one")(lambda _: None)
    with pytest.raises(mr.InputError, match=r"two bind functions, 'one' and 'two'; keep one"):
        policy.bind(name="two")(lambda _: None)


@pytest.mark.parametrize("option", ["weight", "max_score"])
@pytest.mark.parametrize("value", [10**400, 1e300])
def test_a_weight_or_best_score_must_not_be_too_large(option: str, value: float) -> None:
    policy = mr.Policy("p")
    with pytest.raises(
        mr.InputError, match=(f"^score 'x' has {option} above 1e.100; it must be small")
    ):
        policy.score(**{"name": "x", option: value})(one_score)  # type: ignore[call-overload]


@pytest.mark.parametrize("option", ["weight", "max_score"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "3", None])
def test_a_weight_or_best_score_must_be_a_number_above_zero(option: str, value: Any) -> None:
    policy = mr.Policy("p")
    for kind in ("score", "score_nodes"):
        with pytest.raises(mr.InputError, match=f"^{kind} 'x' has {option}=.*greater than 0"):
            decorator(policy, kind)(**{"name": "x", option: value})(one_score)
    assert policy.scores == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_decorator_on_something_that_is_no_function_is_rejected(kind: str) -> None:
    with pytest.raises(mr.InputError, match=rf"^policy.{kind} takes a function; use @policy"):
        decorator(mr.Policy("p"), kind)("a name")


class Packer(hook.Filter, hook.Score):
    """Pack pods."""

    weight = 2
    max_score = 1

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
        """Only small nodes."""
        return node.allocatable["cpu"] < 5000

    def score(self, pod: mr.Pod, node: mr.Node) -> float:
        return 0.5


def test_a_plugin_is_registered_at_every_hook_it_implements() -> None:
    policy = mr.Policy("p")
    policy.add(Packer())
    assert [(rule.kind, rule.name) for rule in policy.rules] == [
        ("filter", "Packer"),
        ("score", "Packer"),
    ]
    assert policy.filters[0].doc == "Only small nodes."
    assert (policy.scores[0].weight, policy.scores[0].max_score) == (2, 1)
    nodes = [make_node("small", cpu="2"), make_node("large")]
    ((_, rejected),) = reject_nodes(policy.filters, make_pod(), nodes)
    assert [index for index, _ in rejected] == [1]
    assert score_nodes(policy.scores, make_pod(), nodes).tolist() == [50, 50]


class PluralPacker(hook.FilterNodes, hook.ScoreNodes, hook.Preempt, hook.Bind):
    name = "pack"
    reason = "too large"

    def filter_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> hook.FilterAnswers:
        return nodes.allocatable["cpu"] < 5000

    def score_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> mr.Scores:
        return [7.0] * len(nodes)

    def preempt(self, pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> hook.PreemptAnswer:
        return victims[:1]

    async def bind(self, binding: mr.Binding) -> hook.BindAnswer:
        return None


def test_plural_hooks_preempt_and_bind_are_registered_too() -> None:
    policy = mr.Policy("p")
    policy.add(PluralPacker())
    assert [(rule.kind, rule.name) for rule in policy.rules] == [
        (kind, "pack") for kind in ("filter_nodes", "score_nodes", "preempt", "bind")
    ]
    assert policy.filters[0].reason == "too large"
    assert policy.binds[0].is_async
    victims = [make_pod("v"), make_pod("w")]
    kept = keep_victims(policy.preempts, make_pod(), make_node(), victims)
    assert kept == victims[:1]


def test_singular_and_plural_hook_of_one_plugin_collide() -> None:
    class Undecided(hook.Filter, PluralPacker):
        def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
            return True

    with pytest.raises(mr.InputError, match="two filter_nodes functions named 'pack'"):
        mr.Policy("p").add(Undecided())


def test_two_plugins_of_one_name_collide() -> None:
    policy = mr.Policy("p")
    policy.add(Packer())
    with pytest.raises(mr.InputError, match="two filter functions named 'Packer'"):
        policy.add(Packer())
    other = Packer()
    other.name = "other"
    policy.add(other)
    assert len(policy.rules) == 4


def test_a_plugin_without_hooks_is_rejected() -> None:
    class Nothing(hook.Hook):
        pass

    with pytest.raises(
        mr.InputError,
        match=(
            r"'Nothing' implements no hook; inherit from "
            r"hook\.Filter"
        ),
    ):
        mr.Policy("p").add(Nothing())


def test_a_plugin_must_implement_what_it_inherits() -> None:
    class Unfinished(hook.Filter):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Unfinished()  # type: ignore[abstract]
