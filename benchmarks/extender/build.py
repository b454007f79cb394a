"""Builds the Go extender into the cache folder, outside the tree; called by `__main__`.

The cache is ``${MOORING_CACHE:-${XDG_CACHE_HOME:-~/.cache}/mooring}/bench/``, as for `make kube`.
"""

import os
import shutil
import subprocess
from pathlib import Path

from benchmarks.command import BenchError

SOURCE = Path(__file__).parent / "goextender"


def cache_folder() -> Path:
    """The folder for built programs."""
    cache = os.environ.get("MOORING_CACHE")
    if not cache:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        cache = str(Path(base) / "mooring")
    return Path(cache) / "bench"


def go_extender() -> Path:
    """Build the Go extender, which is quick when nothing changed, and return its path."""
    if shutil.which("go") is None:
        raise BenchError("the Go extender is built here: put Go 1.26 or newer on the PATH.")
    target = cache_folder() / "goextender"
    target.parent.mkdir(parents=True, exist_ok=True)
    built = subprocess.run(
        ["go", "build", "-trimpath", "-o", str(target), "."],
        cwd=SOURCE,
        env={**os.environ, "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        reason = (built.stderr.strip() or "no message").splitlines()[-1]
        raise BenchError(f"the Go extender does not build: {reason}")
    return target


def go_version() -> str:
    """The version of the Go that builds the extender, such as ``go1.26.0``."""
    return subprocess.run(
        ["go", "env", "GOVERSION"], cwd=SOURCE, capture_output=True, text=True, check=True
    ).stdout.strip()
