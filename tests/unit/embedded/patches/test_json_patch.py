"""JSON patches, with the liberties that the API server takes."""

import msgspec
import pytest

from mooring.embedded.patches.json_patch import apply_json_patch
from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import StatusError

OBJ: Obj = {"a": {"b": 1, "c/d": "x", "~e": "y"}, "l": ["p", "q", "r"], "n": None}


def apply_patch(*operations: Obj) -> Obj:
    return apply_json_patch(OBJ, msgspec.json.encode(operations))


@pytest.mark.parametrize(
    ("operation", "at", "value"),
    [
        ({"op": "add", "path": "/a/new", "value": [1]}, "a", {**OBJ["a"], "new": [1]}),
        ({"op": "add", "path": "/a/b", "value": 2}, "a", {**OBJ["a"], "b": 2}),
        ({"op": "add", "path": "/a/b"}, "a", {**OBJ["a"], "b": None}),
        ({"op": "remove", "path": "/a/c~1d"}, "a", {"b": 1, "~e": "y"}),
        ({"op": "remove", "path": "/a/~0e"}, "a", {"b": 1, "c/d": "x"}),
        ({"op": "replace", "path": "/a/b", "value": 3}, "a", {**OBJ["a"], "b": 3}),
        ({"op": "replace", "path": "/a/z", "value": 3}, "a", {**OBJ["a"], "z": 3}),
        ({"op": "add", "path": "ignored/x", "value": 1}, "x", 1),
        ({"op": "add", "path": "/l/0", "value": "z"}, "l", ["z", "p", "q", "r"]),
        ({"op": "add", "path": "/l/3", "value": "z"}, "l", ["p", "q", "r", "z"]),
        ({"op": "add", "path": "/l/-", "value": "z"}, "l", ["p", "q", "r", "z"]),
        ({"op": "add", "path": "/l/-1", "value": "z"}, "l", ["p", "q", "r", "z"]),
        ({"op": "add", "path": "/l/-4", "value": "z"}, "l", ["z", "p", "q", "r"]),
        ({"op": "replace", "path": "/l/-1", "value": "z"}, "l", ["p", "q", "z"]),
        ({"op": "remove", "path": "/l/1"}, "l", ["p", "r"]),
        ({"op": "move", "from": "/l/2", "path": "/l/0"}, "l", ["r", "p", "q"]),
        ({"op": "move", "from": "/l", "path": "/m"}, "m", ["p", "q", "r"]),
        ({"op": "copy", "from": "/a", "path": "/m"}, "m", OBJ["a"]),
        ({"op": "copy", "from": "/missing", "path": "/m"}, "m", None),
        ({"op": "test", "path": "/a/b", "value": 1}, "a", OBJ["a"]),
        ({"op": "test", "path": "/l", "value": ["p", "q", "r"]}, "l", OBJ["l"]),
        ({"op": "test", "path": "/missing", "value": None}, "l", OBJ["l"]),
        ({"op": "test", "path": "/missing"}, "l", OBJ["l"]),
        ({"op": "test", "path": "", "value": OBJ}, "l", OBJ["l"]),
    ],
)
def test_an_operation(operation: Obj, at: str, value: object) -> None:
    assert apply_patch(operation)[at] == value


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/missing/x", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "nowhere", "value": {}},
        {"op": "add", "path": "/l/4", "value": "z"},
        {"op": "add", "path": "/l/-5", "value": "z"},
        {"op": "add", "path": "/l/x", "value": "z"},
        {"op": "add", "path": "/l/1_0", "value": "z"},
        {"op": "add", "path": "/a/b/c", "value": "z"},
        {"op": "add", "value": 1},
        {"op": "remove", "path": "/missing"},
        {"op": "remove", "path": "/l/3"},
        {"op": "replace", "path": "/l/3", "value": 1},
        {"op": "replace", "path": "/l/-", "value": 1},
        {"op": "replace", "path": "", "value": 5},
        {"op": "replace", "path": "", "value": [1]},
        {"op": "move", "from": "/missing", "path": "/x"},
        {"op": "move", "from": "/l", "path": "/missing/x"},
        {"op": "move", "path": "/x"},
        {"op": "copy", "from": "/missing/x", "path": "/x"},
        {"op": "test", "path": "/a/b", "value": 2},
        {"op": "test", "path": "/a/b", "value": 1.0},
        {"op": "test", "path": "/a/b", "value": True},
        {"op": "test", "path": "/a/b"},
        {"op": "test", "path": "/n/x", "value": None},
        {"op": "bogus", "path": "/a"},
        {"path": "/a"},
    ],
)
def test_what_does_not_apply_is_rejected_without_a_reason(operation: Obj) -> None:
    with pytest.raises(StatusError) as caught:
        apply_patch(operation)
    assert caught.value.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"{}", "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (b'"x"', "json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        (b"[1]", "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            b'[{"op":"add","path":5}]',
            "json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
        (b"", "unexpected end of JSON input"),
        (b"[{", "unexpected end of JSON input"),
        (b"nope", "invalid character 'n' looking for beginning of value"),
    ],
)
def test_what_is_no_patch_is_a_bad_request(text: bytes, problem: str) -> None:
    with pytest.raises(StatusError) as caught:
        apply_json_patch(OBJ, text)
    assert caught.value.code == 400
    assert str(caught.value) == f"error decoding patch: {problem}"


def test_a_patch_has_ten_thousand_operations_at_most() -> None:
    test = {"op": "test", "path": "/a/b", "value": 1}
    assert apply_json_patch(OBJ, [test] * 10_000) == OBJ
    with pytest.raises(StatusError, match="JSON patch is 10000, got 10001") as caught:
        apply_json_patch(OBJ, [test] * 10_001)
    assert (caught.value.code, caught.value.status["reason"]) == (413, "RequestEntityTooLarge")


def test_operations_are_done_in_order_on_a_copy() -> None:
    before = msgspec.json.encode(OBJ)
    value: Obj = {"x": 1}
    made = apply_json_patch(
        OBJ,
        [
            {"op": "add", "path": "/v", "value": value},
            {"op": "copy", "from": "/v", "path": "/w"},
            {"op": "replace", "path": "/v/x", "value": 2},
            {"op": "remove", "path": "/a/b"},
            {"op": "replace", "path": "/l/0", "value": "z"},
        ],
    )
    assert (made["v"], made["w"], value) == ({"x": 2}, {"x": 1}, {"x": 1})
    assert msgspec.json.encode(OBJ) == before
    assert apply_json_patch(OBJ, b"null") == OBJ
    assert apply_json_patch(OBJ, [{"op": "replace", "path": "", "value": {"k": 1}}]) == {"k": 1}
