"""``moor examples`` and ``moor demo --example``: examples by name, wherever mooring is."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.cli.example_files import all_examples
from tests.unit.cli.command_line import Run
from tests.unit.cli.moor import environment

ROOT = Path(__file__).parents[3]
NAMES = [
    "random",
    "always-true",
    "image-score",
    "ssd-filter",
    "gpu-packing",
    "fair-gpus",
    "allocatable",
]


def moor(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mooring.cli", *arguments],
        capture_output=True, text=True, check=False, timeout=300,
        cwd=folder, env=environment(folder),
    )  # fmt: skip


def sentence(done: "subprocess.CompletedProcess[str]") -> str:
    """What a wrong command says."""
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


class TestExamples:
    def test_they_are_listed_by_name_with_what_they_show(self, tmp_path: Path) -> None:
        done = moor(tmp_path, "examples")
        assert (done.returncode, done.stderr) == (0, "")
        for name in NAMES:
            assert re.search(rf"^{name} +\w", done.stdout, re.MULTILINE), name
        assert "moor demo --example fair-gpus" in done.stdout
        assert [one.name for one in all_examples()] == NAMES

    def test_as_json(self, command_line: Run) -> None:
        code, out, err = command_line("examples", "-o", "json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert [one["name"] for one in found] == NAMES
        assert all(one["summary"] for one in found)

    @pytest.mark.parametrize("name", ["ssd-filter", "04-ssd-filter"])
    def test_a_policy_is_printed(self, tmp_path: Path, name: str) -> None:
        done = moor(tmp_path, "examples", name)
        policy = ROOT / "examples" / "04-ssd-filter" / "policy.py"
        assert (done.returncode, done.stdout) == (0, policy.read_text())

    def test_one_is_copied_into_a_new_folder_and_never_over_another(self, tmp_path: Path) -> None:
        done = moor(tmp_path, "examples", "fair-gpus", "--copy")
        assert (done.returncode, done.stderr) == (0, "")
        copied = {file.name: file.read_text() for file in (tmp_path / "fair-gpus").iterdir()}
        original = ROOT / "examples" / "06-fair-gpus"
        assert {"policy.py", "test_policy.py", "nodes.yaml", "workload.yaml"} <= copied.keys()
        page = copied.pop("README.md")
        assert copied == {name: (original / name).read_text() for name in copied}
        assert "[policy](policy.py)" in page
        assert "](../" not in page
        assert "    cd fair-gpus\n" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert sentence(moor(tmp_path, "examples", "fair-gpus", "--copy")) == (
            "moor: fair-gpus already exists and is not overwritten; remove it first\n"
        )

    def test_nothing_is_copied_through_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "fair-gpus").symlink_to(tmp_path / "elsewhere")
        assert "fair-gpus already exists" in sentence(
            moor(tmp_path, "examples", "fair-gpus", "--copy")
        )
        assert not (tmp_path / "elsewhere").exists()

    def test_nothing_is_left_if_it_cannot_be_copied(self, tmp_path: Path) -> None:
        command = f"ulimit -f 0; {sys.executable} -m mooring.cli examples fair-gpus --copy"
        done = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, check=False,
            cwd=tmp_path, env=environment(tmp_path),
        )  # fmt: skip
        assert sentence(done) == "moor: fair-gpus cannot be written: File too large\n"
        assert not (tmp_path / "fair-gpus").exists()

    @pytest.mark.parametrize("command", [["examples"], ["demo", "--example"]])
    def test_a_name_that_is_nearly_right(self, tmp_path: Path, command: list[str]) -> None:
        assert sentence(moor(tmp_path, *command, "fair-gpu")) == (
            "moor: there is no example 'fair-gpu'; did you mean fair-gpus?\n"
        )

    def test_a_name_that_is_wrong(self, tmp_path: Path) -> None:
        assert sentence(moor(tmp_path, "examples", "xyz")) == (
            f"moor: there is no example 'xyz'; there are {', '.join(NAMES)}\n"
        )

    def test_a_copy_has_all_files_that_its_page_names(self, tmp_path: Path) -> None:
        for name in ("random", "image-score", "ssd-filter", "allocatable"):
            done = moor(tmp_path, "examples", name, "--copy")
            assert done.returncode == 0, done.stderr
            folder = tmp_path / name
            page = (folder / "README.md").read_text()
            links = [one for one in re.findall(r"\]\(([^)#]+)", page) if "://" not in one]
            assert links
            assert [one for one in links if not (folder / one).exists()] == []

    def test_copying_needs_a_name(self, tmp_path: Path) -> None:
        assert "--copy needs the name of an example" in sentence(
            moor(tmp_path, "examples", "--copy")
        )


class TestDemo:
    @pytest.mark.parametrize(
        ("name", "with_policy"),
        [
            ("always-true", [2, 2, 2]),
            ("image-score", [0, 0, 4]),
            ("ssd-filter", [0, 0, 6]),
            ("gpu-packing", [0, 0, 6]),
            ("fair-gpus", [0, 2, 4]),
            ("allocatable", [0, 0, 6]),
        ],
    )
    def test_it_shows_what_the_policy_changes(
        self, tmp_path: Path, name: str, with_policy: list[int]
    ) -> None:
        done = moor(tmp_path, "demo", "--example", name)
        assert (done.returncode, done.stderr) == (0, "")
        rows = re.findall(r"^\S+ +(\d+) +(\d+)$", done.stdout, re.MULTILINE)
        without = [1, 1, 2] if name == "image-score" else [2, 2, 2]
        assert sorted(int(before) for before, _ in rows) == without
        assert sorted(int(after) for _, after in rows) == with_policy
        assert ("can decide 50% of a node's total" in done.stdout) == (name != "ssd-filter")
        assert f"moor examples {name} --copy" in done.stdout
        assert list(tmp_path.iterdir()) == []

    def test_chance_decides_and_nobody_is_forgotten(self, tmp_path: Path) -> None:
        done = moor(tmp_path, "demo", "--example", "random")
        rows = re.findall(r"^(?:node-\d|no node) +(\d+) +(\d+)$", done.stdout, re.MULTILINE)
        assert sum(int(after) for _, after in rows) == 6

    @pytest.mark.parametrize("other", [["--nodes", "3"], ["--pods", "50"], ["--policy", "p.py"]])
    def test_an_example_brings_everything(self, tmp_path: Path, other: list[str]) -> None:
        done = moor(tmp_path, "demo", "--example", "fair-gpus", *other)
        assert sentence(done).endswith("remove the other options\n")
