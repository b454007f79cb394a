"""Each check of files finds what it is for, and passes after its own advice was followed."""

from collections.abc import Mapping

import pytest

from mooring.cli.doctor.doctor import _migrated
from mooring.deploy.doctor.findings import CheckResult, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.fixes import apply_edits
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.registry import run_checks
from tests.unit.deploy.doctor.cases import CASES, RIGHT, Case


def results(files: Mapping[str, str]) -> dict[str, CheckResult]:
    return {one.check.id: one for one in run_checks(evidence_of(files.items()))}


def followed(files: dict[str, str], finding: DoctorFinding, case: Case) -> dict[str, str]:
    """The files after somebody did what the advice says."""
    if finding.migrates:
        assert f"moor migrate --in-place {finding.migrates}" in finding.advice
        return _migrated(files)
    edits: dict[str, list[Edit]] = {}
    for edit in finding.edits:
        edits.setdefault(edit.file, []).append(edit)
    changed = {name: apply_edits(text, edits.get(name, ())) for name, text in files.items()}
    for name, old, new in () if finding.edits else case.follow:
        if new == "moved":
            del changed[name]
            continue
        assert old in changed[name]
        changed[name] = changed[name].replace(old, new, 1)
    assert changed != files, finding.advice
    return changed


def test_nothing_is_wrong_with_right_files() -> None:
    found = [one for result in results(RIGHT).values() for one in result.findings]
    assert found == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}: {case.says[:40]}")
def test_a_trap_is_found_and_its_advice_helps(case: Case) -> None:
    result = results(case.files)[case.check]
    [finding] = [one for one in result.findings if case.says in one.what]
    assert finding.severity == case.severity
    assert finding.place.file in case.files
    after = results(followed(case.files, finding, case))[case.check]
    assert [one.what for one in after.findings if case.says in one.what] == []
    assert after.severity in (DoctorSeverity.OK, DoctorSeverity.NOT_CHECKED)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}: {case.says[:40]}")
def test_a_finding_points_to_the_line_that_is_to_be_changed(case: Case) -> None:
    result = results(case.files)[case.check]
    [finding] = [one for one in result.findings if case.says in one.what]
    assert 0 <= finding.place.line <= case.files[finding.place.file].count("\n")
    for edit in finding.edits:
        line = case.files[edit.file].splitlines(keepends=True)[edit.line - 1]
        assert line[edit.column :].startswith(edit.old)
