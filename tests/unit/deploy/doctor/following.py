"""Both halves of the test of a check: it finds something, and its advice, followed, helps."""

from collections.abc import Callable

from mooring.deploy.doctor.evidence import Evidence
from mooring.deploy.doctor.findings import CheckResult, DoctorFinding, DoctorSeverity, run_check
from mooring.deploy.doctor.registry import CHECKS

BY_ID = {one.id: one for one in CHECKS}


def result(check: str, evidence: Evidence) -> CheckResult:
    return run_check(BY_ID[check], evidence)


def advice_helps(
    check: str, before: Evidence, follow: Callable[[DoctorFinding], Evidence], *, advice: str
) -> None:
    """See that a check finds one thing, and passes once somebody has done what it says.

    Args:
        check: its id, written out: a test sees that every check has a call.
        before: what it finds something in.
        follow: does what the advice says, and returns what is there then.
        advice: what the advice says, so that `follow` does this and nothing else.
    """
    [finding] = result(check, before).findings
    assert finding.advice == advice
    after = result(check, follow(finding))
    assert [one.what for one in after.findings] == []
    assert after.severity is DoctorSeverity.OK
