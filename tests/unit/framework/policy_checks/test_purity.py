"""Which functions of policies surely read nothing but their arguments, and which may not."""

import sys
from pathlib import Path

import pytest

import mooring as mr
from mooring.framework.policy_checks.pure_reads import DECLARED, PARTS, TYPES
from mooring.framework.policy_checks.purity import Purity, rule_purity
from mooring.framework.policy_checks.sources import Sources
from mooring.model.meta import KubeStruct

HEAD = """\
import math
import os
import random
import time
from random import random as luck

import mooring as mr

policy = mr.Policy("p")
GPU = "nvidia.com/gpu"
NAMES = ("a", "b", ("c", 1))
FROZEN = frozenset(("a", "b"))
LIMIT = 5
TABLE = {"a": 1}
LISTED = ["a"]
HIDDEN = ("a", [])
TWICE = 1
TWICE = 2
RAISED = 1
dice = random.Random(1)


class Settings:
    limit = 1


class Text(str):
    pass


TEXT = Text("a")


def raise_it():
    global RAISED
    RAISED += 1


def gpus(pod):
    return pod.requests[GPU]


def limited(amount, most=LIMIT):
    return min(amount, most)


def remembering(name, seen=[]):
    seen.append(name)
    return len(seen)


def timed(node):
    return time.time() > 3


def once(pod):
    return twice(pod)


def twice(pod):
    return once(pod)


def all_of(node):
    return node.pods


"""


def judged(folder: Path, body: str, option: str = "") -> Purity:
    """What is known of a function with this body."""
    file = folder / "policy.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    file.write_text(f"{HEAD}@policy.filter{option}\ndef f(pod, node):\n{lines}")
    (rule,) = mr.load(file).filters
    return rule_purity(rule, Sources())


PURE = {
    "return True": (),
    "return None": (),
    "pass": (),
    "return node.name == 'a'": (),
    "return node.labels.get('zone') in NAMES": (),
    "return node.raw['spec']['providerID'].startswith('x')": (),
    "return node.annotations.get('a', 'b') != GPU": (),
    "return pod.namespace in FROZEN": ("namespace",),
    "return pod.labels.get('team') == node.labels.get('team')": ("labels/team",),
    "return pod.labels[GPU] == 'x'": ("labels/nvidia.com/gpu",),
    "return GPU in pod.annotations": ("annotations/nvidia.com/gpu",),
    "return len(pod.labels) < LIMIT": ("labels",),
    "key = 'a'\nreturn pod.labels.get(key)": ("labels",),
    "return node.free[GPU] >= pod.requests[GPU]": ("requests/nvidia.com/gpu",),
    "return node.free['cpu'] >= pod.requests.get('cpu', 0)": ("requests/cpu",),
    "return all(node.free[n] >= a for n, a in pod.requests.items())": ("requests",),
    "return mr.accept_if(pod.priority > 5, 'no')": ("priority",),
    "return mr.reject('no', unresolvable=True) if node.unschedulable else mr.accept()": (),
    "t = mr.untolerated(node.taints, pod.tolerations)\nreturn f'{t.key} no' if t else None": (
        "tolerations",
    ),
    "return mr.parse_quantity('1Gi').value < node.free['memory']": (),
    "return math.ceil(node.used['cpu'] / 1000) < 5": (),
    "return any(one.image.endswith('x') for one in pod.containers)": ("containers",),
    "return pod.spec.host_network is None or pod.spec.affinity is None": (
        "spec/affinity",
        "spec/host_network",
    ),
    "return [o.kind for o in pod.metadata.owner_references or ()] == ['Job']": (
        "metadata/owner_references",
    ),
    "return len(node.pods) < LIMIT": (),
    "return not node.pods": (),
    "return sum(o.requests[GPU] for o in (pod, *node.pods)) < 3": ("requests/nvidia.com/gpu",),
    "mine = [o for o in node.pods if o.namespace == pod.namespace]\nreturn len(mine) < 2": (
        "namespace",
    ),
    "return sum(gpus(o) for o in [pod] + list(node.pods)) <= 3": ("requests/nvidia.com/gpu",),
    "return len({o.labels.get('app') for o in node.pods}) < 3": ("labels/app",),
    "n = 0\nfor o in node.pods:\n    if o.priority > 1:\n        n += 1\nreturn n < 3": (
        "priority",
    ),
    "c = {}\nfor o in node.pods:\n    c[o.namespace] = c.get(o.namespace, 0) + 1\nreturn c": (
        "namespace",
    ),
    "c = {'a': 0}\nfor o in node.pods:\n    c['a'] += 1\nreturn c": (),
    "c = set()\nfor o in node.pods:\n    c.add(o.namespace)\nreturn len(c)": ("namespace",),
    "return limited(len(node.pods)) < 5": (),
    "return len(all_of(node)) < 5": (),
    "n = 3\nwhile n:\n    n -= 1\n    if n == 2:\n        continue\n    break\nreturn n": (),
    "if (free := node.free['cpu']) > 3:\n    return free\nreturn 0": (),
    "return max((o.priority for o in node.pods), default=0) < pod.priority": ("priority",),
    "return [pod.namespace for pod in node.pods] == []": ("namespace",),
    "a, b = 'x', 'y'\nreturn ','.join(sorted((a, b))).upper()": (),
    "return isinstance(node.raw.get('a'), str)": (),
    "return 'x' if LIMIT > 3 and node.name else NAMES[0]": (),
    "x = set()\nx.update(t.key for t in node.taints)\nreturn ','.join(k for k in x)": (),
    "return f'{node.used[GPU]:.3f} {node.name:>5} {node.name:}' > 'x'": (),
    "x: int = 3\nreturn [i for i, _ in enumerate(node.taints)][:x]": (),
}


@pytest.mark.parametrize("body", PURE)
def test_surely_pure(body: str, tmp_path: Path) -> None:
    found = judged(tmp_path, body)
    assert found.why == ""
    assert found.reads is not None
    assert sorted("/".join(one) if len(one) == 2 else one[0] for one in found.reads) == [
        *PURE[body]
    ]


IMPURE = {
    # a clock, chance, the process, other state
    "return time.time() > 3": "it calls time.time",
    "return random.random() > 0.5": "it calls random.random",
    "return luck() > 0.5": "it calls luck",
    "return dice.random() > 0.5": "it calls dice.random",
    "return os.environ.get('A') == 'b'": "it reads os.environ",
    "return os.environ['A'] == 'b'": "it reads os.environ",
    "return open('/etc/hostname').read() == 'x'": "it calls open('/etc/hostname').read",
    "return TABLE['a'] > 0": "TABLE can change",
    "return 'a' in LISTED": "LISTED can change",
    "return 'a' in HIDDEN": "HIDDEN can change",
    "return TWICE > 1": "TWICE can change",
    "return RAISED > 1": "RAISED can change",
    "return TEXT == 'a'": "TEXT can change",
    "return Settings.limit > 1": "Settings can change",
    "return f.limit > 1": "f can change",
    "return sys.maxsize > 1": "sys can change",
    "global LIMIT\nLIMIT = 3\nreturn True": "it uses global",
    "import time\nreturn time.time()": "it uses import",
    "return remembering(node.name) > 3": "a default value can change",
    "return timed(node)": "it calls time.time",
    "return once(pod)": "too deeply",
    "return (lambda: 1)()": "it calls lambda: 1",
    "return max(node.pods, key=lambda o: o.priority)": "it calls max with key",
    # what tells runs and objects apart
    "return id(node) > 3": "it calls id",
    "return hash(node.name) > 3": "it calls hash",
    "return f'{(i for i in node.labels)}' == 'x'": "is an iterator",
    "return str(zip(node.labels)) == 'x'": "it calls str",
    "return node.labels is pod.labels": "it compares with 'is'",
    "return next(iter(node.labels))": "it calls iter",
    "return eval('1')": "it calls eval",
    "return getattr(node, 'na' + 'me')": "it calls getattr",
    "return vars()": "it calls vars",
    "return '{0.pods}'.format(node)": "it calls '{0.pods}'.format",
    "return node.name.__class__.__name__": "it reads node.name.__class__",
    "return node.labels.get": "it reads node.labels.get",
    "return f'{pod.labels.values}' > 'x'": "it reads pod.labels.values",
    "return node.name.partition == 3": "it reads node.name.partition",
    "x = []\nx.append(i for i in node.labels)\nreturn str(x)": "it calls x.append",
    "x = {}\nx.setdefault('a', zip(node.labels))\nreturn str(x)": "it calls x.setdefault",
    "return math.__loader__('x')": "it calls math.__loader__",
    "return f'{node.used[GPU]:n}' == '1,000'": "as the locale says",
    "return f'{node.used[GPU]:{node.name}}' == '1,000'": "as the locale says",
    "return len": "len can change",
    # what pods of one template do not share, or what changes beside the rows
    "return pod.name == 'a'": "it reads pod.name",
    "return pod.uid == 'a'": "it reads pod.uid",
    "return pod.key == 'a'": "it reads pod.key",
    "return pod.raw['spec']": "it reads pod.raw",
    "return pod.status.phase": "it reads pod.status",
    "return pod.phase": "it reads pod.phase",
    "return pod.metadata.name": "it reads pod.metadata.name",
    "return pod.spec.node_name": "it reads pod.spec.node_name",
    "return pod.spec.volumes": "it reads pod.spec.volumes",
    "return pod.node_name": "it reads pod.node_name",
    "return any('x' in o.annotations for o in node.pods)": "it reads o.annotations",
    "return any(o.annotations.get('x') for o in node.pods)": "it reads o.annotations",
    "return any(o.annotations for o in (pod, pod))": "it reads o.annotations",
    "return any(o.deleting for o in node.pods)": "it reads o.deleting",
    "return any(o == pod for o in node.pods)": "o is a pod on the node",
    "return pod in node.pods": "pod is the pod",
    "return pod.spec == node.raw": "pod.spec is a pod's spec",
    "return len({o.spec for o in node.pods})": "o.spec is a pod's spec",
    "return f'{pod}'": "pod is the pod",
    "return str(pod)": "it calls str",
    "return set(node.pods)": "it calls set",
    "return sorted(node.pods)": "it calls sorted",
    "return {o.namespace: o for o in node.pods}": "o is a pod on the node",
    "return node.pods[0].namespace": "node.pods is pods",
    "return node.pods[-1:]": "node.pods is pods",
    "first, *_ = node.pods\nreturn first.namespace": "it changes (first, *_)",
    "return node.usage": "it reads node.usage",
    "return node": "it returns the node",
    "return [pod]": "it returns pods",
    "return node.pods or 1": "node.pods is pods",
    "x = pod\nfor o in node.pods:\n    x = o\nreturn x.priority": "x holds different things",
    "for pod in node.pods:\n    pass\nreturn pod.annotations": "pod holds different things",
    "found = []\nfor o in node.pods:\n    found.append(o)\nreturn found": "it calls found.append",
    # what it was given must stay as it is
    "node.labels['a'] = 'b'\nreturn True": "it changes node.labels",
    "node.labels.update(a='b')\nreturn True": "it calls node.labels.update",
    "x = node.taints\nx.append(1)\nreturn True": "it calls x.append",
    "x = node.taints\nx += [1]\nreturn True": "it changes x",
    "x = [node.taints]\nx[0] += [1]\nreturn True": "it changes x[0]",
    "x = sum([], node.taints)\nx += [1]\nreturn True": "it changes x",
    "x = []\nx = node.taints\nx += [1]\nreturn True": "it changes x",
    "for x in [node.taints]:\n    x.append(1)\nreturn True": "it calls x.append",
    "pod.requests['cpu'] = 3\nreturn True": "it changes pod.requests",
    "node.seen = 1\nreturn True": "it changes node.seen",
    "f.seen = 1\nreturn True": "it changes f.seen",
    "del node.labels['a']\nreturn True": "it uses delete",
    # what is not followed
    "try:\n    return node.free['cpu'] / 0\nexcept ZeroDivisionError:\n    return 0": "it uses try",
    "with open('x'):\n    return 1": "it uses with",
    "def g():\n    return 1\nreturn g()": "it uses functiondef",
    "match node.name:\n    case 'a':\n        return 1\nreturn 2": "it uses match",
    "return [y := 1 for _ in node.labels]": "it uses := in a comprehension",
    "if node.name:\n    late = 1\nelse:\n    return missing\nmissing = late": "missing cannot be",
    "return limited(*(1, 2))": "it calls limited",
    "return mr.load('x.py')": "it calls mr.load",
    "return mr.nothing": "it reads mr.nothing",
    "return pod.labels.get('a', default=time.time())": "it calls pod.labels.get",
    "print(node.name)\nreturn True": "it calls print",
}  # fmt: skip


@pytest.mark.parametrize("body", IMPURE)
def test_perhaps_not_pure(body: str, tmp_path: Path) -> None:
    found = judged(tmp_path, body)
    assert found.reads is None
    assert IMPURE[body] in found.why
    # Its author may know better.
    assert judged(tmp_path, body, "(pure=True)").reads == DECLARED


def test_long_expressions_cost_little(tmp_path: Path) -> None:
    assert (
        judged(tmp_path, f"return {' + '.join(['1'] * 100)} + len(node.name)").reads == frozenset()
    )
    endless = judged(tmp_path, f"return {' + '.join(['1'] * 600)}")
    assert (endless.reads, endless.why) == (None, "it is too long to be followed")


@pytest.mark.parametrize(
    ("definition", "why"),
    [
        ("policy.filter(name='f')(lambda pod, node: True)", "its source is not at hand"),
        ("@policy.filter\ndef f(*args):\n    return True", "its parameters cannot be followed"),
        ("@policy.filter\ndef f(pod, node, *, a=1):\n    return True", "its parameters cannot"),
        ("@policy.filter\ndef f(pod, node, a={}):\n    return True", "a default value can change"),
        (
            (
                "import functools\n@policy.filter\n@functools.lru_cache\ndef f(pod, node):\n"
                "    return True"
            ),
            "it is not a function written in Python",
        ),
        ("policy.filter(name='f')(''.startswith)", "it is not a function written in Python"),
        (
            (
                "def often(g):\n    def f(pod, node):\n        return g(pod, node)\n    return f\n"
                "@policy.filter\n@often\ndef f(pod, node):\n    return time.time()"
            ),
            "it calls time.time",
        ),
        (
            (
                "def list(x):\n    return x\n@policy.filter\ndef f(pod, node):\n"
                "    x = list(node.taints)\n    x.append(1)\n    return len(x) < 9"
            ),
            "it calls x.append",
        ),
        (
            (
                "__LIMIT = _P__LIMIT = 3\nclass P:\n    @policy.filter\n    def f(pod, node):\n"
                "        return len(node.pods) < __LIMIT"
            ),
            "__LIMIT can change",
        ),
        (
            (
                "__builtins__ = {**vars(__import__('builtins')), 'len': time.time}\n"
                "@policy.filter\ndef f(pod, node):\n    return len() < 3"
            ),
            "it calls len",
        ),
        (
            (
                "def make(known):\n    @policy.filter\n    def f(pod, node):\n        return late\n"
                "    if known:\n        late = 1\nmake(False)"
            ),
            "late can change",
        ),
        (
            (
                "class Any(type):\n    def __eq__(cls, other):\n        return True\n"
                "    __hash__ = type.__hash__\n"
                "class Odd(metaclass=Any):\n    def __iter__(self):\n        return iter(())\n"
                "ODD = Odd()\n@policy.filter\ndef f(pod, node):\n    return ODD == 1"
            ),
            "ODD can change",
        ),
        ("exec('@policy.filter\\ndef f(pod, node):\\n    return True')", "its source is not"),
        ("@policy.filter_nodes\ndef f(pod, nodes):\n    return None", "it gets all nodes at once"),
        (
            (
                "class F(mr.hook.Filter):\n    def filter(self, pod, node):\n        return True\n"
                "policy.add(F())"
            ),
            "it belongs to a plugin",
        ),
    ],
)
def test_what_else_may_be_a_function(definition: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(f"{HEAD}{definition}\n")
    (rule,) = mr.load(file).filters
    found = rule_purity(rule, Sources())
    assert found.reads is None
    assert why in found.why


def test_the_code_that_runs_counts_and_not_the_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(f"{HEAD}@policy.filter\ndef f(pod, node):\n    return time.time() > 3\n")
    (rule,) = mr.load(file).filters
    file.write_text(f"{HEAD}@policy.filter\ndef f(pod, node):\n    return True\n")
    assert rule_purity(rule, Sources()).why == "its source is not at hand"


def test_a_file_that_no_longer_compiles_is_no_source(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(f"{HEAD}@policy.filter\ndef f(pod, node):\n    return True\n")
    (rule,) = mr.load(file).filters
    file.write_text(f"{file.read_text()}return 3\n")
    assert rule_purity(rule, Sources()).why == "its source is not at hand"


def test_nobody_is_warned_twice(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(f"{HEAD}@policy.filter\ndef f(pod, node):\n    return node.name is 'a'\n")
    with pytest.warns(SyntaxWarning, match='"is" with a literal'):
        (rule,) = mr.load(file).filters
    assert "it compares with 'is'" in rule_purity(rule, Sources()).why


def test_functions_that_call_each_other_often_are_followed_once(tmp_path: Path) -> None:
    helpers = "".join(
        f"def h{one}(x):\n    return sum(({', '.join([f'h{one + 1}(x)'] * 200)}))\n"
        for one in range(2)
    )
    file = tmp_path / "policy.py"
    file.write_text(
        f"{HEAD}{helpers}def h2(x):\n    return x + LIMIT\n"
        "@policy.filter\ndef f(pod, node):\n    return h0(len(node.name))\n"
    )
    (rule,) = mr.load(file).filters
    found = rule_purity(rule, Sources())
    assert found.reads == frozenset()
    # The code and the default values of each, and the names that they use.
    assert len(found.pins) < 20


def test_no_attribute_that_may_be_read_of_a_value_is_a_method() -> None:
    kinds = (*TYPES, bytes, range, mr.Verdict, mr.Quantity, *parts(KubeStruct))
    assert [
        (kind, name) for kind in kinds for name in PARTS if callable(getattr(kind, name, None))
    ] == []


def parts(kind: type[KubeStruct]) -> list[type[KubeStruct]]:
    """All parts of the model."""
    return [kind, *(more for one in kind.__subclasses__() for more in parts(one))]


def test_closures_with_constants_are_followed(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(
        f"{HEAD}def make(limit):\n    @policy.filter(name=f'l{{len(str(limit))}}')\n"
        "    def f(pod, node):\n        return len(node.pods) < limit\n\nmake(3)\nmake([3, 4])\n"
    )
    first, second = mr.load(file).filters
    assert rule_purity(first, Sources()).reads == frozenset()
    assert "limit can change" in rule_purity(second, Sources()).why


def test_nobody_imports_what_is_only_looked_at(tmp_path: Path) -> None:
    before = set(sys.modules)
    judged(tmp_path, "import antigravity\nreturn True")
    assert "antigravity" not in set(sys.modules) - before
