"""The generated pages of docs/reference are what the code says, and say enough."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import mooring.hook
from tools import reference

ROOT = Path(__file__).parents[2]
HOOKS = [
    getattr(mooring.hook, name)
    for name in mooring.hook.__all__
    if inspect.isclass(getattr(mooring.hook, name)) and name != "Hook"
]


def test_the_pages_are_up_to_date_however_wide_the_terminal_is() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.reference", "--check"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "20", "TERM": "dumb", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "run `make docs`"


def test_pages_that_are_missing_or_differ_are_stale(tmp_path: Path) -> None:
    pages = {"api.md", "cli.md", "hooks.md", "metrics.md", "scenario.md"}
    assert set(reference.stale(tmp_path)) == pages
    for name, text in reference.pages().items():
        (tmp_path / name).write_text(text)
    assert reference.stale(tmp_path) == []
    (tmp_path / "cli.md").write_text("# Old\n")
    assert reference.stale(tmp_path) == ["cli.md"]


def test_every_hook_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "hooks.md").read_text()
    assert len(HOOKS) >= 6
    for kind in HOOKS:
        _, found, rest = page.partition(f"## `hook.{kind.__name__}`\n")
        section = rest.partition("\n## ")[0]
        assert found, f"{kind.__name__} is not in hooks.md"
        assert inspect.cleandoc(kind.__doc__ or "").partition("\n")[0] in section
        own = getattr(kind, "__abstractmethods__", frozenset()) & vars(kind).keys()
        for method in own:
            assert f"\n{method}(" in section
            assert reference.prose(getattr(kind, method).__doc__) in section


def test_every_public_name_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text()
    for name in [*mooring.__all__, *mooring.testing.__all__]:
        _, found, rest = page.partition(f"### `{name}`\n")
        assert found, f"{name} is not in api.md"
        assert rest.partition("\n### ")[0].strip(), f"{name} has no text in api.md"
