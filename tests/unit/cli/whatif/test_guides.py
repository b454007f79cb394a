"""What the guides of whatif, capacity and rebalance show is what the commands print."""

import re
from pathlib import Path

import pytest

from tests.unit.cli.command_line import Run

ROOT = Path(__file__).parents[4]
PAGES = ("whatif", "capacity", "rebalance")
SHOWN = [
    (name, *found)
    for name in PAGES
    for found in re.findall(
        r"^```console\n\$ moor (.*?)\n(.*?)^```$",
        (ROOT / "docs" / "guide" / f"{name}.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [found for _, *found in SHOWN],
    ids=[f"{page}: {one}" for page, one, _ in SHOWN],
)
def test_a_page_shows_what_is_printed(
    command_line: Run, monkeypatch: pytest.MonkeyPatch, arguments: str, shown: str
) -> None:
    monkeypatch.chdir(ROOT / "docs" / "samples" / "whatif")
    monkeypatch.setenv("COLUMNS", "80")
    assert command_line(*arguments.split())[1] == shown


def test_every_guide_has_examples() -> None:
    assert {page for page, *_ in SHOWN} == set(PAGES)
