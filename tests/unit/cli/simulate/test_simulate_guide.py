"""docs/guide/simulate.md shows scenarios, output and mistakes as they are."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
GUIDE = (ROOT / "docs" / "guide" / "simulate.md").read_text()
SCENARIOS = ROOT / "examples" / "scenarios"


def test_the_scenario_and_its_output_are_those_of_the_example() -> None:
    for name in ("zone-failure.yaml", "zone-failure.txt"):
        assert (SCENARIOS / name).read_text() in GUIDE


def test_the_mistake_is_what_the_command_says(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "cluster: {nodeGroups: [{name: n, count: 1}]}\nworkloads:\n  - name: a\n    coutn: 3\n"
    )
    command = [sys.executable, "-m", "mooring.cli", "scenario", "check", "s.yaml"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    shown = re.search(r"^(moor: s\.yaml:4:5: .*), \.\.\.$", GUIDE, re.MULTILINE)
    assert shown is not None
    assert told.stderr.startswith(shown[1]), told.stderr


def test_the_comparison_is_what_the_command_prints() -> None:
    asked = re.search(r"^\$ moor (compare .*)$", GUIDE, re.MULTILINE)
    assert asked is not None
    command = [sys.executable, "-m", "mooring.cli", *shlex.split(asked[1])]
    env = {**os.environ, "COLUMNS": "80"}
    told = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert f"```\n{told.stdout}```\n" in GUIDE


def test_every_event_is_named() -> None:
    from mooring.simulator.scenario.schema import ScenarioEvent

    for name in ScenarioEvent.__struct_fields__:
        assert name == "at" or f"`{name}`" in GUIDE
