"""Attributes that no pod and no node has, as far as a look at the code can tell."""

import ast
import importlib
import textwrap
from pathlib import Path

import pytest

import mooring
from mooring.framework.policy_checks.attribute_look import attribute_problems
from mooring.framework.policy_checks.sources import Source
from tests.unit.framework.policy_checks.checked_files import problem, problems


def read_in(kind: str, parameters: str, expression: str) -> str:
    return f"@policy.{kind}\ndef f({parameters}):\n    return {expression}\n"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("node.lables", "Node has no attribute 'lables'; did you mean node.labels?"),
        ("pod.nodeName", "Pod has no attribute 'nodeName'; did you mean pod.node_name?"),
        ("pod.affinity", "Pod has no attribute 'affinity'; did you mean pod.spec.affinity?"),
        ("node.conditions", "'conditions'; did you mean node.status.conditions?"),
        ("pod.creation_timestamp", "did you mean pod.metadata.creation_timestamp?"),
        ("pod.spec.nodeSelector", "PodSpec has no attribute 'nodeSelector'; did you mean pod.spec"),
        ("pod.dnsPolicy", "Pod has no attribute 'dnsPolicy'; pod.raw has every field, as JSON"),
        ("pod.spec.dnsPolicy", "the object's raw has every field, as JSON"),
        ("pod.spec.affinity.nodeAffinity", "Affinity has no attribute 'nodeAffinity'; did you "),
        ("pod.containers[0].imagePullPolicy", "Container has no attribute 'imagePullPolicy'"),
        ("[p.lable for p in node.pods]", "Pod has no attribute 'lable'; did you mean p.labels?"),
        ("any(t.kee for t in node.taints)", "Taint has no attribute 'kee'; did you mean t.key?"),
        ("(lambda: node.lables)()", "Node has no attribute 'lables'"),
        ("f'{pod.nam}'", "Pod has no attribute 'nam'; did you mean pod.name?"),
    ],
)
def test_what_does_not_exist_is_told_with_what_was_meant(
    tmp_path: Path, expression: str, said: str
) -> None:
    found = problem(tmp_path, read_in("filter", "pod, node", expression))
    assert found.startswith("3: ")
    assert said in found


@pytest.mark.parametrize(
    ("kind", "parameters", "expression", "said"),
    [
        ("score_nodes", "p, ns", "ns.fre", "Nodes has no attribute 'fre'; did you mean ns.free?"),
        ("score_nodes", "p, ns", "[n.fre for n in ns]", "Node has no attribute 'fre'"),
        ("filter_nodes", "p, ns", "ns[0].lables", "did you mean ns[0].labels?"),
        ("preempt", "p, n, vs", "[v.prioritty for v in vs]", "did you mean v.priority?"),
        ("preempt", "p, n, vs", "vs[0].prio", "Pod has no attribute 'prio'; did you mean"),
        ("bind", "b", "b.nodeName", "Binding has no attribute 'nodeName'; did you mean b.node_"),
        ("bind", "b", "b.node.lables", "Node has no attribute 'lables'"),
        ("bind", "b", "b.zzz", "Binding has no attribute 'zzz'; it has annotate, annotations, k"),
    ],
)
def test_every_kind_of_function_is_looked_at(
    tmp_path: Path, kind: str, parameters: str, expression: str, said: str
) -> None:
    assert said in problem(tmp_path, read_in(kind, parameters, expression))


def test_hooks_helpers_and_variables_are_looked_at(tmp_path: Path) -> None:
    body = """\
class Mine(hook.PreScore, hook.Score):
    def pre_score(self, cycle, nodes):
        cycle.podd
    def score(self, pod, node):
        return helper(pod)

policy.add(Mine())

def helper(one: mr.Pod, other: "mr.Node | None" = None, third: int = 0):
    spec = one.spec
    for each in one.containers:
        each.imag
    spec.tolerance
    third.whatever
    other.whatever

class Elsewhere:
    def method(self, node: "mr.Node"):
        return node.lables
"""
    assert [one.partition(";")[0] for one in problems(tmp_path, body)] == [
        "3: Cycle has no attribute 'podd'",
        "12: Container has no attribute 'imag'",
        "13: PodSpec has no attribute 'tolerance'",
        "19: Node has no attribute 'lables'",
    ]


RIGHT = {
    "rebound": "pod = pod.labels\nreturn pod.lable",
    "rebound by a loop": "for pod in [1]:\n    pod.lable",
    "rebound by with": "with open('x') as pod:\n    pass\nreturn pod.lable",
    "rebound by an error": "try:\n    pass\nexcept ValueError as pod:\n    pod.lable",
    "rebound by an import": "import os as pod\nreturn pod.lable",
    "rebound by a walrus": "return (pod := node.labels) and pod.lable",
    "rebound by a walrus inside": "[pod := x for x in ()]\nreturn pod.lable",
    "rebound by a function": "def pod(): ...\nreturn pod.lable",
    "rebound by a class": "class pod: ...\nreturn pod.lable",
    "rebound by a pattern": "match node.name:\n    case str() as pod:\n        return pod.lable",
    "rebound by a sequence": "match node.pods:\n    case [*pod]:\n        return pod.lable",
    "rebound by a mapping": "match node.labels:\n    case {**pod}:\n        return pod.lable",
    "rebound from inside": "def g():\n    nonlocal pod\n    pod = 1\ng()\nreturn pod.lable",
    "deleted": "del pod\nreturn pod.lable",
    "changed": "pod += 1\nreturn pod.lable",
    "a parameter inside": "return (lambda pod: pod.lable)(1)",
    "a parameter of a function": "def g(pod):\n    return pod.lable\nreturn g(1)",
    "a variable of a comprehension": "return [pod.lable for pod in (1, 2)]",
    "variables of a comprehension": "return [pod.lable for pod, node in ()]",
    "a class inside": "class A:\n    pod = 1\n    x = pod.lable\nreturn A",
    "tested for its class": "if isinstance(pod, dict):\n    return pod.lable",
    "tested for the attribute": "if hasattr(pod, 'lable'):\n    return pod.lable",
    "matched": "match pod:\n    case dict():\n        return pod.lable",
    "caught": "try:\n    return pod.lable\nexcept AttributeError:\n    return None",
    "suppressed": "import contextlib\nwith contextlib.suppress(Exception):\n    pod.lable",
    "a default": "return getattr(pod, 'lable', None)",
    "assigned": "pod.lable = 1",
    "unknown contents": "return pod.labels.whatever",
    "unknown amounts": "return node.free.whatever",
    "unknown elements": "for one in node.images:\n    one.whatever",
    "two meanings": "one = node\none = pod\nreturn one.lable",
    "a pair": "one, two = pod, node\nreturn one.lable",
    "one or the other": "one = pod if node else 1\nreturn one.lable",
    "special names": "return pod.__class__.__name__, pod.__dict__",
    "a method": "return node.labels.get('x'), pod.placed, pod.raw['spec'], node.usage.used",
    "every convenience": "return pod.key, pod.uid, pod.deleting, node.ready, node.capacity",
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_not_plain_is_taken_for_right(tmp_path: Path, name: str) -> None:
    body = textwrap.indent(RIGHT[name], "    ")
    assert problems(tmp_path, f"@policy.filter\ndef f(pod, node):\n{body}\n") == []


def test_attributes_that_a_file_may_add_are_taken_for_right(tmp_path: Path) -> None:
    body = "def mark(pod): vars(pod)['seen'] = 1\n" + read_in("filter", "pod, node", "pod.seen")
    assert problems(tmp_path, body) == []
    body = "NEW = hasattr(mr.Node, 'devices')\n" + read_in("filter", "pod, node", "node.devices")
    assert problems(tmp_path, body) == []


def test_a_function_of_two_kinds_may_get_two_things(tmp_path: Path) -> None:
    body = """
def f(pod, some):
    return some.names, some.taints

policy.filter(name="one")(f)
policy.filter_nodes(name="all")(f)
"""
    assert problems(tmp_path, body) == []


def test_functions_of_other_files_are_looked_at_there(tmp_path: Path) -> None:
    other = tmp_path / "neighbour_with_rules.py"
    other.write_text("def fits(pod, node):\n    return node.lables\n")
    (tmp_path / "policy.py").write_text(
        "import mooring as mr\n"
        "from neighbour_with_rules import fits\n"
        "policy = mr.Policy('p')\n"
        "policy.filter(fits)\n"
    )
    with pytest.raises(mooring.PolicyFileError) as caught:
        mooring.load(tmp_path / "policy.py")
    assert str(caught.value) == (
        f"{other}, line 2: Node has no attribute 'lables'; did you mean node.labels?"
    )


def test_classes_of_ones_own_may_have_any_attribute(tmp_path: Path) -> None:
    body = """
class Rich(mr.Pod):
    def __getattr__(self, name): return name

def helper(pod: Rich): return pod.anything

@policy.filter
def f(pod, node): return helper(pod)
"""
    assert problems(tmp_path, body) == []


def test_a_very_long_expression_is_no_harm(tmp_path: Path) -> None:
    long = " + ".join(["pod.priority"] * 900)
    assert problems(tmp_path, read_in("score", "pod, node", long)) == []


def test_a_function_without_a_file_is_taken_for_right(tmp_path: Path) -> None:
    body = "exec('def f(pod, node): return pod.lable')\npolicy.filter(f)\n"
    assert problems(tmp_path, body) == []


def test_there_is_no_false_alarm_about_moorings_own_code() -> None:
    root = Path(mooring.__file__).parent
    found = []
    for file in root.rglob("*.py"):
        name = ".".join(["mooring", *file.relative_to(root).with_suffix("").parts])
        if name.endswith(("__main__", "__init__")):
            continue
        names = vars(importlib.import_module(name))
        found += attribute_problems(Source(name, ast.parse(file.read_bytes())), {}, names)
    assert found == []


#: Policies that work: the attribute is never read, or it is there when it is.
NEVER_READ = {
    "if False": "if False:\n    pod.lable",
    "if 0": "if 0:\n    pod.lable\nelse:\n    return True",
    "else of True": "if True:\n    return True\nelse:\n    return pod.lable",
    "while False": "while False:\n    pod.lable",
    "for types alone": "if typing.TYPE_CHECKING:\n    pod.lable",
    "a switch": "if DEBUG:\n    return pod.lable",
    "a switch, the other way": "if not DEBUG:\n    return True\nreturn pod.lable",
    "a switch that raises": "if not DEBUG:\n    raise ValueError\nreturn pod.lable",
    "a switch and more": "if pod.name and DEBUG:\n    return pod.lable",
    "a switch in an expression": "return DEBUG and pod.lable",
    "a switch in a choice": "return pod.lable if DEBUG else True",
    "another version": "if mr.__version__ >= '999':\n    return pod.lable",
    "another version in elif": "if pod.name:\n    pass\nelif mr.__version__ == '0':\n    pod.lable",
    "the environment": "import os\nif os.environ.get('NEVER'):\n    return pod.lable",
    "a switch in a comprehension": "return [p.lable for p in node.pods if DEBUG]",
    "asserted": "assert DEBUG\nreturn pod.lable",
    "after return": "return True\nreturn pod.lable",
    "after raise": "raise ValueError\npod.lable",
    "after continue": "for one in node.pods:\n    continue\n    one.lable",
    "after a choice that returns": "if node:\n    return 1\nelse:\n    return 2\nreturn pod.lable",
    "looked for": "return pod.lable if 'lable' in dir(pod) else True",
    "looked for with builtins": "return builtins.hasattr(pod, 'lable') and pod.lable",
    "looked for elsewhere": "return pod.lable if has(pod, 'lable') else True",
    "looked for on its class": "return pod.lable if hasattr(type(pod), 'lable') else True",
    "added to its class": "type(pod).lable = 1\nreturn pod.lable",
    "added to the class": "mr.Pod.lable = property(lambda pod: pod.labels)\nreturn pod.lable",
}


@pytest.mark.parametrize("name", NEVER_READ)
def test_what_may_never_be_read_is_taken_for_right(tmp_path: Path, name: str) -> None:
    head = "import builtins, typing\nDEBUG = False\ndef has(one, name): return hasattr(one, name)\n"
    body = textwrap.indent(NEVER_READ[name], "    ")
    assert problems(tmp_path, f"{head}@policy.filter\ndef f(pod, node):\n{body}\n") == []


@pytest.mark.parametrize(
    "body",
    [
        "if pod.name == 'x':\n    return pod.lable",
        "if not pod.labels:\n    return True\nreturn pod.lable",
        "while True:\n    return pod.lable",
        "if True:\n    return pod.lable",
        "if False:\n    pass\nelse:\n    return pod.lable",
        "if DEBUG:\n    pass\nreturn pod.lable",
        "for one in node.pods:\n    if one.name:\n        continue\n    one.lable",
        "return pod.name and pod.lable",
        "return pod.lable and DEBUG",
    ],
)
def test_what_is_read_for_some_pods_is_told(tmp_path: Path, body: str) -> None:
    text = f"DEBUG = False\n@policy.filter\ndef f(pod, node):\n{textwrap.indent(body, '    ')}\n"
    assert "Pod has no attribute 'lable'" in problem(tmp_path, text)


def test_a_neighbour_may_add_attributes(tmp_path: Path) -> None:
    (tmp_path / "neighbour_that_marks.py").write_text(
        "def mark(pod):\n    object.__setattr__(pod, 'seen', 1)\n"
    )
    body = """\
from neighbour_that_marks import mark
@policy.filter
def f(pod, node):
    mark(pod)
    return pod.seen
"""
    assert problems(tmp_path, body) == []


def test_a_class_of_ones_own_may_be_given_to_a_helper(tmp_path: Path) -> None:
    body = """
class Ranked(mr.Pod):
    @property
    def rank(self): return 1

def helper(pod: mr.Pod): return pod.rank

@policy.filter
def f(pod, node): return True
"""
    assert problems(tmp_path, body) == []
