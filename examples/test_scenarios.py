"""Every scenario gives what its file of expected output says, byte for byte.

After a change that is meant to change them, ``UPDATE_EXPECTED=1 python -m pytest
examples/test_scenarios.py`` writes the files anew; look at the difference.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
OF_POLICIES = sorted(HERE.glob("*/policy.py"))
SCENARIOS = {
    **{file.parent / "scenario.yaml": file.parent / "expected.txt" for file in OF_POLICIES},
    **{
        file: file.with_suffix(".txt")
        for file in sorted((HERE / "scenarios").glob("*.yaml"))
        if not file.stem.endswith("-config")
    },
}


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=name_of)
def test_a_scenario_gives_what_is_expected(scenario: Path) -> None:
    # 01-random draws from a generator of its own, whose seed this is.
    environment = {**os.environ, "COLUMNS": "80", "SEED": "1"}
    told = subprocess.run(
        [sys.executable, "-m", "mooring.cli", "simulate", scenario.name],
        cwd=scenario.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode in (0, 1), told.stderr
    assert max(map(len, told.stdout.splitlines())) <= 80
    expected = SCENARIOS[scenario]
    if os.environ.get("UPDATE_EXPECTED"):
        expected.write_text(told.stdout)
    assert told.stdout == expected.read_text()
