"""JSON values, and how Go writes them."""

from typing import Any

import pytest

from mooring.embedded.patches.json_values import (
    Malformed,
    copied,
    decode,
    encode,
    go_kind,
    go_quoted,
    go_text,
    json_kind,
    same,
)


@pytest.mark.parametrize(
    ("value", "text", "kind", "go"),
    [
        (None, "<nil>", "null", "<nil>"),
        (True, "true", "bool", "bool"),
        (5, "5", "number", "int64"),
        (1.5, "1.5", "number", "float64"),
        (2.0, "2", "number", "float64"),
        (1e21, "1e+21", "number", "float64"),
        ("a b", "a b", "string", "string"),
        (["a", 1, None], "[a 1 <nil>]", "array", "[]interface {}"),
        ({"b": [], "a": {"x": 1}}, "map[a:map[x:1] b:[]]", "object", "map[string]interface {}"),
    ],
)
def test_words_of_go(value: Any, text: str, kind: str, go: str) -> None:
    assert (go_text(value), json_kind(value), go_kind(value)) == (text, kind, go)


def test_quoted_texts() -> None:
    assert go_quoted('a"b\\c\n\x01é') == '"a\\"b\\\\c\\n\\x01é"'


def test_encoding_is_in_order_and_escapes_markup() -> None:
    assert (
        encode({"b": "<&>", "a": ["é", 1, None]})
        == '{"a":["é",1,null],"b":"\\u003c\\u0026\\u003e"}'
    )


def test_equality_knows_types() -> None:
    assert same({"a": [1, "x", None]}, {"a": [1, "x", None]})
    assert not same(1, 1.0)
    assert not same(1, True)
    assert not same({"a": 1}, {"a": 1, "b": 2})
    assert not same([1], [1, 2])


def test_copies_share_nothing() -> None:
    value = {"a": [{"b": 1}]}
    copy = copied(value)
    copy["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ('"a', "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{}}", "invalid character '}' after top-level value"),
        ("{1}", "invalid character '1' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
    ],
)
def test_malformed_texts(text: str, problem: str) -> None:
    with pytest.raises(Malformed) as caught:
        decode(text)
    assert str(caught.value) == problem
