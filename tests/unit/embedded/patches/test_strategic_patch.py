"""Strategic merge patches."""

from typing import Any

import msgspec
import pytest

from mooring.embedded.patches.patch_errors import invalid_after_patch
from mooring.embedded.patches.strategic_patch import apply_strategic_patch
from mooring.embedded.resources import CONFIG_MAPS, DEPLOYMENTS, NODES, PODS, Obj, Resource
from mooring.embedded.schema.definitions import definition_of
from mooring.embedded.status_errors import StatusError


def apply_patch(resource: Resource, obj: Obj, patch: Obj) -> Obj:
    before = msgspec.json.encode([obj, patch])
    made = apply_strategic_patch(obj, patch, definition_of(resource))
    assert msgspec.json.encode([obj, patch]) == before
    return made


def pod(*containers: Obj, **spec: Any) -> Obj:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}}


def names(obj: Obj, field: str = "containers") -> list[str]:
    return [one["name"] for one in obj["spec"][field]]


A: Obj = {"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}
B: Obj = {"name": "b", "image": "1"}
C: Obj = {"name": "c", "image": "1"}


def test_containers_are_merged_by_name() -> None:
    made = apply_patch(
        PODS,
        pod(A, B),
        pod({"name": "b", "image": "2"}, {"name": "n", "image": "3"}),
    )
    assert made["spec"]["containers"] == [
        A,
        {"name": "b", "image": "2"},
        {"name": "n", "image": "3"},
    ]


def test_lists_in_merged_objects_are_merged_too() -> None:
    env = [{"name": "Y", "value": "2"}, {"name": "X", "value": "3"}]
    made = apply_patch(PODS, pod(A), pod({"name": "a", "env": env}))
    assert made["spec"]["containers"] == [{**A, "env": env}]


def test_other_lists_are_replaced() -> None:
    made = apply_patch(
        PODS,
        pod(A, tolerations=[{"key": "x"}]),
        {"spec": {"tolerations": [{"key": "y"}]}},
    )
    assert made["spec"] == {"containers": [A], "tolerations": [{"key": "y"}]}


def test_null_removes_a_field() -> None:
    obj = {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"unschedulable": True}}
    made = apply_patch(NODES, obj, {"metadata": {"labels": {"a": None, "z": None}}, "spec": None})
    assert made == {"metadata": {"labels": {"b": "2"}}}


def test_an_element_is_deleted_by_a_directive() -> None:
    assert names(apply_patch(PODS, pod(A, B, C), pod({"$patch": "delete", "name": "b"}))) == [
        "a",
        "c",
    ]


def test_a_list_is_replaced_by_a_directive() -> None:
    made = apply_patch(PODS, pod(A, B), pod(C, {"$patch": "replace"}))
    assert made["spec"]["containers"] == [C]


def test_an_object_is_replaced_or_emptied_by_a_directive() -> None:
    obj = {"data": {"a": "1", "b": "2"}}
    assert apply_patch(CONFIG_MAPS, obj, {"data": {"$patch": "replace", "c": "3"}}) == {
        "data": {"c": "3"}
    }
    assert apply_patch(CONFIG_MAPS, obj, {"data": {"$patch": "delete"}}) == {"data": {}}
    assert apply_patch(CONFIG_MAPS, {}, {"data": {"$patch": "replace", "c": "3"}}) == {}


def test_scalars_are_merged_and_deleted() -> None:
    obj = {"metadata": {"finalizers": ["a", "b"]}}
    assert apply_patch(PODS, obj, {"metadata": {"finalizers": ["c", "b"]}}) == {
        "metadata": {"finalizers": ["c", "a", "b"]}
    }
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "z"]}}
    assert apply_patch(PODS, obj, gone) == {"metadata": {"finalizers": ["b"]}}
    assert apply_patch(PODS, {"metadata": {}}, gone) == {"metadata": {}}


@pytest.mark.parametrize(
    ("there", "patch", "order", "expected"),
    [
        ("abc", "", "cab", "cab"),
        ("abc", "", "ca", "bca"),
        ("abc", "d", "da", "dabc"),
        ("abc", "d", "ad", "adbc"),
        ("xay", "b", "ba", "bxay"),
        ("", "ab", "ab", "ab"),
    ],
)
def test_the_order_of_elements_is_given(there: str, patch: str, order: str, expected: str) -> None:
    def containers(text: str) -> list[Obj]:
        return [{"name": name} for name in text]

    obj = {"spec": {"containers": containers(there)} if there else {}}
    spec: Obj = {"$setElementOrder/containers": containers(order)}
    if patch:
        spec["containers"] = containers(patch)
    assert "".join(names(apply_patch(PODS, obj, {"spec": spec}))) == expected


def test_an_added_element_takes_the_place_of_a_deleted_one_in_the_order() -> None:
    patch = {
        "$setElementOrder/containers": [{"name": "n"}],
        "containers": [{"name": "n"}, {"name": "a", "$patch": "delete"}],
    }
    assert names(apply_patch(PODS, pod(A, B, C), {"spec": patch})) == ["b", "c", "n"]


def test_keys_are_retained() -> None:
    obj = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert apply_patch(DEPLOYMENTS, obj, patch) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_a_new_value_is_taken_without_nulls_and_directives() -> None:
    patch = {
        "metadata": {"labels": {"a": "1", "b": None}},
        "spec": {"affinity": {"nodeAffinity": {"$patch": "delete"}, "podAffinity": {}}},
    }
    assert apply_patch(PODS, {}, patch) == {
        "metadata": {"labels": {"a": "1"}},
        "spec": {"affinity": {"podAffinity": {}}},
    }


@pytest.mark.parametrize(
    ("resource", "patch", "code", "message"),
    [
        (PODS, pod({"image": "x"}), 500,
         "map: map[image:x] does not contain declared merge key: name"),
        (PODS, pod({"$patch": "delete", "image": "x"}), 500,
         "map: map[$patch:delete image:x] does not contain declared merge key: name"),
        (PODS, {"$patch": "bogus"}, 500, "unknown patch type: bogus in map: map[$patch:bogus]"),
        (PODS, pod({"$patch": "bogus"}), 500,
         "unknown patch type: bogus in map: map[$patch:bogus]"),
        (PODS, pod({"$patch": "merge"}), 500,
         "merging lists cannot yet be specified in the patch"),
        (PODS, {"metadata": {"finalizers": [1]}}, 500,
         "list element types are not identical: [[a b] [1]]"),
        (PODS, {"metadata": {"finalizers": [["x"]]}}, 500,
         "list element types are not identical: [[a b] [[x]]]"),
        (PODS, {"metadata": {"$setElementOrder/finalizers": "x"}}, 500,
         "expected a []interface {}, but received a string"),
        (PODS, {"metadata": {"$setElementOrder": []}}, 400,
         "invalid patch format of setElementOrder list"),
        (PODS, {"metadata": {"$setElementOrder/bogus": ["x"]}}, 500,
         'unable to find api field in struct ObjectMeta for the json field "bogus"'),
        (PODS, {"metadata": {"$setElementOrder/finalizers": ["a"], "finalizers": ["b"]}}, 500,
         "The order in patch list:\n[b]\n doesn't match $setElementOrder list:\n[a]\n"),
        (PODS, {"$deleteFromPrimitiveListx": [1]}, 400, "invalid patch format of primitive list"),
        (PODS, {"spec": {"$retainKeys": "x"}}, 400, "invalid patch format of retainKeys"),
        (PODS, {"spec": {"$retainKeys": ["x"], "y": 1}}, 400,
         "invalid patch format of retainKeys"),
    ],
)  # fmt: skip
def test_errors_are_in_the_servers_words(
    resource: Resource, patch: Obj, code: int, message: str
) -> None:
    obj = {"metadata": {"finalizers": ["a", "b"]}, "spec": {"containers": [A]}}
    with pytest.raises(StatusError) as caught:
        apply_patch(resource, obj, patch)
    assert (caught.value.code, str(caught.value)) == (code, message)
    assert ("reason" in caught.value.status) == (code == 400)


def test_a_list_of_lists_is_rejected_without_a_reason() -> None:
    with pytest.raises(StatusError) as caught:
        apply_patch(PODS, {"metadata": {"finalizers": []}}, {"metadata": {"finalizers": [["x"]]}})
    assert caught.value.code == 422


def test_what_is_no_object_is_a_bad_request() -> None:
    kind = definition_of(PODS)
    with pytest.raises(StatusError, match="json: cannot unmarshal array into Go value of type map"):
        apply_strategic_patch({}, b"[]", kind)
    assert apply_strategic_patch({"a": 1}, b"null", kind) == {"a": 1}


def test_an_object_that_a_patch_makes_undecodable() -> None:
    rejected = invalid_after_patch("map[data:map[k:1]]", "cannot convert int64 to string")
    told = 'Invalid value: "map[data:map[k:1]]": cannot convert int64 to string'
    assert rejected.code == 422
    assert rejected.status["message"] == f' "" is invalid: patch: {told}'
    assert rejected.status["details"] == {
        "causes": [{"reason": "FieldValueInvalid", "message": told, "field": "patch"}]
    }
