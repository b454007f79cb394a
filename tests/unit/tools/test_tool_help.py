"""``--help`` helps, and does nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WRITTEN = [ROOT / "src/mooring/embedded/schema", ROOT / "locks", ROOT / "docs/reference"]


def times() -> list[float]:
    return [file.stat().st_mtime for folder in WRITTEN for file in sorted(folder.glob("*.*"))]


@pytest.mark.parametrize("tool", ["lock", "reference", "schema", "stored_form", "wire"])
def test_help(tool: str) -> None:
    before = times()
    done = subprocess.run(
        [sys.executable, "-m", f"tools.{tool}", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")
    assert times() == before
