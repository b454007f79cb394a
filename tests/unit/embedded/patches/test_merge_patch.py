"""JSON merge patches."""

import msgspec
import pytest

from mooring.embedded.patches.merge_patch import apply_merge_patch
from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import StatusError


# The examples of RFC 7386 that are about objects.
@pytest.mark.parametrize(
    ("obj", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        # Where nothing was merged, nulls are left out in lists, too.
        ({"a": [1]}, {"a": [{"b": None, "c": 1}, None]}, {"a": [{"c": 1}, None]}),
        ({"a": {"x": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_examples(obj: Obj, patch: Obj, expected: Obj) -> None:
    before = msgspec.json.encode(obj)
    assert apply_merge_patch(obj, patch) == expected
    assert apply_merge_patch(obj, msgspec.json.encode(patch)) == expected
    assert msgspec.json.encode(obj) == before


def test_the_result_shares_nothing_with_the_object() -> None:
    obj = {"metadata": {"labels": {"a": "1"}}}
    made = apply_merge_patch(obj, {"spec": {}})
    made["metadata"]["labels"]["a"] = "2"
    assert obj == {"metadata": {"labels": {"a": "1"}}}


NO_OBJECT = "json: cannot unmarshal array into Go value of type map[string]interface {}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"null", "Invalid JSON Patch"),
        (b"[]", f"error decoding patch: {NO_OBJECT}"),
        (b"{", "error decoding patch: unexpected end of JSON input"),
    ],
)
def test_what_is_no_merge_patch(text: bytes, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        apply_merge_patch({}, text)
    assert (caught.value.code, str(caught.value)) == (400, message)
