"""Checks of what extenders answered when they were asked."""

from collections.abc import Iterator
from typing import Final

from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.checks.extenders import extender_field
from mooring.deploy.doctor.evidence import Evidence, ExtenderProbe, VerbProbe
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.manifests.extender_paths import FIELDS
from mooring.extender.address import NO_TLS

_OK, _NOT_FOUND = 200, (404, 405)
#: The part of the time limit that leaves room for slower moments.
_ENOUGH: Final = 0.5


def _answers(evidence: Evidence) -> Iterator[tuple[ExtenderProbe, VerbProbe]]:
    for probe in evidence.probes or ():
        for verb in probe.verbs:
            yield probe, verb


def _unreachable(evidence: Evidence) -> Iterator[DoctorFinding]:
    for probe in evidence.probes or ():
        if not probe.verbs or any(one.status or one.tls or one.timed_out for one in probe.verbs):
            continue
        yield DoctorFinding(
            what=f"{probe.extender.url}: {probe.verbs[0].problem}.",
            advice="Start the extender there, or correct urlPrefix.",
            place=probe.extender.place("urlPrefix"),
        )


def _not_found(evidence: Evidence) -> Iterator[DoctorFinding]:
    for probe, one in _answers(evidence):
        if one.status not in _NOT_FOUND:
            continue
        field = FIELDS[one.verb]
        verb = getattr(probe.extender.settings, f"{one.verb}_verb")
        yield DoctorFinding(
            what=f"The extender answers {one.status} to {verb}, which {field} names.",
            advice=f"Write in {field} and urlPrefix the path that the extender serves, or take "
            f"{field} out.",
            place=probe.extender.place(field),
            edits=_without(probe, field),
        )


def _without(probe: ExtenderProbe, field: str) -> tuple[Edit, ...]:
    document = probe.extender.configuration.document
    if document is None:
        return ()
    return document.without_line(("extenders", probe.extender.number, field))


def _tls(evidence: Evidence) -> Iterator[DoctorFinding]:
    for probe in evidence.probes or ():
        broken = [one for one in probe.verbs if one.tls]
        if not broken:
            continue
        problem = broken[0].problem
        if "hostname" in problem.lower() or "ip address mismatch" in problem.lower():
            advice = (
                "Write a name that the certificate has in urlPrefix or tlsConfig.serverName, or "
                "renew the certificate with this name."
            )
        elif problem == NO_TLS:
            advice = "Write http:// in urlPrefix and take out enableHTTPS, or serve TLS there."
        else:
            advice = (
                "Write the certificate authority that signed the extender's certificate in "
                "tlsConfig.caFile or tlsConfig.caData."
            )
        yield DoctorFinding(
            what=f"{probe.extender.url}: {problem}.",
            advice=advice,
            place=probe.extender.place("urlPrefix"),
        )


def _slow(evidence: Evidence) -> Iterator[DoctorFinding]:
    for probe, one in _answers(evidence):
        limit = probe.extender.settings.http_timeout.seconds
        if one.timed_out:
            what = (
                f"{one.verb} has no answer after {one.seconds:.1f} s; httpTimeout is {limit:g} s."
            )
            new = max(2 * one.seconds, 1)
        elif not one.status or one.seconds <= limit * _ENOUGH:
            continue
        else:
            what = f"{one.verb} took {one.seconds:.2f} s, and httpTimeout is {limit:g} s."
            new = max(4 * one.seconds, 1)
        over = one.timed_out or one.seconds > limit
        yield DoctorFinding(
            severity=DoctorSeverity.ERROR if over else DoctorSeverity.WARNING,
            what=f"{what[:-1]}, asked about {probe.nodes} nodes.",
            advice=f"Write httpTimeout: {new:.0f}s, or make the extender faster.",
            place=probe.extender.place("httpTimeout"),
            edits=extender_field(probe.extender, "httpTimeout", f"{new:.0f}s"),
        )


def _wrong(evidence: Evidence) -> Iterator[DoctorFinding]:
    for probe, one in _answers(evidence):
        if not one.status or one.status in _NOT_FOUND or not one.problem:
            continue
        yield DoctorFinding(
            what=f"{probe.extender.url} does not answer {one.verb} as it should: {one.problem}.",
            advice="Correct the extender; moor extender-test shows each request and its reply.",
            place=probe.extender.place(FIELDS[one.verb]),
        )


CHECKS: Final = (
    DoctorCheck(
        id="extender-reachable",
        title="extenders can be reached",
        why="An extender that cannot be reached keeps pods pending, or is left out if it is "
        "ignorable.",
        judge=_unreachable,
        lacks=needs.asked_extenders,
    ),
    DoctorCheck(
        id="extender-verb",
        title="extenders serve the verbs that are configured",
        why="kube-scheduler takes 404 for a failure: a filter or bind verb keeps pods pending, a "
        "preempt verb prevents preemption, and scores are silently left out.",
        judge=_not_found,
        lacks=needs.asked_extenders,
    ),
    DoctorCheck(
        id="extender-tls",
        title="the certificates of extenders are trusted",
        why="A connection whose certificate does not fit fails like one that nobody answers.",
        judge=_tls,
        lacks=needs.asked_extenders,
    ),
    DoctorCheck(
        id="extender-timeout",
        title="extenders answer well within their httpTimeout",
        why="An answer that comes after httpTimeout does not count, and the attempt to place the "
        "pod fails.",
        judge=_slow,
        lacks=needs.asked_extenders,
    ),
    DoctorCheck(
        id="extender-answer",
        title="extenders answer what kube-scheduler can read",
        why="An answer that kube-scheduler cannot read is a failure; scores that it cannot read "
        "are silently left out.",
        judge=_wrong,
        lacks=needs.asked_extenders,
    ),
)
