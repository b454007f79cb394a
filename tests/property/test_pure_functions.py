"""Random functions that are taken for pure: they tell nothing apart, and change nothing.

Each is called with two pods and two nodes that differ in their identity and in what no kept
function may read: names, versions, the status, annotations of the pods on the node. Most random
functions are refused; those that are accepted have to return, or fail with, the same.
"""

import importlib.util
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import msgspec
import pytest

from mooring.framework.policy import Policy
from mooring.framework.policy_checks import pure_reads as known
from mooring.framework.policy_checks.policy_signature import PolicySignature
from mooring.framework.policy_checks.purity import function_purity
from mooring.framework.policy_checks.sources import Sources
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

HEAD: Final = """\
import math
import mooring as mr

LIMIT = 5
NAMES = ("a", "b")
FROZEN = frozenset(NAMES)
TABLE = {"a": 1}


def same(given):
    return given


def longest(names, least=0):
    return max([least, *[len(one) for one in names]])


"""
ATTRIBUTES: Final = sorted(
    {*known.NODE, *known.TEMPLATE, *known.SPEC, *known.PARTS, "annotations", "pods", "spec",
     "items", "metadata", "usage", "phase", "status", "values", "partition"}
)  # fmt: skip
CHANGING: Final = sorted(known.CHANGING)
METHODS: Final = sorted({*known.METHODS, *known.CHANGING, "pop", "clear", "reverse", "format"})
FUNCTIONS: Final = (
    "len", "abs", "int", "float", "str", "bool", "round", "range", "sum", "min", "max", "any",
    "all", "set", "frozenset", "tuple", "list", "dict", "sorted", "zip", "enumerate", "reversed",
    "iter", "repr", "map", "type", "id", "hash", "math.floor", "math.prod", "mr.accept_if",
    "mr.reject", "mr.parse_quantity", "mr.untolerated", "same", "longest",
)  # fmt: skip
PARTS: Final = (
    "node.labels", "node.raw", "node.taints", "node.pods", "node.used", "node.free", "node.images",
    "node.metadata", "node.spec", "node.status", "pod.labels", "pod.annotations", "pod.requests",
    "pod.spec", "pod.metadata", "pod.tolerations", "pod.containers", "pod.spec.affinity",
)  # fmt: skip
PLAIN: Final = (
    "pod", "node", "0", "1", "'a'", "None", "True", "2.5", "[]", "{}", "()", "LIMIT", "NAMES",
    "FROZEN", "TABLE",
)  # fmt: skip
OPERATORS: Final = ("+", "-", "*", "|", "%", "<", "==", "in", "is", "and", "or")


class Author:
    """Writes functions at random."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def function(self, name: str) -> str:
        """One function."""
        body = [*self._block(self._chance.randint(0, 4), "    ", ("x",))]
        returned = self._expression(3, self._chance.choice(((), ("x", "y"))))
        return "\n".join([f"def {name}(pod, node):", *body, f"    return {returned}", ""])

    def _block(self, size: int, indent: str, names: tuple[str, ...]) -> Iterator[str]:
        chance = self._chance
        for _ in range(size):
            name, value = chance.choice("xyz"), self._expression(2, names)
            if chance.random() < 0.3 and len(indent) < 12:
                # Nothing is gone through that could grow meanwhile.
                loop = f"for {name} in {self._expression(2, ())}:"
                yield f"{indent}{chance.choice((loop, f'if {value}:'))}"
                yield from self._block(chance.randint(1, 2), f"{indent}    ", (*names, name))
                continue
            statement = chance.choice(
                (
                    f"{name} = {value}",
                    f"{name} = {chance.choice(('[]', '{}', 'set()', '0', 'list(node.taints)'))}",
                    f"{name} {chance.choice(('+=', '-=', '|='))} {value}",
                    f"{name}.{chance.choice(CHANGING)}({value})",
                    f"{name}[{chance.choice(('0', 'node.name'))}] = {value}",
                    f"{name}[0] += 1",
                    value,
                )
            )
            yield f"{indent}{statement}"

    def _expression(self, depth: int, names: tuple[str, ...]) -> str:
        chance = self._chance
        if depth <= 0 or chance.random() < 0.25:
            return chance.choice(chance.choice((names or PLAIN, PARTS, PLAIN)))
        name = chance.choice("abx")

        def part(*more: str) -> str:
            return self._expression(depth - 1, (*names, *more))

        def some() -> str:
            return ", ".join(part() for _ in range(chance.choice((0, 1, 1, 1, 2))))

        def each() -> str:
            condition = f" if {part(name)}" if chance.random() < 0.3 else ""
            return f"{part(name, name)} for {name} in {part()}{condition}"

        forms: tuple[Callable[[], str], ...] = (
            lambda: f"{part()}.{chance.choice(ATTRIBUTES)}",
            lambda: f"{part()}.{chance.choice(METHODS)}({some()})",
            lambda: f"{chance.choice(FUNCTIONS)}({some()})",
            lambda: f"{chance.choice(FUNCTIONS)}({part()})",
            lambda: f"{part()}[{chance.choice((part(), '0', '-1', ':1'))}]",
            lambda: f"({part()} {chance.choice(OPERATORS)} {part()})",
            lambda: f"[{part()}, {chance.choice(('', '*'))}{part()}]",
            lambda: f"{{{part()}: {part()}}}",
            lambda: "f'{" + part().replace("'", '"') + chance.choice(("", "!r", ":>5")) + "}'",
            lambda: f"[{each()}]",
            lambda: f"({each()})",
            lambda: f"{{{each()}}}",
            lambda: f"({part()} if {part()} else {part()})",
            lambda: f"(x := {part()})",
        )
        return chance.choice(forms)()


def functions(seed: int, count: int, folder: Path) -> list[FunctionType]:
    """Functions in a file of their own."""
    author = Author(seed)
    texts: list[str] = []
    while len(texts) < count:
        text = author.function(f"f{len(texts)}")
        try:
            compile(text, "", "exec")
        except SyntaxError:
            continue
        texts.append(text)
    file = folder / f"functions_{seed}.py"
    file.write_text(HEAD + "\n\n".join(texts))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"f{number}") for number in range(count)]


class World:
    """A pod and a node with pods.

    Args:
        number: makes whatever differs that no kept function may read.
    """

    def __init__(self, number: int) -> None:
        cluster = Cluster()
        cluster.put_node(Node.from_json(msgspec.json.encode(NODE)))
        for one in "ab":
            placed = pod(f"{one}{number}", nodeName="n")
            placed["metadata"] |= {"annotations": {"a": f"{number}"}, "ownerReferences": []}
            cluster.put_pod(Pod.from_json(msgspec.json.encode(placed)))
        self.node = cluster.nodes["n"]
        waiting = pod(f"p{number}") | {"status": {"phase": "Pending" if number else "Unknown"}}
        self.pod = Pod.from_json(msgspec.json.encode(waiting))

    def ask(self, function: Callable[[Pod, Node], object]) -> str:
        """What a function returns, or fails with."""
        try:
            return repr(function(self.pod, self.node))
        except Exception as error:  # noqa: BLE001 - random code
            return type(error).__name__

    @property
    def content(self) -> bytes:
        """All that a function could have changed."""
        node, pods = self.node, (self.pod, *self.node.pods)
        of_node = (node.metadata, node.spec, node.status, node.raw, node.used, node.free)
        of_pods = [(one.metadata, one.spec, one.status, one.requests) for one in pods]
        return msgspec.msgpack.encode((of_node, of_pods))


NODE: Final = {
    "metadata": {"name": "n", "labels": {"a": "b", "c": "d"}, "annotations": {"a": "1"}},
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "1"}]},
    "status": {
        "allocatable": {"cpu": "8", "memory": "1Gi"},
        "images": [{"names": ["a", "b"], "sizeBytes": 5}],
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


def pod(name: str, **spec: object) -> dict[str, Any]:
    in_a = {"key": "a", "operator": "In", "values": ["b"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [in_a]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    container = {"name": "c", "image": "a", "resources": {"requests": {"cpu": "1"}}}
    owner = {"kind": "Job", "name": "j", "uid": "9"}
    return {
        "metadata": {
            "name": name, "uid": name, "resourceVersion": name, "labels": {"a": "b", "x": "y"},
            "annotations": {"a": "1"}, "ownerReferences": [owner],
        },
        "spec": {
            "containers": [container], "priority": 3, "nodeSelector": {"a": "b"},
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "affinity": {"nodeAffinity": required}, **spec,
        },
    }  # fmt: skip


def wrong(seed: int, count: int, folder: Path, seen: Counter[str]) -> Iterator[str]:
    """The functions that are taken for pure and are not."""
    with warnings.catch_warnings(action="ignore"):
        made = functions(seed, count, folder)
    sources = Sources()
    first, second = World(0), World(1)
    before = first.content, second.content
    for function in made:
        found = function_purity(function, sources)
        if found.reads is None:
            seen["refused"] += 1
            continue
        signature = PolicySignature(Policy("p"), found.reads, found.pins.values())
        assert signature.of(first.pod) == signature.of(second.pod) is not None
        said = [one.ask(function) for one in (first, second, first)]
        seen["failed" if said[0].endswith("Error") else "returned"] += 1
        if len({*said}) > 1 or (first.content, second.content) != before:
            yield function.__name__
            first, second = World(0), World(1)


@pytest.mark.parametrize("seed", range(4))
def test_functions_that_are_taken_for_pure_are(seed: int, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    assert list(wrong(seed, 1000, tmp_path, seen)) == []
    assert seen["returned"] > 30, seen


@pytest.mark.parametrize(
    ("table", "written", "hole"),
    [("METHODS", "METHODS", "clear"), ("PLAIN", "FUNCTIONS", "id")],
)
def test_a_hole_is_found(
    table: str, written: str, hole: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    holes = {"clear": known.METHODS | {"clear"}, "id": (*known.PLAIN, id)}
    monkeypatch.setattr(known, table, holes[hole])
    monkeypatch.setattr(sys.modules[__name__], written, (hole, "len"))
    assert any(any(wrong(seed, 1000, tmp_path, Counter())) for seed in range(10))
