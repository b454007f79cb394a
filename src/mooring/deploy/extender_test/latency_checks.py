"""How long an extender takes by the number of nodes, and whether it can take that many.

Called by `conformance` for every verb and mode that answers. The first answer of each size is
looked at, all are measured.
"""

from collections.abc import Sequence
from typing import Final

from mooring.deploy.extender_test.findings import Mode, Verb
from mooring.deploy.extender_test.judging import Judgement
from mooring.deploy.extender_test.probes import measure, verb_path
from mooring.deploy.extender_test.verb_checks import Subject, compare

#: The part of ``httpTimeout`` that should be enough.
_MARGIN: Final = 0.5


async def check_latency(
    subject: Subject,
    verb: Verb,
    mode: Mode,
    usual: Judgement,
    *,
    sizes: Sequence[int],
    requests: int,
) -> None:
    """Measure one verb in one mode at every size."""
    findings, caller = subject.findings, subject.caller
    path = verb_path(subject.settings, verb)
    timeout = 1000 * caller.seconds
    for size in sorted({subject.nodes.most(one) for one in sizes}):
        question = subject.usual(verb, mode, size)
        first = await subject.ask(question)
        late = "did not answer within" in first.problems.get("answers", "")
        if late:
            came = first.problems["answers"]
            findings.failed("latency", verb, mode, sent=question.sent, came=came)
            break
        compare(subject, "large-list", question, first, usual)
        if not first.usable:
            break
        row = await measure(caller, path, question, requests)
        findings.latency.append(row)
        if row.max >= timeout:
            came = f"{row.max:.0f} ms for the slowest answer"
            findings.failed("latency", verb, mode, sent=question.sent, came=came)
            break
        if row.p99 > _MARGIN * timeout:
            came = f"99 % of the answers within {row.p99:.0f} ms, of {timeout:.0f}"
            findings.failed("latency-margin", verb, mode, sent=question.sent, came=came)
    findings.passed("latency", verb, mode)
    findings.passed("latency-margin", verb, mode)
