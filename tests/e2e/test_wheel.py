"""The built package has all that README's first five minutes need, without the repository."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files where an installation would put them, built as the image's are."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for line in re.findall(r"^COPY (.*) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE):
        for name in line.split():
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / name)
            elif (ROOT / name).is_file():
                shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=source, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def moor(installed: Path, folder: Path, *arguments: str) -> str:
    """What a command of the installed package prints."""
    done = subprocess.run(
        [sys.executable, "-m", "mooring.cli", *arguments],
        capture_output=True, text=True, check=False, timeout=300, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_it_is_the_installed_package_that_is_asked(installed: Path, tmp_path: Path) -> None:
    code = "import mooring; print(mooring.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert Path(done.stdout.strip()) == installed / "mooring" / "__init__.py"


def test_examples_are_listed_shown_and_copied(installed: Path, tmp_path: Path) -> None:
    assert "fair-gpus" in moor(installed, tmp_path, "examples")
    shown = moor(installed, tmp_path, "demo", "--example", "fair-gpus")
    assert "The policy fair-gpus can decide 50%" in shown
    moor(installed, tmp_path, "examples", "fair-gpus", "--copy")
    original = ROOT / "examples" / "06-fair-gpus"
    for file in (tmp_path / "fair-gpus").iterdir():
        assert file.read_text() == (original / file.name).read_text()


def test_the_copied_policy_passes_its_copied_tests(installed: Path, tmp_path: Path) -> None:
    moor(installed, tmp_path, "examples", "fair-gpus", "--copy")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        capture_output=True, text=True, check=False, cwd=tmp_path / "fair-gpus", timeout=300,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_new_project_passes_its_tests_and_shows_its_policy(
    installed: Path, tmp_path: Path
) -> None:
    moor(installed, tmp_path, "init", "spot-first")
    done = subprocess.run(
        ["make", "test", "demo", f"PYTHON={sys.executable}"],
        capture_output=True, text=True, check=False, cwd=tmp_path / "spot-first", timeout=300,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert done.returncode == 0, done
    assert "2 passed" in done.stdout
    placed = re.findall(r"^(\S+) +\d+ +(\d+)$", done.stdout, re.MULTILINE)
    assert dict(placed) == {
        "dear-1": "0",
        "dear-2": "0",
        "cheap-1": "5",
        "cheap-2": "5",
        "red": "0",
    }


def test_the_wheel_has_no_waste(installed: Path) -> None:
    files = [str(file.relative_to(installed)) for file in installed.rglob("*") if file.is_file()]
    assert [name for name in files if "__pycache__" in name or ".pytest_cache" in name] == []
    assert "mooring/examples/06-fair-gpus/policy.py" in files
