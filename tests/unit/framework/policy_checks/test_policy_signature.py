"""Policies whose results are kept between decisions, and those that are called every time."""

import builtins
import math
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType

import pytest
from msgspec.structs import replace

import mooring as mr
from mooring import Pod, hook
from mooring.errors import PluginError
from mooring.framework.policy_plugin import PolicySign, policy_plugin
from mooring.framework.runtime import Runtime
from mooring.framework.scope import Scope
from mooring.testing import make_node, make_pod
from tests.unit.framework.decisions.test_equivalence_classes import Fits
from tests.unit.framework.test_runtime import chosen, runtime
from tests.unit.scheduler.world import World

ROOT = Path(__file__).parents[4]
NODES = "abcdefgh"


@pytest.fixture
def written(tmp_path: Path) -> "Written":
    return Written(tmp_path)


class Written:
    """Policies that are written into a file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "kept.py"

    def policy(self, body: str) -> mr.Policy:
        self.file.write_text(f"import mooring as mr\npolicy = mr.Policy('p')\n{body}")
        return mr.load(self.file)

    @property
    def module(self) -> ModuleType:
        return sys.modules["mooring_policy_kept"]


def of(policy: mr.Policy) -> Runtime:
    return runtime(policy_plugin(policy), nodes=NODES)


def pod(number: int, **options: object) -> Pod:
    return make_pod(f"p{number}", **options)  # type: ignore[arg-type]


@contextmanager
def counted(*names: str) -> Iterator[Counter[str]]:
    """How often functions of a policy are called, seen from outside."""
    calls: Counter[str] = Counter()

    def look(frame: FrameType, event: str, _: object) -> None:
        ours = frame.f_globals.get("__name__", "").startswith("mooring.")
        if event == "call" and frame.f_code.co_name in names and not ours:
            calls[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield calls
    finally:
        sys.setprofile(before)


FILTER = """
@policy.filter
def f(pod, node):
    return node.name == 'a' or {}
"""
CHANGING = {
    "clock": "import time\n" + FILTER.format("time.time() > 1e6"),
    "chance": "import random\n" + FILTER.format("random.random() > 0.5"),
    "environment": "import os\n" + FILTER.format("os.environ.get('OPEN') == '1'"),
    "table": "STATE = {'open': False}\n" + FILTER.format("STATE['open']"),
    "listed": "STATE = []\n" + FILTER.format("len(STATE) > 0"),
    "constant": "OPEN = False\n" + FILTER.format("OPEN"),
    "attribute": FILTER.format("getattr(f, 'open', False)"),
    "helper": "def is_open():\n    return False\n" + FILTER.format("is_open()"),
    "default": "def is_open(now=False):\n    return now\n" + FILTER.format("is_open()"),
    "code": "def is_open():\n    return False\n" + FILTER.format("is_open()"),
    "builtin": FILTER.format("len(node.name) == 2"),
    "real builtin": FILTER.format("abs(len(node.name)) == 2"),
    "module": "import math\n" + FILTER.format("math.gamma(len(node.name)) == 2"),
    "verdict": FILTER.format("mr.accept_if(False, 'no')"),
    "method": (
        "def is_open():\n    return False\nclass P:\n    __open = False\n"
        + FILTER.format("__is_open()").replace("\n", "\n    ")
        + "\n_P__is_open = __is_open = is_open\n"
    ),
    "file": "import pathlib\n" + FILTER.format("pathlib.Path(__file__ + '.open').exists()"),
    "closure": """
def make():
    opened = False
    def change():
        nonlocal opened
        opened = True
    @policy.filter
    def f(pod, node):
        return node.name == 'a' or opened
    return change
change = make()
""",
}  # fmt: skip


def open_up(what: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change what the function reads."""
    if what == "clock":
        monkeypatch.setattr(time, "time", lambda: 2e6)
    elif what == "chance":
        monkeypatch.setattr(random, "random", lambda: 0.9)
    elif what == "environment":
        monkeypatch.setitem(os.environ, "OPEN", "1")
    elif what == "table":
        module.STATE["open"] = True
    elif what == "listed":
        module.STATE.append(1)
    elif what == "constant":
        module.OPEN = True  # type: ignore[attr-defined]
    elif what == "attribute":
        module.f.open = True
    elif what == "helper":
        module.is_open = lambda: True  # type: ignore[attr-defined]
    elif what == "default":
        module.is_open.__defaults__ = (True,)
    elif what == "code":
        module.is_open.__code__ = (lambda: True).__code__
    elif what == "builtin":
        module.len = lambda _: 2  # type: ignore[attr-defined]
    elif what == "real builtin":
        monkeypatch.setattr(builtins, "abs", lambda _: 2)
    elif what == "module":
        monkeypatch.setattr(math, "gamma", lambda _: 2)
    elif what == "verdict":
        monkeypatch.setattr(mr, "accept_if", lambda *_: mr.accept())
    elif what == "method":
        module._P__is_open = lambda: True  # type: ignore[attr-defined]
    elif what == "file":
        Path(f"{module.__file__}.open").write_text("1")
    else:
        module.change()


@pytest.mark.parametrize("what", CHANGING)
def test_what_a_function_reads_beside_its_arguments_may_change(
    what: str, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(random, "random", lambda: 0.1)
    made = of(written.policy(CHANGING[what]))
    for number in range(4):
        assert chosen(made, pod(number)) == ["a"]
    open_up(what, written.module, monkeypatch)
    for number in range(4, 7):
        assert chosen(made, pod(number)) == list(NODES)


def test_a_function_that_changes_what_it_was_given_is_called_every_time(written: Written) -> None:
    made = of(
        written.policy(
            "def list(given):\n    return given\n"
            "@policy.filter\ndef f(pod, node):\n"
            "    seen = list(node.taints)\n    seen.append(node.name)\n    return len(seen) < 6\n"
        )
    )
    for name in NODES:
        made.cluster.put_node(make_node(name, taints=[{"key": "a"}]))
    for number in range(4):
        assert chosen(made, pod(number)) == list(NODES)
    assert chosen(made, pod(5)) == []


def test_a_function_that_is_registered_later_is_called(written: Written) -> None:
    policy = written.policy("@policy.filter\ndef f(pod, node):\n    return True\n")
    made = of(policy)
    for number in range(3):
        assert chosen(made, pod(number)) == list(NODES)
    policy.filter(name="late")(lambda _, node: node.name == "a")
    assert chosen(made, pod(4)) == ["a"]
    policy.filters.pop()
    assert chosen(made, pod(5)) == list(NODES)


COUNTING = """
@policy.filter{0}
def fits(pod, node):
    return len(node.pods) < 2
@policy.score{0}
def rate(pod, node):
    return 50 if node.pods else 0
"""


def test_only_nodes_that_changed_are_asked_about(written: Written) -> None:
    made = of(written.policy(COUNTING.format("")))
    for number in range(2):
        assert chosen(made, pod(number)) == list(NODES)
    with counted("fits", "rate") as calls:
        assert chosen(made, pod(2)) == list(NODES)
        assert calls == {}
        made.cluster.assume(pod(3), "c")
        assert chosen(made, pod(4)) == ["c"]
        assert calls == {"fits": 1, "rate": 1}
        made.cluster.assume(pod(4), "c")
        assert chosen(made, pod(5)) == [one for one in NODES if one != "c"]
    assert calls == {"fits": 2, "rate": 1}


def test_a_heartbeat_costs_one_node(written: Written) -> None:
    made = of(written.policy(COUNTING.format("")))
    for number in range(2):
        chosen(made, pod(number))
    with counted("fits", "rate") as calls:
        made.cluster.put_node(made.cluster.nodes["d"])
        assert chosen(made, pod(2)) == list(NODES)
    assert calls == {"fits": 1, "rate": 1}


def test_a_declaration_is_believed(written: Written) -> None:
    body = "SEEN = []\n" + COUNTING.replace("return len", "return not SEEN and len")
    made = of(written.policy(body.format("(pure=True)")))
    for number in range(2):
        assert chosen(made, pod(number)) == list(NODES)
    written.module.SEEN.append(1)
    with counted("fits", "rate") as calls:
        assert chosen(made, pod(2)) == list(NODES)
        assert calls == {}
        assert chosen(made, pod(3, labels={"a": "b"})) == []
        assert chosen(made, pod(4, annotations={"a": "b"})) == []
        assert chosen(made, pod(5, namespace="other")) == []
    assert calls["fits"] >= 3 * len(NODES)


def test_one_function_that_is_called_every_time_makes_all_of_them_so(written: Written) -> None:
    body = COUNTING.format("") + "@policy.score\ndef t(pod, node):\n    return min(1, id(node))\n"
    plugin = policy_plugin(written.policy(body))
    assert not isinstance(plugin, hook.Sign)
    assert plugin.filter_scope is Scope.CLUSTER
    made = runtime(Fits(), plugin, nodes=NODES)
    with counted("fits") as calls:
        for number in range(4):
            chosen(made, pod(number))
    assert calls["fits"] == 4 * len(NODES)


def test_pods_with_other_annotations_are_another_matter(written: Written) -> None:
    made = of(
        written.policy(
            "@policy.filter\ndef f(pod, node):\n"
            "    return node.name != pod.annotations.get('not')\n"
        )
    )
    for number in range(3):
        assert chosen(made, pod(number, annotations={"not": "a"})) == list(NODES[1:])
        assert chosen(made, pod(number, annotations={"not": "b"})) == ["a", *NODES[2:]]
        assert chosen(made, pod(number)) == list(NODES)


def test_labels_that_nobody_reads_make_no_difference(written: Written) -> None:
    made = of(
        written.policy("@policy.filter\ndef f(pod, node):\n    return pod.labels['app'] == 'web'\n")
    )
    for number in range(2):
        chosen(made, pod(number, labels={"app": "web", "index": str(number)}))
    with counted("f") as calls:
        chosen(made, pod(2, labels={"app": "web", "index": "2"}))
    assert calls == {}


def test_a_score_is_not_asked_about_nodes_that_are_out(written: Written) -> None:
    made = of(
        written.policy(
            "@policy.filter\ndef fits(pod, node):\n    return node.name != 'a'\n"
            "@policy.score\ndef rate(pod, node):\n    return 1 / (node.name != 'a')\n"
        )
    )
    with counted("rate") as calls:
        for number in range(4):
            assert chosen(made, pod(number)) == list(NODES[1:])
    assert calls == {"rate": 2 * (len(NODES) - 1)}


def test_scores_alone_are_asked_about_nodes_that_fit(written: Written) -> None:
    policy = written.policy(
        "@policy.score\ndef rate(pod, node):\n    return 5 / node.free['cpu']\n"
    )
    made = runtime(Fits(), policy_plugin(policy), nodes=NODES)
    made.cluster.assume(make_pod("large", requests={"cpu": "4"}), "a")
    with counted("rate") as calls:
        for number in range(4):
            assert chosen(made, pod(number, requests={"cpu": "1"})) == list(NODES[1:])
    assert calls == {"rate": 2 * (len(NODES) - 1)}


def test_a_pod_that_fits_nowhere_gets_all_reasons(written: Written) -> None:
    made = of(written.policy(COUNTING.format("").replace("< 2", "< 0")))
    for number in range(4):
        assert chosen(made, pod(number)) == []


def test_a_function_that_fails_fails_the_decision_in_its_usual_words(written: Written) -> None:
    made = of(
        written.policy(
            "@policy.filter\ndef f(pod, node):\n    return 1 / (3 - len(node.pods)) > 0\n"
        )
    )
    for number in range(3):
        assert chosen(made, pod(number)) == list(NODES)
    for number in range(3):
        made.cluster.assume(pod(10 + number), "c")
    for number in range(20, 23):
        with pytest.raises(PluginError, match="filter 'f' failed on node c: ZeroDivisionError"):
            chosen(made, pod(number))
    made.cluster.remove(made.cluster.pod("default", "p11"))  # type: ignore[arg-type]
    assert chosen(made, pod(30)) == list(NODES)


def test_another_order_of_the_pods_on_a_node_is_seen(written: Written) -> None:
    made = of(
        written.policy(
            "@policy.filter\ndef f(pod, node):\n"
            "    return [o.namespace for o in node.pods] in ([], ['one', 'two'])\n"
        )
    )
    placed = [made.cluster.assume(make_pod(name, namespace=name), "c") for name in ("one", "two")]
    for number in range(3):
        assert chosen(made, pod(number)) == list(NODES)
    seen = replace(placed[0].metadata, annotations={"seen": "yes"})
    made.cluster.put_pod(replace(placed[0], metadata=seen))
    assert [one.key for one in made.cluster.pods_on(2)] == ["two/two", "one/one"]
    assert chosen(made, pod(9)) == [name for name in NODES if name != "c"]


def test_readmes_policy_in_a_scheduler() -> None:
    policy = mr.load(ROOT / "examples/06-fair-gpus/policy.py")
    assert isinstance(policy_plugin(policy), PolicySign)
    gpus = {"nvidia.com/gpu": 4}
    world = World(*(make_node(name, cpu="64", extended=gpus) for name in NODES), policy=policy)

    def place(name: str, namespace: str = "default") -> str:
        request = {"cpu": "1", "nvidia.com/gpu": "1"}
        world.put(make_pod(name, namespace=namespace, requests=request))
        world.run()
        return world.pods[f"{namespace}/{name}"].node_name

    with counted("share", "pack") as calls:
        homes = [place(f"p{number}") for number in range(8)]
    # Two pods of a namespace are half of a node.
    assert sorted(Counter(homes).values()) == [2, 2, 2, 2]
    # Two decisions about all nodes, then a few about single ones.
    assert calls["share"] < 4 * len(NODES)
    assert place("q", "other") in homes
