"""All checks, in the order in which they are shown: what must be right first comes first."""

from typing import Final

from mooring.deploy.doctor.checks import (
    answers,
    cluster,
    configuration,
    extenders,
    manifests,
    scheduler_names,
    scheduler_pods,
    scoring,
)
from mooring.deploy.doctor.evidence import Evidence
from mooring.deploy.doctor.findings import CheckResult, DoctorCheck, run_check

CHECKS: Final[tuple[DoctorCheck, ...]] = (
    *manifests.CHECKS,
    *configuration.CHECKS,
    *scheduler_pods.CHECKS,
    *scheduler_names.CHECKS,
    *extenders.CHECKS,
    *answers.CHECKS,
    *scoring.CHECKS,
    *cluster.CHECKS,
)


def run_checks(evidence: Evidence) -> list[CheckResult]:
    """Judge evidence with all checks."""
    return [run_check(one, evidence) for one in CHECKS]
