"""Wheel and sdist: what is in them, and that an installed one works without the repository."""

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints that does what it should."""
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of a clean checkout."""
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source") / "mooring"
    run("git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", source, folder=ROOT)
    run(sys.executable, "-m", "hatchling", "build", "--directory", folder, folder=source)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_the_packages_and_the_examples_and_nothing_else(wheel: Path) -> None:
    names = files(wheel)
    print("\n".join(sorted(names)))
    tracked = run("git", "ls-files", "src", "examples", folder=ROOT).splitlines()
    expected = {
        name.removeprefix("src/") if name.startswith("src/") else f"mooring/{name}"
        for name in tracked
    }
    assert {name for name in names if ".dist-info/" not in name} == expected


def test_the_sdist_builds_the_same_wheel(built: Path, wheel: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        print("\n".join(sorted(archive.getnames())))
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    run(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, folder=source
    )  # fmt: skip
    (again,) = tmp_path.glob("*.whl")
    assert files(again) == files(wheel)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has nothing but the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "pip", "install", "--quiet", f"{wheel}[testing]", folder=folder)
    return folder / "bin"


def test_the_installed_package_shows_its_demo(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "moor", "--version", folder=tmp_path).startswith("mooring ")
    assert "pods" in run(installed / "moor", "demo", folder=tmp_path)
    shown = run(installed / "moor", "demo", "--example", "fair-gpus", folder=tmp_path)
    assert "The policy fair-gpus can decide 50%" in shown


def test_a_new_project_passes_its_tests(installed: Path, tmp_path: Path) -> None:
    run(installed / "moor", "init", "spot-first", folder=tmp_path)
    environment = f"VENV={installed.parent}"
    assert "2 passed" in run("make", "test", environment, folder=tmp_path / "spot-first")


def test_a_new_project_is_set_up_with_the_wheel(
    installed: Path, wheel: Path, tmp_path: Path
) -> None:
    run(installed / "moor", "init", "spot-first", folder=tmp_path)
    project = tmp_path / "spot-first"
    run("make", "setup", f"MOORING={wheel}", folder=project)
    assert "2 passed" in run("make", "test", folder=project)
