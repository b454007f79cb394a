"""What README and the guide show of ``moor explain`` is what it prints."""

import re
from pathlib import Path

import pytest

from tests.unit.cli.command_line import Run as Explain

ROOT = Path(__file__).parents[4]
SHOWN = [
    (page.name, *found)
    for page in (ROOT / "README.md", ROOT / "docs" / "guide" / "explain.md")
    for found in re.findall(
        r"^```console\n\$ moor explain (.*?)\n(.*?)^```$",
        page.read_text(),
        re.MULTILINE | re.DOTALL,
    )
]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [found for _, *found in SHOWN],
    ids=[f"{page}: {one}" for page, one, _ in SHOWN],
)
def test_a_page_shows_what_is_printed(
    run: Explain, monkeypatch: pytest.MonkeyPatch, arguments: str, shown: str
) -> None:
    monkeypatch.chdir(ROOT / "docs" / "samples")
    monkeypatch.setenv("COLUMNS", "80")
    assert run(*arguments.split())[1] == shown
