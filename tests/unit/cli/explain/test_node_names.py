"""Names of nodes on a screen."""

import pytest

from mooring.cli.explain.node_names import NodeNames, cut
from mooring.wording import natural_key

POOL = [f"gke-prod-eu-default-pool-5f2b8c1a-x{number}k2" for number in range(12)]
ADDRESSES = [f"ip-10-0-137-{number}.eu-central-1.compute.internal" for number in range(12)]


def test_natural_order() -> None:
    assert sorted(["node-10", "node-2", "a9b", "a10b", "node"], key=natural_key) == [
        "a9b", "a10b", "node", "node-2", "node-10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "end", "expected"),
    [
        ("node-1", 0.65, "node-1"),
        ("gke-prod-default-pool-a1b2", 0.65, "gke-pro…lt-pool-a1b2"),
        ("gke-prod-default-pool-a1b2", 0.35, "gke-prod-defa…l-a1b2"),
        ("gke-prod-default-pool-a1b2", 0.0, "gke-prod-default-po…"),
    ],
)
def test_a_long_name_is_cut_in_the_middle(name: str, end: float, expected: str) -> None:
    assert cut(name, 20, end) == expected
    assert len(expected) <= 20


@pytest.mark.parametrize("every", [POOL, ADDRESSES], ids=["pool", "addresses"])
def test_names_still_differ_when_they_are_cut(every: list[str]) -> None:
    names = NodeNames(every, 32)
    short = {names.short(name) for name in every}
    assert len(short) == len(every)
    assert max(map(len, short)) <= 32


def test_a_pipe_gets_whole_names() -> None:
    names = NodeNames(POOL, None)
    assert names.short(POOL[0]) == POOL[0]
    assert names.listed(POOL[:4]) == ", ".join(POOL[:4])
    assert names.listed(POOL) == f"{', '.join(POOL[:3])} and 9 more"


@pytest.mark.parametrize("every", [POOL, ADDRESSES, ["a", "b", "c", "d", "e"]])
def test_a_list_fits_its_width(every: list[str]) -> None:
    text = NodeNames(every, 32).listed(every)
    assert len(text) <= 32
    assert text.endswith(" more")


def test_names_in_a_sentence_are_cut() -> None:
    text = f"needs 6 cpu, and the most free is 5 ({POOL[3]}), not {POOL[4]}."
    assert NodeNames(POOL, 32).in_text(text, 20) == (
        "needs 6 cpu, and the most free is 5 (gke-pro…f2b8c1a-x3k2), not gke-pro…f2b8c1a-x4k2."
    )
    assert NodeNames(POOL, None).in_text(text, 20) == text
