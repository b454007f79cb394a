"""The commands of docs/guide/deploy.md print what the guide shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.moor import environment

ROOT = Path(__file__).parents[4]
GUIDE = (ROOT / "docs" / "guide" / "deploy.md").read_text()
BLOCKS = [
    (command, shown)
    for block in re.findall(r"^```console\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    for command, shown in re.findall(r"^\$ (.*)\n((?:[^$].*\n|\n)*)", block, re.MULTILINE)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader would be, with the policy of the examples and `moor` on the path."""
    made = tmp_path_factory.mktemp("guide")
    shutil.copy(ROOT / "examples" / "06-fair-gpus" / "policy.py", made)
    program = made / "bin" / "moor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mooring.cli "$@"\n')
    program.chmod(0o755)
    return made


@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[one for one, _ in BLOCKS])
def test_a_command_prints_what_the_guide_shows(folder: Path, command: str, shown: str) -> None:
    if "spot-first &&" in command and not (folder / "spot-first").exists():
        subprocess.run(["moor", "init", "spot-first"], cwd=folder, check=True, env=_env(folder))
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=_env(folder), text=True, check=False, timeout=300,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, shown)


def _env(folder: Path) -> dict[str, str]:
    return environment(folder, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")


def test_the_guide_has_commands() -> None:
    assert len(BLOCKS) > 5
