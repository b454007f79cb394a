"""Names of mooring that a page shows in code exist, so that what people copy from it works."""

import re
from pathlib import Path
from typing import Any

import pytest

import mooring
from mooring import hook, testing

ROOT = Path(__file__).parents[2]
#: The changelog and the decisions also name what is gone, and the reference is made from the code.
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    *sorted((ROOT / "docs" / "explain").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"(?<![\w./])([A-Za-z]\w*)\.([A-Za-z]\w*)")
#: What the first part of a dotted name may be: modules as the guides import them, and classes.
OWNERS: dict[str, Any] = {
    "mr": mooring,
    "hook": hook,
    **{
        name: getattr(module, name)
        for module in (mooring, hook, testing)
        for name in module.__all__
        if name[0].isupper()
    },
}


def names(page: Path) -> set[tuple[str, str]]:
    """Owner and name of each dotted name in a page's code, as far as the owner is known."""
    found = {pair for code in CODE.findall(page.read_text()) for pair in DOTTED.findall(code)}
    return {(owner, name) for owner, name in found if owner in OWNERS and name != "py"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_on_a_page_exist(page: Path) -> None:
    gone = [f"{owner}.{name}" for owner, name in names(page) if not has(OWNERS[owner], name)]
    assert sorted(gone) == []


def has(owner: object, name: str) -> bool:
    """Whether it has the attribute, or its instances do."""
    return hasattr(owner, name) or name in getattr(owner, "__annotations__", {})


def test_some_names_are_looked_at() -> None:
    assert ("Fault", "refuse") in names(ROOT / "docs" / "guide" / "testing.md")
