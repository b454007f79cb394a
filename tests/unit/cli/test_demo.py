import subprocess
import sys
from pathlib import Path

from tests.unit.cli.moor import environment


def test_the_demo_places_pods_with_nothing_else_installed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mooring.cli", "demo"],
        capture_output=True, text=True, check=False, timeout=60,
        cwd=tmp_path, env=environment(tmp_path, COLUMNS="120"),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    for step in ("1. A policy", "2. moor serve", "3. Pods come in", "4. Where they went"):
        assert step in done.stdout
    assert "calls over HTTP" in done.stdout
