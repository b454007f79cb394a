"""What is nested too deeply is rejected before a loader sees it, whatever it is made of."""

import random

import pytest
import yaml

from mooring.yaml_depth import MOST_LEVELS, TooDeep, _at_most, check_depth
from mooring.yaml_text import YamlProblem, parse

#: A hundred thousand levels end a process that loads them.
DEEP = 100_000


@pytest.mark.parametrize("piece", ["[", "{", "[a: ", "{a: [", "- ", "? ", "- ? ", "{? "])
def test_many_levels(piece: str) -> None:
    with pytest.raises(TooDeep, match=f"nested more than {MOST_LEVELS} levels deep"):
        check_depth(piece * DEEP)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x85", "\u2028"])
def test_levels_by_indentation(end: str) -> None:
    with pytest.raises(TooDeep):
        check_depth(end.join(f"{' ' * level}a:" for level in range(2 * MOST_LEVELS)))


def test_as_many_as_there_may_be() -> None:
    text = "[" * MOST_LEVELS + "]" * MOST_LEVELS
    check_depth(text)
    found = parse(text)
    for _ in range(MOST_LEVELS - 1):
        (found,) = found
    assert found == []
    with pytest.raises(YamlProblem, match="it is nested more than 500 levels deep, in line 8"):
        parse(f"\n\n[{text}]", first_line=5)


@pytest.mark.parametrize(
    "text",
    [
        "[] " * 10_000,
        "- [a]\n" * 10_000,
        "a: '" + "[" * DEEP + "'",
        "a: |\n  " + "[{" * DEEP,
        " " * DEEP + "a: b",
        "-" * DEEP,
        "",
    ],
)
def test_much_that_is_flat(text: str) -> None:
    check_depth(text)


def _levels(text: str) -> int:
    levels = most = 0
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                levels += 1
                most = max(levels, most)
            elif isinstance(event, yaml.CollectionEndEvent):
                levels -= 1
    except yaml.YAMLError:
        pass
    return most


PIECES = (
    "- ", "? ", ": ", "a: ", "a", "\n", " ", "  ", "[", "]", "{", "}", "!!seq ", "!t ",
    "&x ", "*x ", "'q'", '"', "|\n", ">\n", "#", "\t", "-", "?", ":", ",", "\n- ", "\n  - ",
    "\na:", "\n a:\n", "\r", "\x85", "\u2028", "- !!seq - ", "- &a - ", "\n---\n", "---",
    "? - ? - ", "a: - ", "--- - - ",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_the_quick_look_never_finds_too_few(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(1000):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 25)))
        assert _levels(text) <= _at_most(text), repr(text)
