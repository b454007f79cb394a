"""Each check of files finds what it is for, and passes after its own advice was followed."""

from collections.abc import Mapping

import pytest

from mooring.cli.doctor.fixes import migrated_texts
from mooring.deploy.doctor.findings import CheckResult, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.fixes import apply_edits
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.registry import run_checks
from tests.unit.deploy.doctor.cases import CASES, RIGHT, SCHEDULER, Case, changed
from tests.unit.deploy.doctor.roles import advised_roles, role


def results(files: Mapping[str, str]) -> dict[str, CheckResult]:
    return {one.check.id: one for one in run_checks(evidence_of(files.items()))}


def followed(files: dict[str, str], finding: DoctorFinding, case: Case) -> dict[str, str]:
    """The files after somebody did what the advice says."""
    edits: dict[str, list[Edit]] = {}
    for edit in finding.edits:
        edits.setdefault(edit.file, []).append(edit)
    changed = {name: apply_edits(text, edits.get(name, ())) for name, text in files.items()}
    for name, old, new in case.follow:
        if new == "moved":
            del changed[name]
            continue
        assert old in changed[name]
        changed[name] = changed[name].replace(old, new, 1)
    if "moor migrate --in-place" in case.advice:
        changed = {file: text for file, text in migrated_texts(changed)[0].items() if text}
    for number, (kind, namespace, rules) in enumerate(advised_roles(case.advice)):
        changed[f"advised-{number}.yaml"] = role(kind, rules, namespace)
    assert changed != files, finding.advice
    return changed


def found_in(case: Case) -> tuple[dict[str, CheckResult], DoctorFinding]:
    """What all checks say, and the one finding that the case is for."""
    before = results(case.files)
    [finding] = [one for one in before[case.check].findings if case.says in one.what]
    return before, finding


def test_nothing_is_wrong_with_right_files() -> None:
    found = [one for result in results(RIGHT).values() for one in result.findings]
    assert found == []


def test_schedulers_that_wait_for_one_lease_do_not_work_twice() -> None:
    """That it is kube-scheduler's is what another check says."""
    second = SCHEDULER.replace("name: packer\n", "name: packer-2\n", 1)
    files = {**changed("leaderElect: false", "leaderElect: true"), "second.yaml": second}
    found = results(files)
    assert found["scheduler-twice"].severity is DoctorSeverity.OK
    assert found["lease-shared"].severity is DoctorSeverity.ERROR


EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}: {case.says[:40]}")


@EACH
def test_a_trap_is_found_and_its_advice_helps(case: Case) -> None:
    before, finding = found_in(case)
    assert finding.severity == case.severity
    assert finding.advice == case.advice
    after = results(followed(case.files, finding, case))
    assert [one.what for one in after[case.check].findings] == []
    assert after[case.check].severity is DoctorSeverity.OK
    # One mistake is not mended by another one.
    new = {name for name, one in after.items() if one.findings and not before[name].findings}
    assert {name: [one.what for one in after[name].findings] for name in new} == {}


@EACH
def test_a_finding_points_to_the_line_that_is_to_be_changed(case: Case) -> None:
    _, finding = found_in(case)
    lines = case.files[finding.place.file].splitlines(keepends=True)
    if case.check == "static-pod-backup":
        assert finding.place.line == 0  # it is the file
    else:
        assert 1 <= finding.place.line <= len(lines)
    for edit in finding.edits:
        line = case.files[edit.file].splitlines(keepends=True)[edit.line - 1]
        assert line[edit.column :].startswith(edit.old)
