"""The short form of ``make soak``: fixed seeds, a few kinds of trouble, one and two replicas.

The script is that of the long form; a phase that fails here is replayed with ``make soak``.
"""

from itertools import islice
from pathlib import Path

import pytest

from tools.soak.driver import soak
from tools.soak.report import RunResult
from tools.soak.script import phases

pytestmark = pytest.mark.kube

#: No phase may be left out because the machine is slow.
MINUTES = 60.0
#: Only so that a test that hangs ends some day.
PATIENCE = 900.0


@pytest.mark.parametrize(
    ("replicas", "seed", "troubles"),
    [
        (1, 7, {"broken-network", "old-events"}),
        (2, 5, {"pause-beyond-the-lease", "busy-apiserver"}),
    ],
)
def test_nothing_that_must_hold_is_violated(
    tmp_path: Path, replicas: int, seed: int, troubles: set[str]
) -> None:
    script = islice(
        (one for one in phases(seed, replicas) if one.trouble in troubles), len(troubles)
    )
    result = RunResult(seed=seed, replicas=replicas, minutes=MINUTES)
    soak(tmp_path, script, result, patience=PATIENCE)
    for done in result.phases:
        assert done.violations == [], f"seed {seed}, phase {done.phase.number}: see {tmp_path}"
        assert done.bound > 0
    assert len(result.phases) == len(troubles)
    assert sum(sum(done.faults.values()) for done in result.phases) > 0
