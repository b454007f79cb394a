"""Mooring's answers are kube-scheduler's, value by value, in every case of the vectors."""

from pathlib import Path

import pytest

from tools.parity import VECTORS, compare, read_cases

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(VECTORS.glob("*.ndjson.gz"))
#: How many answers are compared in each area.
CHECKS = {
    "dra": 67_960,
    "gates": 74_921,
    "images": 109_189,
    "mixed": 86_851,
    "nodeaffinity": 79_169,
    "podaffinity": 103_954,
    "ports": 100_336,
    "preemption": 37_221,
    "resources": 64_362,
    "spread": 104_881,
    "taints": 85_464,
    "volumes": 74_871,
}


def area(file: Path) -> str:
    return file.name.partition(".")[0]


def test_all_areas_have_vectors() -> None:
    assert [area(file) for file in FILES] == list(CHECKS)


def test_the_readme_says_how_many_answers_are_compared() -> None:
    assert f"compares {sum(CHECKS.values()):,} answers" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("file", FILES, ids=area)
def test_every_check_agrees(file: Path) -> None:
    checks = 0
    different = []
    for case in read_cases(file):
        for check in compare(case):
            checks += 1
            if not check.agrees:
                different.append(str(check))
    assert different[:10] == []
    assert checks == CHECKS[area(file)]
