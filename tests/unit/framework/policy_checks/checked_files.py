"""Policies as files, and what is said of them when they are loaded."""

from pathlib import Path

import pytest

import mooring as mr

HEAD = """\
import mooring as mr
from mooring import hook

policy = mr.Policy("p")
"""
#: The first line below the head.
FIRST = HEAD.count("\n") + 1


def problems(folder: Path, body: str, name: str = "policy.py") -> list[str]:
    """What is wrong with a policy, without the file's name; lines count from the first one here."""
    file = folder / name
    file.write_text(HEAD + body)
    try:
        mr.load(file)
    except mr.PolicyFileError as error:
        for problem in error.problems:
            assert "\n" not in problem
            assert problem.startswith(f"{file}, line "), problem
        told = [one.removeprefix(f"{file}, line ").partition(": ") for one in error.problems]
        return [f"{int(line) - FIRST + 1}: {text}" for line, _, text in told]
    return []


def problem(folder: Path, body: str) -> str:
    """The only thing that is wrong with a policy."""
    found = problems(folder, body)
    if len(found) != 1:
        pytest.fail(f"there is not one problem, but: {found}")
    return found[0]
