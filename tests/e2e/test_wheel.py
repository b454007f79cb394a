"""The built package has all that README's first five minutes need, without the repository."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from mooring.deploy.manifests.choices import Mode
from mooring.deploy.scaffold.project import project_files
from tests.e2e.installed_package import ROOT, InstalledPackage


def run(installed: InstalledPackage, folder: Path, program: str, *arguments: str) -> str:
    """What a program of the environment prints."""
    done = subprocess.run(
        [installed.scripts / program, *arguments],
        capture_output=True, text=True, check=False, timeout=300, cwd=folder,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_it_is_the_installed_package_that_is_asked(
    installed: InstalledPackage, tmp_path: Path
) -> None:
    file = run(installed, tmp_path, "python", "-c", "import mooring; print(mooring.__file__)")
    assert Path(file.strip()) == installed.packages / "mooring" / "__init__.py"


def test_examples_are_copied(installed: InstalledPackage, tmp_path: Path) -> None:
    run(installed, tmp_path, "moor", "examples", "fair-gpus", "--copy")
    copied = list((tmp_path / "fair-gpus").iterdir())
    assert copied
    for file in copied:
        text = (ROOT / "examples/06-fair-gpus" / file.name).read_text()
        # What a link to a file of the repository leads to is not there.
        assert file.read_text() == re.sub(r"\[([^]]+)\]\(\.\./[^)]+\)", r"\1", text)
    run(installed, tmp_path, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "fair-gpus")


def test_a_new_project_passes_its_tests_and_shows_its_policy(
    installed: InstalledPackage, tmp_path: Path
) -> None:
    run(installed, tmp_path, "moor", "init", "spot-first")
    project = tmp_path / "spot-first"
    done = subprocess.run(
        ["make", "test", "demo", f"VENV={installed.scripts.parent}"],
        capture_output=True, text=True, check=False, cwd=project, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert "2 passed" in done.stdout
    written = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert set(project_files("spot-first")) <= written
    placed = re.findall(r"^(\S+) +\d+ +(\d+)$", done.stdout, re.MULTILINE)
    assert dict(placed) == {
        "dear-1": "0",
        "dear-2": "0",
        "cheap-1": "5",
        "cheap-2": "5",
        "red": "0",
    }


@pytest.mark.parametrize("mode", [Mode.SIDECAR, Mode.EXTENDER, Mode.STATIC_POD])
def test_a_new_project_in_another_mode_passes_its_tests(
    installed: InstalledPackage, tmp_path: Path, mode: Mode
) -> None:
    run(installed, tmp_path, "moor", "init", "spot-first", "--mode", mode)
    project = tmp_path / "spot-first"
    done = subprocess.run(
        ["make", "test", f"VENV={installed.scripts.parent}"],
        capture_output=True, text=True, check=False, cwd=project, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert "2 passed" in done.stdout
    written = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert set(project_files("spot-first", mode)) <= written


def test_the_wheel_has_no_waste(installed: InstalledPackage) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        files = archive.namelist()
    assert [name for name in files if "__pycache__" in name or ".pytest_cache" in name] == []
    assert "mooring/examples/06-fair-gpus/policy.py" in files
