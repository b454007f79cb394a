"""What is installed is pinned, with hashes, and agrees with constraints.txt."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.lock import CONSTRAINTS, FOLDER, closure, read_constraints, read_lock, sets, write_lock

ROOT = Path(__file__).parents[2]
PINS = read_constraints(CONSTRAINTS.read_text())
LOCKS = ("runtime", "build", "dev")
AGAIN = "run `make lock` and commit locks/"


def lock(name: str) -> dict[str, tuple[str, list[str]]]:
    return read_lock((FOLDER / f"{name}.txt").read_text())


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_what_it_should_in_the_pinned_versions(name: str) -> None:
    versions = {package: version for package, (version, _) in lock(name).items()}
    assert versions == sets(PINS)[name], AGAIN


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_hashes(name: str) -> None:
    everything = lock("dev")
    for package, (_, hashes) in lock(name).items():
        assert hashes, f"{package}: {AGAIN}"
        assert len(hashes) == len(set(hashes))
        assert all(re.fullmatch(r"[0-9a-f]{64}", one) for one in hashes)
        assert everything[package][1] == hashes, AGAIN


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_is_written_in_one_way(name: str) -> None:
    found = lock(name)
    pins = {package: version for package, (version, _) in found.items()}
    hashes = {package: reversed(one) for package, (_, one) in found.items()}
    assert write_lock(pins, hashes) == (FOLDER / f"{name}.txt").read_text()


def test_nothing_is_pinned_that_nobody_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [Requirement(one).name for one in project["dependency-groups"]["dev"]]
    extra = [
        Requirement(one).name for one in project["project"]["optional-dependencies"]["testing"]
    ]
    needed = closure(("mooring", "pip", "hatchling", *wanted, *extra), PINS)
    assert PINS.keys() - needed.keys() == set()


def test_nothing_that_a_new_environment_brings_along_is_left() -> None:
    """What somebody adds to it later is their own business."""
    brought = {"pip", "setuptools", "wheel"}
    found = {
        str(canonicalize_name(one.metadata["Name"])): one.version
        for one in importlib.metadata.distributions()
    }
    assert {name: found[name] for name in brought & found.keys()} == {"pip": PINS["pip"]}, (
        "run `make setup`"
    )


def test_names_are_compared_as_pip_does() -> None:
    assert all(canonicalize_name(name) == name for name in PINS)
    assert read_constraints("# x\nPyYAML==6.0 # why\n\nA_b==1\n") == {"pyyaml": "6.0", "a-b": "1"}


def test_whoever_builds_the_image_can_pin_its_base() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    froms = [line for line in lines if line.startswith("FROM ")]
    assert froms == ["FROM ${BASE} AS build", "FROM ${BASE}"]
    assert [line for line in lines if line.startswith("ARG ")] == ["ARG BASE=python:3.11-slim"]
    assert lines.index("ARG BASE=python:3.11-slim") < lines.index(froms[0])


def test_the_image_fetches_nothing_without_a_hash() -> None:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    runs = [line for line in text.splitlines() if line.startswith("RUN ")]
    commands = [one for line in runs for one in line.removeprefix("RUN ").split("&&")]
    fetching = [one for one in commands if re.search(r"pip\b.* (install|wheel|download) -", one)]
    assert len(fetching) == 4
    assert all("--require-hashes" in one or "--no-index" in one for one in fetching)
