"""Objects from parsed data, in all the forms that `explain` takes."""

from typing import Any

import pytest

from mooring.errors import InputError
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.snapshot.object_reader import ObjectReader
from mooring.snapshot.snapshot import Snapshot
from mooring.testing import make_node

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
LIST = {"apiVersion": "v1", "kind": "List", "items": [NODE, POD]}


def read(objects: Any) -> Snapshot:
    snapshot = Snapshot()
    ObjectReader(snapshot).read(objects)
    return snapshot


def found(snapshot: Snapshot) -> list[str]:
    return [one.key for one in (*snapshot.all(Node), *snapshot.all(Pod))]


def test_a_mix_of_dicts_and_model_objects() -> None:
    assert found(read([NODE, make_node("b"), {**LIST, "items": [POD]}])) == [
        "a",
        "b",
        "shop/p",
    ]


def test_a_single_list() -> None:
    assert found(read(LIST)) == ["a", "shop/p"]


def test_lists_by_name() -> None:
    lists = {"nodes": [{"metadata": {"name": "a"}}, make_node("b")], "pods": None}
    assert found(read(lists)) == ["a", "b"]


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ({"noodles": []}, "no list of objects called 'noodles'; use one of priorityClasses"),
        ({"nodes": 3}, "nodes is a number, not a list of objects"),
        ({"nodes": ["a"]}, "a Node is expected among the objects, not a string"),
        ([None], "is empty"),
        ([{"kind": "Pod", "metadata": 3}], "Pod cannot be read: field metadata"),
    ],
)
def test_what_cannot_be_used_raises(objects: Any, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read(objects)
    assert said in str(raised.value)


def test_kinds_that_scheduling_does_not_read_are_counted() -> None:
    snapshot = read([JOB, JOB, NODE])
    assert (found(snapshot), snapshot.ignored) == (["a"], {"Job": 2})


def test_a_kind_of_another_group_is_another_kind() -> None:
    snapshot = read([{**NODE, "apiVersion": "example.com/v1"}])
    assert (found(snapshot), snapshot.ignored) == ([], {"Node": 1})
