"""A new user's first hour, replayed: README's story, and every promise of the guides in it.

The scripts in `tests/e2e/trial` show what is typed and what must be seen, in terminals of 80
columns and with the package as `pip install` puts it there. Their form is told in `trial_scripts`.
"""

import os
import shutil
from pathlib import Path

import pytest

from mooring.testing.child_process import free_port
from mooring.testing.real_kubernetes import Binaries
from tests.e2e.installed_package import ROOT, InstalledPackage
from tests.e2e.trial_scripts import FOLDER, Trial, read_script

SCRIPTS = sorted(FOLDER.glob("*.txt"))


def needs_binaries(script: Path) -> bool:
    typed = (step.text for step in read_script(script.read_text()) if "$" in step.mark)
    return any(text.startswith(("kubectl ", "kube-scheduler ")) for text in typed)


def environment(installed: InstalledPackage, *programs: Path) -> dict[str, str]:
    """What a new user's terminal has, and no cluster."""
    path = [installed.scripts, *programs, *os.environ["PATH"].split(os.pathsep)]
    return {
        "PATH": os.pathsep.join(map(str, path)),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PORT": str(free_port()),
        "PORT2": str(free_port()),
        "MOORING_COMPLETION_SECONDS": "100",
    }


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(one, id=one.stem, marks=[pytest.mark.kube] if needs_binaries(one) else [])
        for one in SCRIPTS
    ],
)
def test_it_is_as_shown(
    script: Path, installed: InstalledPackage, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    programs: list[Path] = []
    if needs_binaries(script):
        binaries: Binaries = request.getfixturevalue("binaries")
        programs = [binaries.kubectl.parent, binaries.kube_scheduler.parent]
    # The cluster that README and guides ask about.
    shutil.copy(ROOT / "docs/samples/cluster.yaml", tmp_path)
    Trial(tmp_path, environment(installed, *programs)).replay(script.read_text())
