from typing import Any

import pytest

from mooring.framework.hook import SKIP
from mooring.framework.verdict import Verdict
from mooring.model.pod import Pod
from mooring.plugins.nodes.node_affinity import NodeAffinity
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import (
    accepted,
    cluster_of,
    filtered,
    made,
    normalized,
    pre_filtered,
    pre_scored,
    problems,
    scored,
)

CLUSTER = cluster_of(
    make_node("a", labels={"zone": "east", "disk": "ssd", "gen": "3"}),
    make_node("b", labels={"zone": "west", "gen": "7"}),
    make_node("c", labels={"zone": "east"}),
)


def has(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(*names: str, operator: str = "In") -> dict[str, Any]:
    fields = [{"key": "metadata.name", "operator": operator, "values": [name]} for name in names]
    return {"matchFields": fields}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def preferred(*wishes: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    listed = [{"weight": weight, "preference": term} for weight, term in wishes]
    return {"preferredDuringSchedulingIgnoredDuringExecution": listed}


def wanting(affinity: dict[str, Any] | None = None, **spec: Any) -> Pod:
    if affinity is not None:
        spec["affinity"] = {"nodeAffinity": affinity}
    return make_pod(spec=spec)


def plain() -> NodeAffinity:
    return made(NodeAffinity)


@pytest.mark.parametrize(
    ("pod", "names"),
    [
        (wanting(nodeSelector={"zone": "east"}), ["a", "c"]),
        (wanting(nodeSelector={"zone": "east", "disk": "ssd"}), ["a"]),
        (wanting(required(has("zone", "west"), has("disk", "ssd"))), ["a", "b"]),
        (wanting(required(has("gen", "3", operator="Gt"))), ["b"]),
        (wanting(required(has("disk", operator="DoesNotExist"))), ["b", "c"]),
        (wanting(required(has("zone", "west")), nodeSelector={"zone": "east"}), []),
        (wanting(required()), []),
        (wanting(required({})), []),
        (wanting(required({}, has("zone", "west"))), ["b"]),
        (wanting(required({**has("zone", "east"), **named("a", operator="NotIn")})), ["c"]),
        (wanting(nodeSelector={}), ["a", "b", "c"]),
    ],
)
def test_nodes_that_the_pod_excludes_are_rejected(pod: Pod, names: list[str]) -> None:
    assert accepted(plain(), CLUSTER, pod) == names
    assert accepted(plain(), CLUSTER, pod, ["a", "b"]) == [n for n in names if n != "c"]


def test_a_rejection_cannot_be_helped() -> None:
    verdict = filtered(plain(), CLUSTER, wanting(nodeSelector={"zone": "north"}))["a"]
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == ("node(s) didn't match Pod's node affinity/selector",)


@pytest.mark.parametrize(
    ("pod", "answer"),
    [
        (wanting(), SKIP),
        (wanting(preferred((1, has("zone", "east")))), SKIP),
        (wanting({}), SKIP),
        (wanting(nodeSelector={}), None),
        (wanting(nodeSelector={"zone": "east"}), None),
        (wanting(required()), None),
        (wanting(required(has("zone", "east"))), None),
        (wanting(required(named("a"))), {"a"}),
        (wanting(required(named("a"), named("b"), named("gone"))), {"a", "b", "gone"}),
        # One term that names no node makes all nodes possible.
        (wanting(required(named("a"), has("zone", "east"))), None),
        (wanting(required(named("a", operator="NotIn"))), None),
        # A term whose names are mutually exclusive adds no node.
        (wanting(required(named("a", "b"), named("c"))), {"c"}),
        (wanting(required(named("a", "a"))), {"a"}),
    ],
)
def test_the_search_is_narrowed_to_nodes_that_are_named(pod: Pod, answer: object) -> None:
    assert pre_filtered(plain(), CLUSTER, pod) == answer


def test_names_that_exclude_each_other_reject_the_pod() -> None:
    verdict = pre_filtered(plain(), CLUSTER, wanting(required(named("a", "b"))))
    assert isinstance(verdict, Verdict)
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == ("pod affinity terms conflict",)


def test_added_demands_come_first() -> None:
    plugin = made(NodeAffinity, addedAffinity=required(has("zone", "east")))
    assert pre_filtered(plugin, CLUSTER, make_pod()) is None
    found = filtered(plugin, CLUSTER, wanting(nodeSelector={"disk": "ssd"}))
    assert {name: verdict.reasons for name, verdict in found.items()} == {
        "a": (),
        "b": ("node(s) didn't match scheduler-enforced node affinity",),
        "c": ("node(s) didn't match Pod's node affinity/selector",),
    }
    assert found["b"].unresolvable
    # Another profile without added demands is not confused by what was remembered.
    assert accepted(plain(), CLUSTER, wanting(nodeSelector={"disk": "ssd"})) == ["a"]
    assert accepted(plugin, CLUSTER, make_pod()) == ["a", "c"]


def test_wishes_are_summed_by_weight() -> None:
    wishes = preferred(
        (5, has("zone", "east")), (2, has("gen", operator="Exists")), (0, has("zone", "west")),
        (90, {}), (1, named("c")),
    )  # fmt: skip
    pod = wanting(wishes)
    assert scored(plain(), CLUSTER, pod) == {"a": 7, "b": 2, "c": 6}
    assert scored(plain(), CLUSTER, pod, ["b", "c"]) == {"b": 2, "c": 6}


def test_added_wishes_count_for_every_pod() -> None:
    plugin = made(NodeAffinity, addedAffinity=preferred((10, has("zone", "west"))))
    assert scored(plugin, CLUSTER, make_pod()) == {"a": 0, "b": 10, "c": 0}
    pod = wanting(preferred((3, has("zone", "east"))))
    assert scored(plugin, CLUSTER, pod) == {"a": 3, "b": 10, "c": 3}
    assert scored(plain(), CLUSTER, pod) == {"a": 3, "b": 0, "c": 3}


def test_pods_without_wishes_are_skipped() -> None:
    assert pre_scored(plain(), CLUSTER, make_pod()) is SKIP
    assert pre_scored(plain(), CLUSTER, wanting(required(has("zone", "east")))) is SKIP
    assert pre_scored(plain(), CLUSTER, wanting(preferred())) is None
    empty = made(NodeAffinity, addedAffinity=preferred())
    assert pre_scored(empty, CLUSTER, make_pod()) is SKIP


def test_the_most_wishes_make_100() -> None:
    assert normalized(plain(), CLUSTER, make_pod(), [7, 2, 0]) == [100, 28, 0]
    assert normalized(plain(), CLUSTER, make_pod(), [0, 0, 0]) == [0, 0, 0]


def test_labels_that_change_are_seen() -> None:
    cluster, plugin = cluster_of(make_node("a", labels={"zone": "east"}), make_node("b")), plain()
    pod = wanting(
        {**required(has("zone", "east")), **preferred((4, has("zone", "east")))},
    )
    assert accepted(plugin, cluster, pod) == ["a"]
    cluster.put(make_node("b", labels={"zone": "east"}))
    assert accepted(plugin, cluster, pod) == ["a", "b"]
    assert scored(plugin, cluster, pod) == {"a": 4, "b": 4}


def test_wrong_arguments() -> None:
    wrong = required(has("zone"))
    where = "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
    assert problems(NodeAffinity, addedAffinity=wrong) == [
        f"{where}.matchExpressions[0].values: In needs at least one value"
    ]
    assert problems(NodeAffinity, addedAffinity={"required": {}})[0].startswith(
        "args.addedAffinity.required: unknown field"
    )
    assert problems(NodeAffinity) == []
