"""What every file of the repository keeps to."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
#: A family of modules is a folder of its own.
MOST_MODULES = 30
MAX_LINES = 500

#: Hosts that packages are fetched from, and folders of somebody's machine. A mirror or another
#: machine has others. Written in pieces, so that this file does not hold them itself.
FORBIDDEN = re.compile(
    "|".join(
        re.escape("".join(pieces))
        for pieces in [
            ("py", "pi.org"),
            ("files.python", "hosted.org"),
            ("registry.npm", "js.org"),
            ("proxy.go", "lang.org"),
            ("deb.deb", "ian.org"),
            ("security.deb", "ian.org"),
            ("/ro", "ot/"),
            ("/ho", "me/"),
        ]
    )
)
#: Their text is given: the license's, and what Go writes.
AS_GIVEN = {"LICENSE", "go.sum"}


def repository_files() -> list[Path]:
    """The files git knows or would know."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others"]
    listed = subprocess.run(
        [*command, "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = (ROOT / name for name in listed.stdout.split("\0") if name)
    return sorted(path for path in names if path.is_file() and path.name not in AS_GIVEN)


def test_no_file_names_a_package_host_or_a_folder_of_a_machine() -> None:
    found = []
    for path in repository_files():
        text = path.read_bytes().decode(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_no_module_is_longer_than_people_can_follow() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCES}
    assert {str(path): count for path, count in lengths.items() if count > MAX_LINES} == {}


def test_no_folder_has_more_modules_than_people_can_take_in() -> None:
    modules = Counter(str(path.parent.relative_to(ROOT)) for path in SOURCES)
    assert {folder: many for folder, many in modules.items() if many > MOST_MODULES} == {}


@pytest.mark.parametrize(
    "path", SOURCES, ids=[str(path.relative_to(ROOT / "src")) for path in SOURCES]
)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring
    assert docstring.partition("\n")[0].endswith((".", ":"))
