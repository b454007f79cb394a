"""Strict reading: every mistake has a path and says what to do."""

import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from mooring.config.strict_decoding import (
    FieldProblem,
    Int32,
    decode,
    decode_or_raise,
    join_path,
    nearest,
    raise_problems,
    shown,
)
from mooring.errors import InputError
from mooring.model.duration import Duration


class Colour(enum.Enum):
    RED = "Red"
    GREEN = "Green"


class Point(msgspec.Struct, frozen=True, rename="camel"):
    utilization: int
    score: Annotated[float, msgspec.Meta(gt=0, lt=10)] = 1


class Shape(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    whole_number: Int32 = 7
    flag: bool = False
    text: str = "x"
    ratio: float = 0.5
    data: bytes = b""
    wait: Duration | None = None
    mode: Literal["Least", "Most"] = "Least"
    colour: Colour = Colour.RED
    points: tuple[Point, ...] = ()
    labels: dict[str, int] = {}
    either: int | list[int] = 0
    anything: Any = None
    gaps: tuple[int | None, ...] = ()


def problems_of(data: object) -> list[str]:
    problems: list[FieldProblem] = []
    found = decode(Shape, data, "args", problems)
    assert (found is None) == bool(problems)
    return [str(problem) for problem in problems]


def test_good_data_become_a_struct() -> None:
    found = decode_or_raise(
        Shape,
        {
            "wholeNumber": 5.0,
            "flag": True,
            "ratio": 2,
            "data": "Zm9v",
            "wait": "1m",
            "mode": "Most",
            "colour": "Green",
            "points": [{"utilization": 3}],
            "labels": {"a": 1},
            "either": [1, 2],
            "anything": {"a": None},
        },
        "",
    )
    assert found == Shape(
        whole_number=5,
        flag=True,
        ratio=2.0,
        data=b"foo",
        wait=Duration.of_seconds(60),
        mode="Most",
        colour=Colour.GREEN,
        points=(Point(3),),
        labels={"a": 1},
        either=[1, 2],
        anything={"a": None},
    )


def test_null_means_absent() -> None:
    assert decode_or_raise(Shape, {"gaps": [1, None]}, "") == Shape(gaps=(1, None))
    assert (
        decode_or_raise(Shape, {"wholeNumber": None, "points": None, "wait": None}, "") == Shape()
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"wholeNumber": "5"}, "args.wholeNumber: '5' is invalid: must be an integer"),
        ({"wholeNumber": True}, "args.wholeNumber: true is invalid: must be an integer"),
        ({"wholeNumber": 1.5}, "args.wholeNumber: 1.5 is invalid: must be an integer"),
        (
            {"wholeNumber": 2**31},
            "args.wholeNumber: 2147483648 is out of range: must be at most 2147483647",
        ),
        ({"flag": "yes"}, "args.flag: 'yes' is invalid: must be true or false"),
        ({"text": 5}, "args.text: 5 is invalid: must be a string"),
        ({"ratio": []}, "args.ratio: a list is invalid: must be a number"),
        ({"data": "!"}, "args.data: '!' is invalid: must be base64"),
        ({"wait": 5}, "args.wait: 5 is not a valid duration: use for example 15s, 1m30s or 100ms"),
        (
            {"wait": "5"},
            "args.wait: '5' is not a valid duration: use for example 15s, 1m30s or 100ms",
        ),
        ({"mode": "least"}, "args.mode: 'least' is not supported: did you mean Least?"),
        ({"mode": "Never"}, "args.mode: 'Never' is not supported: use Least or Most"),
        ({"colour": "Blue"}, "args.colour: 'Blue' is not supported: use Red or Green"),
        ({"points": {}}, "args.points: an object is invalid: must be a list"),
        ({"points": "ab"}, "args.points: 'ab' is invalid: must be a list"),
        ({"points": [5]}, "args.points[0]: 5 is invalid: must be an object"),
        ({"points": [{}]}, "args.points[0].utilization: required value is missing"),
        (
            {"points": [{"utilization": 1, "score": 10}]},
            "args.points[0].score: 10 is out of range: must be less than 10",
        ),
        (
            {"points": [{"utilization": 1, "score": 0}]},
            "args.points[0].score: 0 is out of range: must be greater than 0",
        ),
        # Also where the struct itself would pass over what it does not know.
        (
            {"points": [{"utilization": 1, "Score": 2}]},
            "args.points[0].Score: unknown field: did you mean score?",
        ),
        (
            {"points": [{"utilization": 1, "zzz": 2}]},
            "args.points[0].zzz: unknown field: the fields here are utilization, score",
        ),
        ({"labels": []}, "args.labels: a list is invalid: must be an object"),
        ({"labels": {"a": "b"}}, "args.labels.a: 'b' is invalid: must be an integer"),
        ({"wholeNumbr": 5}, "args.wholeNumbr: unknown field: did you mean wholeNumber?"),
        ({5: 6}, "args.5: unknown field: remove it"),
        ([], "args: a list is invalid: must be an object"),
        (None, "args: null is invalid: must be an object"),
    ],
)
def test_one_mistake(data: object, problem: str) -> None:
    [found] = problems_of(data)
    assert found.startswith(problem)


def test_a_type_with_several_shapes_is_left_to_msgspec() -> None:
    [found] = problems_of({"either": "x"})
    assert found.startswith("args.either: 'x' is invalid: ")


def test_all_mistakes_are_found_at_once() -> None:
    data = {"flag": 1, "points": [{"utilization": "a"}, {"utilization": 2}, {"score": 5}]}
    assert [found.partition(":")[0] for found in problems_of(data)] == [
        "args.flag",
        "args.points[0].utilization",
        "args.points[2].utilization",
    ]


def test_a_rejection_lists_five() -> None:
    problems = [FieldProblem(f"a[{place}]", "it is wrong") for place in range(7)]
    with pytest.raises(InputError) as caught:
        raise_problems([*problems, problems[0]])
    assert str(caught.value) == (
        "a[0]: it is wrong; a[1]: it is wrong; a[2]: it is wrong; a[3]: it is wrong; "
        "a[4]: it is wrong; and 2 more problems"
    )
    raise_problems([])


def test_a_type_that_no_file_can_hold() -> None:
    class Thing:
        pass

    class Holder(msgspec.Struct):
        thing: Thing

    with pytest.raises(InputError, match=r"a\.thing: 5 is invalid: Thing cannot be read"):
        decode_or_raise(Holder, {"thing": 5}, "a")


def test_what_the_struct_itself_rejects() -> None:
    class Even(msgspec.Struct):
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError("it is odd")

    with pytest.raises(InputError, match="a: invalid value: it is odd"):
        decode_or_raise(Even, {"number": 3}, "a")


def test_paths() -> None:
    assert join_path("a", "b") == "a.b"
    assert join_path("", "b") == "b"
    assert join_path("a", "") == "a"
    assert join_path("a", "[0].b") == "a[0].b"


def test_nearest() -> None:
    assert nearest("nodename", ["NodePorts", "NodeName"]) == "NodeName"
    assert nearest("zzz", ["NodePorts", "NodeName"]) is None
    assert nearest("x", []) is None


def test_values_are_shown_shortened() -> None:
    assert shown("x" * 100) == "'" + "x" * 56 + "..."
    assert shown(False) == "false"
