"""Mooring's answers are kube-scheduler's, value by value, in every case of the vectors."""

from pathlib import Path

import pytest

from tools.parity import VECTORS, compare, read_cases

FILES = sorted(VECTORS.glob("*.ndjson.gz"))


def test_all_areas_have_vectors() -> None:
    names = {file.name.partition(".")[0] for file in FILES}
    assert names == {
        "dra", "gates", "images", "mixed", "nodeaffinity", "podaffinity", "ports", "preemption",
        "resources", "spread", "taints", "volumes",
    }  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_every_check_agrees(file: Path) -> None:
    checks = 0
    different = []
    for case in read_cases(file):
        for check in compare(case):
            checks += 1
            if not check.agrees:
                different.append(str(check))
    assert different[:10] == []
    assert checks > 10_000
