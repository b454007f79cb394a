"""All checks, in the order in which they are shown: what must be right first comes first."""

from typing import Final

from mooring.deploy.doctor.checks import (
    answers,
    cluster,
    config_maps,
    configuration,
    extenders,
    leader_election,
    manifest_files,
    roles,
    scheduler_names,
    scheduler_pods,
    scoring,
)
from mooring.deploy.doctor.evidence import Evidence
from mooring.deploy.doctor.findings import CheckResult, DoctorCheck, run_check

CHECKS: Final[tuple[DoctorCheck, ...]] = (
    *manifest_files.CHECKS,
    *config_maps.CHECKS,
    *roles.CHECKS,
    *configuration.CHECKS,
    *scheduler_pods.CHECKS,
    *scheduler_names.CHECKS,
    *leader_election.CHECKS,
    *extenders.CHECKS,
    *answers.CHECKS,
    *scoring.CHECKS,
    *cluster.CHECKS,
)


def run_checks(evidence: Evidence) -> list[CheckResult]:
    """Judge evidence with all checks."""
    return [run_check(one, evidence) for one in CHECKS]
