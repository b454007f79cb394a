"""Checks of what extenders answered, as data; and the same checks after the advice was followed."""

import dataclasses

import pytest

from mooring.deploy.doctor.evidence import Evidence, ExtenderProbe, VerbProbe
from mooring.deploy.doctor.findings import CheckResult, DoctorSeverity, run_check
from mooring.deploy.doctor.fixes import apply_edits
from mooring.deploy.doctor.gathering import evidence_of
from mooring.deploy.doctor.registry import CHECKS
from tests.unit.deploy.doctor.cases import CONFIG

BY_ID = {one.id: one for one in CHECKS}


def answered(*verbs: VerbProbe, config: str = CONFIG, skipped: str = "") -> Evidence:
    """The evidence of one extender that answered so."""
    evidence = evidence_of([("config.yaml", config)])
    probe = ExtenderProbe(evidence.extenders[0], verbs, skipped=skipped, nodes=100)
    return dataclasses.replace(evidence, probes=(probe,))


def result(check: str, evidence: Evidence) -> CheckResult:
    return run_check(BY_ID[check], evidence)


GOOD = VerbProbe("filter", status=200, seconds=0.01)


@pytest.mark.parametrize(
    "check",
    ["extender-reachable", "extender-verb", "extender-tls", "extender-timeout", "extender-answer"],
)
def test_good_answers_pass_every_check(check: str) -> None:
    assert result(check, answered(GOOD)).severity is DoctorSeverity.OK


def test_extenders_that_were_not_asked_are_not_checked() -> None:
    evidence = evidence_of([("config.yaml", CONFIG)])
    assert "--ask-extenders" in result("extender-reachable", evidence).reason
    skipped = answered(skipped="only the cluster's DNS knows it")
    assert result("extender-tls", skipped).reason == "only the cluster's DNS knows it"


def test_an_extender_that_cannot_be_reached() -> None:
    evidence = answered(VerbProbe("filter", problem="it cannot be reached: connection refused"))
    [found] = result("extender-reachable", evidence).findings
    assert found.what == (
        "http://packer-extender.sched.svc:8888: it cannot be reached: connection refused."
    )
    assert found.place.line == 8
    assert result("extender-answer", evidence).severity is DoctorSeverity.OK


def test_a_verb_that_is_not_served_is_taken_out() -> None:
    config = CONFIG.replace("  weight", "  preemptVerb: preemption\n  weight")
    evidence = answered(GOOD, VerbProbe("preempt", status=404), config=config)
    [found] = result("extender-verb", evidence).findings
    assert found.what == "The extender answers 404 to preemption, which preemptVerb names."
    assert found.place.line == 11
    assert apply_edits(config, found.edits) == CONFIG
    assert result("extender-answer", evidence).findings == ()


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        ("its certificate is not trusted: Hostname mismatch", "tlsConfig.serverName"),
        ("its certificate is not trusted: unable to get issuer", "tlsConfig.caFile"),
        ("it answers without TLS", "http://"),
    ],
)
def test_certificates_that_do_not_fit(problem: str, advice: str) -> None:
    evidence = answered(VerbProbe("filter", problem=problem, tls=True))
    [found] = result("extender-tls", evidence).findings
    assert advice in found.advice
    assert result("extender-reachable", evidence).findings == ()


@pytest.mark.parametrize(
    ("verb", "severity", "says"),
    [
        (VerbProbe("filter", status=200, seconds=3.0), "warning", "filter took 3.00 s"),
        (VerbProbe("filter", status=200, seconds=7.0), "error", "httpTimeout is 5 s"),
        (VerbProbe("filter", seconds=15, timed_out=True), "error", "no answer after 15.0 s"),
    ],
)
def test_a_slow_extender_gets_a_longer_timeout(verb: VerbProbe, severity: str, says: str) -> None:
    [found] = result("extender-timeout", answered(verb)).findings
    assert (found.severity, says in found.what) == (severity, True)
    config = apply_edits(CONFIG, found.edits)
    again = VerbProbe(verb.verb, status=200, seconds=verb.seconds)
    assert result("extender-timeout", answered(again, config=config)).findings == ()


def test_an_answer_that_kube_scheduler_cannot_read() -> None:
    evidence = answered(VerbProbe("prioritize", status=200, problem="the body is not JSON"))
    [found] = result("extender-answer", evidence).findings
    assert "does not answer prioritize as it should: the body is not JSON" in found.what
    assert "moor extender-test" in found.advice
