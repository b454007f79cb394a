"""Functions that cannot be called as they will be are rejected when the policy is loaded."""

from pathlib import Path

import pytest

from mooring.framework import hook
from mooring.framework.policy_checks.signatures import HOOKS, called_with
from tests.unit.framework.policy_checks.checked_files import problem, problems

WANTED = {
    "filter": "pod, node",
    "filter_nodes": "pod, nodes",
    "score": "pod, node",
    "score_nodes": "pod, nodes",
    "preempt": "pod, node, victims",
    "bind": "binding",
}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (kind, given)
        for kind, wanted in WANTED.items()
        for given in ("", "one", "one, two, three, four", "*, one")
        if given.count(",") != wanted.count(",") or not given or "*" in given
    ],
)
def test_a_wrong_number_of_parameters(tmp_path: Path, kind: str, given: str) -> None:
    wanted = WANTED[kind]
    said = problem(tmp_path, f"@policy.{kind}\ndef f({given}): return None\n")
    assert said == (
        f"2: {kind} function 'f' takes ({given}); it is called with ({wanted}), "
        f"so write def f({wanted})"
    )


@pytest.mark.parametrize("kind", WANTED)
@pytest.mark.parametrize("form", ["{}", "*args", "*_, **more", "{}, more=1", "{}, *, more=1"])
def test_a_function_that_can_be_called_is_right(tmp_path: Path, kind: str, form: str) -> None:
    given = form.format(WANTED[kind])
    assert problems(tmp_path, f"@policy.{kind}\ndef f({given}): return None\n") == []


@pytest.mark.parametrize(
    "given",
    [
        "p, n",
        "_pod, _node",
        "Pod, Node",
        "a, pods",
        "pod: mr.Pod, node: mr.Node",
        "node: mr.Pod, pod: mr.Node",  # an odd name for what it is said to be
        "pod: object, node: 'Unknown'",
        "pod: 'mr.Pod', node: mr.model.Nowhere if False else mr.Node",
    ],
)
def test_names_are_free_unless_they_mean_something_else(tmp_path: Path, given: str) -> None:
    assert problems(tmp_path, f"@policy.filter\ndef f({given}): return None\n") == []


@pytest.mark.parametrize("given", ["node, pod", "_node, _pod", "a: mr.Node, b: mr.Pod"])
def test_parameters_in_the_wrong_order(tmp_path: Path, given: str) -> None:
    said = problem(tmp_path, f"@policy.score\ndef f({given}): return 1\n")
    assert "it is called with (pod, node), so reorder them" in said


def test_one_node_and_all_nodes_are_told_apart(tmp_path: Path) -> None:
    assert problem(tmp_path, "@policy.filter\ndef f(pod, nodes): return 1\n") == (
        "2: filter function 'f' takes (pod, nodes); it is called with (pod, node), once for each "
        "node; @policy.filter_nodes gets all nodes at once"
    )
    assert problem(tmp_path, "@policy.score_nodes\ndef f(p, n: mr.Node): return 1\n") == (
        "2: score_nodes function 'f' takes (p, n); it is called with (pod, nodes), once for all "
        "nodes; @policy.score gets one node at a time"
    )


def test_something_else_than_the_binding(tmp_path: Path) -> None:
    assert problem(tmp_path, "@policy.bind\ndef f(pod): return None\n").endswith(
        "it is called with (binding), so write def f(binding)"
    )


@pytest.mark.parametrize("kind", [kind for kind in WANTED if kind != "bind"])
def test_nobody_awaits_an_async_function(tmp_path: Path, kind: str) -> None:
    said = problem(tmp_path, f"@policy.{kind}\nasync def f({WANTED[kind]}): return None\n")
    assert said == (
        f"2: {kind} function 'f' is async, but nothing awaits it; use def (only a bind "
        "function may be async)"
    )


def test_a_bind_function_may_be_async(tmp_path: Path) -> None:
    assert problems(tmp_path, "@policy.bind\nasync def f(binding): return None\n") == []


@pytest.mark.parametrize("word", ["def", "async def"])
def test_an_answer_is_not_yielded(tmp_path: Path, word: str) -> None:
    said = problem(tmp_path, f"@policy.bind\n{word} f(binding): yield None\n")
    assert said.startswith("2: bind function 'f' yields its result; ")


def test_what_is_called_counts_and_not_what_it_wraps(tmp_path: Path) -> None:
    body = """
import functools

def with_prices(function):
    @functools.wraps(function)
    def called(pod, node):
        return function(pod, node, {})
    return called

@policy.filter
@with_prices
def cheap(pod, node, prices):
    return True

@policy.score(name="half")
@functools.partial
def half(pod, node):
    return 50

class Rack:
    def __call__(self, pod, node):
        return True

policy.filter(name="rack")(Rack())
policy.filter(name="fixed")(functools.partial(lambda rack, pod, node: True, "r1"))
policy.score(name="built-in")(max)
"""
    assert problems(tmp_path, body) == []


def test_objects_and_partials_are_checked_too(tmp_path: Path) -> None:
    body = """\
import functools

class Rack:
    async def __call__(self, pod, node):
        return True

policy.filter(name="rack")(Rack())
policy.filter(name="few")(functools.partial(lambda pod, node: True, None))
"""
    assert [one.partition(";")[0] for one in problems(tmp_path, body)] == [
        "4: filter function 'rack' is async, but nothing awaits it",
        "8: filter function 'few' takes (node)",
    ]


@pytest.mark.parametrize("method", [one for one in HOOKS if one != "attach"])
def test_every_hook_of_a_plugin_is_checked(tmp_path: Path, method: str) -> None:
    kind = HOOKS[method]
    names = called_with(method).names
    others = "".join(
        f"    def {one}(self, *args): return None\n"
        for one in sorted(getattr(kind, "__abstractmethods__", ()))
        if one != method
    )
    head = f"class Mine(hook.{kind.__name__}, hook.PreEnqueue):\n" + others
    if method == "pre_enqueue":
        head = "class Mine(hook.PreEnqueue):\n"
    else:  # some hooks alone are no plugin
        head += "    def pre_enqueue(self, pod): return True\n"
    line = head.count("\n") + 1
    wrong = head + f"    def {method}(self, a, b, c, d, e): return None\npolicy.add(Mine())\n"
    wanted = ", ".join(names)
    assert problem(tmp_path, wrong) == (
        f"{line}: {method} of plugin 'Mine' takes (a, b, c, d, e); it is called with ({wanted}), "
        f"so write def {method}(self{', ' if names else ''}{wanted})"
    )
    right = head + f"    def {method}(self, {wanted}): return None\npolicy.add(Mine())\n"
    assert problems(tmp_path, right) == []
    waiting = right.replace(f"    def {method}(self", f"    async def {method}(self")
    if method in ("pre_bind", "bind", "post_bind"):
        assert problems(tmp_path, waiting) == []
    else:
        assert "may be async)" in problem(tmp_path, waiting)


def test_the_hooks_are_those_of_the_framework() -> None:
    own = {name for name, one in vars(hook).items() if isinstance(one, type)}
    assert {kind.__name__ for kind in HOOKS.values()} <= own
    assert called_with("preempt").names == ("pod", "node", "victims")
    assert called_with("add_pod").names == ("cycle", "pod", "row")


def test_remedies_may_be_yielded(tmp_path: Path) -> None:
    body = """
class Mine(hook.Filter, hook.Remedies):
    def filter(self, pod, node): return True
    def remedies(self, case): yield from ()
policy.add(Mine())
"""
    assert problems(tmp_path, body) == []


def test_plugins_are_told_which_hook_decides_all_nodes(tmp_path: Path) -> None:
    body = "class A(hook.Filter):\n    def filter(self, pod, nodes): return True\npolicy.add(A())\n"
    assert problem(tmp_path, body).endswith("; hook.FilterNodes gets all nodes at once")
    body = """\
class Mine(hook.ScoreNodes, hook.Normalize):
    def score_nodes(self, pod, nodes): return [0] * len(nodes)
    def normalize(self, cycle, scores, nodes): return scores
policy.add(Mine())
"""
    assert problem(tmp_path, body).endswith(
        "it is called with (cycle, nodes, scores), so write def normalize(self, cycle, nodes, "
        "scores)"
    )
