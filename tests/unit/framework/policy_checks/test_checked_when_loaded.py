"""Decorators that are none, policies without functions, and how many problems are told."""

from pathlib import Path

import pytest

import mooring as mr
from mooring.config.registry import Registry
from tests.unit.framework.policy_checks.checked_files import problem, problems

FUNCTION = "def f(pod, node): return True\n"


@pytest.mark.parametrize(
    ("decorator", "said"),
    [
        ("filters", "@policy.filters is not a decorator; did you mean @policy.filter?"),
        ("scores", "@policy.scores is not a decorator; did you mean @policy.score?"),
        ("fliter", "@policy.fliter is not a decorator; did you mean @policy.filter?"),
        ("score_node", "@policy.score_node is not a decorator; did you mean @policy.score_nodes?"),
        ("predicate", "@policy.predicate is not a decorator; did you mean @policy.filter?"),
        (
            "priorities(weight=1)",
            "@policy.priorities is not a decorator; did you mean @policy.score?",
        ),
        ("rules", "@policy.rules is not a decorator; did you mean @policy.filter?"),
        ("add", "write policy.add(...) below the class, with an instance of it"),
        (
            "filters.append",
            "@policy.filters.append is not a decorator; did you mean @policy.filter?",
        ),
        (
            "zzz",
            (
                "the decorators are @policy.filter, @policy.filter_nodes, @policy.score, "
                "@policy.score_n"
            ),
        ),
        ("filter(weight=2)", "@policy.filter has no option 'weight'; it has name, reason, unreso"),
        ("score(wieght=2)", "@policy.score has no option 'wieght'; did you mean weight?"),
    ],
)
def test_a_decorator_that_is_none(tmp_path: Path, decorator: str, said: str) -> None:
    found = problem(tmp_path, f"x = 1\n\n@policy.{decorator}\n{FUNCTION}")
    assert found.startswith("3: @policy.")
    assert said in found


def test_a_decorator_that_is_none_in_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("wrongly_decorated.py").write_text(
        f"import mooring\nmine = mooring.Policy('p')\n@mine.filters\n{FUNCTION}"
    )
    with pytest.raises(mr.PolicyFileError) as caught:
        mr.load("wrongly_decorated")
    assert str(caught.value) == (
        "wrongly_decorated.py, line 3: @mine.filters is not a decorator; did you mean @mine.filter?"
    )


def test_other_errors_in_a_decorator_are_told_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(f"@len\n{FUNCTION}")
    with pytest.raises(mr.PolicyFileError, match=r"line 1 raised TypeError: object of type 'func"):
        mr.load(file)


def test_a_policy_of_ones_own_class_may_have_decorators_of_its_own(tmp_path: Path) -> None:
    body = f"""
class Mine(mr.Policy):
    def rejects(self, function): return self.filter(function)

mine = Mine("mine")
policy = None

@mine.rejects
{FUNCTION}"""
    assert problems(tmp_path, body) == []


def test_a_misspelt_name_of_moorings_is_told_with_the_right_one(tmp_path: Path) -> None:
    for text, meant in (("import mooring\nmooring.Polcy('p')\n", "Policy"),
                        ("import mooring\nmooring.Policy('p').scoer(len)\n", "score")):  # fmt: skip
        file = tmp_path / "policy.py"
        file.write_text(text)
        with pytest.raises(mr.PolicyFileError, match=rf"line 2 raised .*; did you mean {meant}\?"):
            mr.load(file)


@pytest.mark.parametrize("given", ["Mine", "Mine.filter", "'Mine'"])
def test_something_else_than_a_plugin_cannot_be_added(tmp_path: Path, given: str) -> None:
    body = f"class Mine(hook.Filter):\n    {FUNCTION}\npolicy.add({given})\n"
    said = problem(tmp_path, body)
    assert said.startswith("4: policy.add takes a plugin; use policy.add(")
    assert ("(Mine())" in said) == (given == "Mine")


def test_a_policy_without_functions(tmp_path: Path) -> None:
    said = problem(tmp_path, FUNCTION)
    assert said == (
        "0: policy 'p' has no functions; decorate one with @policy.filter or @policy.score, or add "
        "a plugin with policy.add"
    )


def test_a_policy_that_was_changed_from_outside(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(
        f"import mooring as mr\n{FUNCTION}policy = mr.Policy('p')\npolicy.filters.append(f)\n"
    )
    with pytest.raises(
        mr.PolicyFileError,
        match=(
            r"py: policy 'p' has been modified from "
            r"outside; dec"
        ),
    ):
        mr.load(file)


def test_a_plugin_that_hides_its_hooks_is_no_harm(tmp_path: Path) -> None:
    body = """
class Odd(hook.PreEnqueue, hook.Permit):
    def pre_enqueue(self, pod): return True
    @property
    def permit(self): raise RuntimeError

policy.add(Odd())
"""
    assert problems(tmp_path, body) == []


def test_a_policy_with_nothing_but_a_plugin_is_right(tmp_path: Path) -> None:
    body = "class A(hook.PreEnqueue):\n    def pre_enqueue(self, pod): return None\npolicy.add(A())"
    assert problems(tmp_path, body) == []


def test_all_problems_are_known_and_the_first_is_told(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(
        "import mooring as mr\n"
        "policy = mr.Policy('p')\n"
        "@policy.score\n"
        "def second(pod): return 1\n"
        "@policy.filter\n"
        "def third(pod, node): return node.lables\n"
        "@policy.filter\n"
        "async def fourth(pod, node): return True\n"
    )
    with pytest.raises(mr.PolicyFileError) as caught:
        mr.load(file)
    assert [one.partition(": ")[0] for one in caught.value.problems] == [
        f"{file}, line {line}" for line in (4, 6, 8)
    ]
    more = f" (and 2 more problems: moor check {file} lists all)"
    assert str(caught.value) == caught.value.problems[0] + more


def test_a_plugin_of_a_configuration_is_checked_when_it_is_made() -> None:
    class Wrong(mr.hook.Filter):
        def filter(self, pod: mr.Pod) -> bool:  # type: ignore[override]
            return True

    registry = Registry()
    registry.add(Wrong)
    with pytest.raises(mr.InputError) as caught:
        registry.make("Wrong")
    text = str(caught.value)
    assert "test_checked_when_loaded.py, line " in text
    assert "filter of plugin 'Wrong' takes (pod); it is called with (pod, node)" in text
