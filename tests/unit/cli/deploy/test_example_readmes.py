"""The commands in the READMEs of the examples print what the READMEs show."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.moor import environment

EXAMPLES = Path(__file__).parents[4] / "examples"
NAMES = ["01-random", "02-always-true", "03-image-score", "07-allocatable"]


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_print_what_the_readme_shows(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(EXAMPLES / name, folder)
    program = tmp_path / "bin" / "moor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mooring.cli "$@"\n')
    program.chmod(0o755)
    env = environment(tmp_path, PATH=f"{program.parent}:{os.environ['PATH']}")
    text = (folder / "README.md").read_text()
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    shown = "".join(blocks)
    printed = ""
    for command in re.findall(r"^\$ (.*)$", shown, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=env, text=True, check=False, timeout=300,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        printed += f"$ {command}\n{done.stdout}"
    assert printed == shown
    assert len(blocks) > 1
    for made in folder.glob("nodeport.yaml"):
        assert made.read_text() == (EXAMPLES / name / made.name).read_text()
