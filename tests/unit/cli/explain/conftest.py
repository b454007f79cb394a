from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.command_line import Result, snapshot_text
from tests.unit.cli.command_line import Run as Explain


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: Explain) -> Explain:
    monkeypatch.chdir(tmp_path)
    return partial(command_line, "explain")


@pytest.fixture
def explain(run: Explain, tmp_path: Path) -> Explain:
    """Explains a pod on a cluster given as objects; further arguments are options."""

    def call(pod: str, things: list[Any], *options: str | Path) -> Result:
        file = tmp_path / "dump.json"
        file.write_text(snapshot_text(things))
        return run(pod, "--snapshot", file, *options)

    return call
