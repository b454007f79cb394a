"""Answers are read as Go's encoding/json reads them into extender/v1."""

from typing import Any

import pytest

from mooring.deploy.extender_test.decoding import (
    NotJson,
    VictimsAnswer,
    WrongType,
    decode,
    read_bind,
    read_filter,
    read_scores,
    read_victims,
    shortened,
)


@pytest.mark.parametrize(
    ("body", "value", "rest"),
    [
        (b'{"a": 1}', {"a": 1}, False),
        (b" [1] \n", [1], False),
        (b"null", None, False),
        (b'{"a": 1}{"b": 2}', {"a": 1}, True),
        (b"[] trailing", [], True),
        (b'"\xff"', "�", False),
    ],
)
def test_the_first_value_counts(body: bytes, value: Any, rest: bool) -> None:
    assert decode(body) == (value, rest)


@pytest.mark.parametrize(
    "body", [b"", b" \n", b"{", b"<html>", b"[NaN]", b"Infinity", b"[" * 100_000, b"'a'"]
)
def test_a_body_without_json(body: bytes) -> None:
    with pytest.raises(NotJson):
        decode(body)


def test_a_filter_answer_in_any_case_of_letters() -> None:
    answer = read_filter(
        {"nodenames": ["a", None], "FAILEDNODES": {"b": None}, "error": None, "other": 1}
    )
    assert answer == (None, ["a", ""], {"b": ""}, {}, "")
    assert read_filter(None) == (None, None, {}, {}, "")


def test_whole_nodes_are_read_as_nodes() -> None:
    good = {"metadata": {"name": "a", "labels": None}, "status": {"allocatable": {"cpu": "1"}}}
    answer = read_filter({"Nodes": {"items": [good, None]}})
    assert answer.nodes is not None
    assert [name for name, _ in answer.nodes] == ["a", ""]


@pytest.mark.parametrize(
    "answer",
    [
        [],
        "all",
        {"NodeNames": "a"},
        {"NodeNames": [1]},
        {"NodeNames": {"a": True}},
        {"Nodes": ["a"]},
        {"Nodes": {"items": {"a": {}}}},
        {"Nodes": {"items": ["a"]}},
        {"Nodes": {"items": [{"metadata": {"name": 1}}]}},
        {"Nodes": {"items": [{"metadata": {"labels": {"a": 1}}}]}},
        {"Nodes": {"items": [{"status": {"allocatable": {"cpu": "a lot"}}}]}},
        {"FailedNodes": ["a"]},
        {"FailedNodes": {"a": ["why"]}},
        {"Error": True},
    ],
)
def test_a_filter_answer_with_a_wrong_type(answer: Any) -> None:
    with pytest.raises(WrongType):
        read_filter(answer)


def test_scores() -> None:
    assert read_scores([{"host": "a", "SCORE": 3}, {"Host": "b"}, None]) == [
        ("a", 3),
        ("b", 0),
        ("", 0),
    ]
    assert read_scores(None) == []


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"a": 1},
        ["a"],
        [{"Host": 1}],
        [{"Host": "a", "Score": 7.0}],
        [{"Host": "a", "Score": "7"}],
        [{"Host": "a", "Score": True}],
        [{"Host": "a", "Score": 2**63}],
    ],
)
def test_scores_of_a_wrong_type(answer: Any) -> None:
    if answer == {}:
        # Go cannot put an object into a list, even an empty one.
        answer = {"empty": None}
    with pytest.raises(WrongType):
        read_scores(answer)


def test_victims() -> None:
    answer = {
        "nodeNameToMetaVictims": {
            "a": {"pods": [{"uid": "1"}, None], "numPDBViolations": 1},
            "b": None,
        }
    }
    assert read_victims(answer) == {"a": VictimsAnswer(["1", None], 1), "b": None}
    assert read_victims({}) == {}
    with pytest.raises(WrongType):
        read_victims({"NodeNameToMetaVictims": {"a": ["1"]}})
    with pytest.raises(WrongType):
        read_victims({"NodeNameToMetaVictims": {"a": {"NumPDBViolations": "1"}}})


def test_bind() -> None:
    assert read_bind({"error": "no"}) == "no"
    assert read_bind(None) == ""
    with pytest.raises(WrongType):
        read_bind({"Error": {"message": "no"}})


def test_words_of_an_extender_cannot_do_anything_to_a_terminal() -> None:
    assert shortened("a\x1b[31mb\n\tc\ud800") == r"a\x1b[31mb c\ud800"
    assert len(shortened("x" * 10_000)) < 250
