"""Bodies that kube-scheduler never sends: whether an extender rejects them and goes on.

Called by `conformance` with one verb after the other, and once at the end with an ordinary
question. A bad body for bind names no pod.
"""

from typing import Final

from mooring.deploy.extender_test.calling import Reply
from mooring.deploy.extender_test.checks import Severity
from mooring.deploy.extender_test.decoding import NotJson, decode
from mooring.deploy.extender_test.findings import Mode, Verb
from mooring.deploy.extender_test.judging import Judgement
from mooring.deploy.extender_test.made_up_objects import ordinary_pod
from mooring.deploy.extender_test.probes import managed, verb_path
from mooring.deploy.extender_test.questions import USUAL_NODES, about_nodes
from mooring.deploy.extender_test.verb_checks import Subject

_DEEP: Final = 100_000
#: How large the largest body is.
HUGE: Final = 16 << 20
_WRONG: Final = (
    b'{"Pod":5,"Nodes":"all","NodeNames":{"a":1},"NodeNameToVictims":[1],'
    b'"NodeNameToMetaVictims":"x","PodName":7,"Node":[]}'
)
#: Bodies that must be rejected, whatever the verb.
_BAD: Final = {
    "body-not-json": (b"moor <not json>", "a body that is not JSON"),
    "body-truncated": (b'{"Pod":{"metadata":{"name":"cut', "JSON that ends too early"),
    "body-empty": (b"", "an empty body"),
    "body-wrong-types": (_WRONG, "values of wrong types"),
}


async def check_bodies(subject: Subject, verb: Verb, mode: Mode, *, huge: int = HUGE) -> None:
    """Send bad bodies to a verb, and one of so many bytes."""
    path = verb_path(subject.settings, verb)
    for check, (body, sent) in _BAD.items():
        reply = await subject.caller.post(path, body)
        if _silent(subject, check, verb, sent, reply):
            continue
        if _accepts(verb, reply):
            came = "status 200 and no error"
            subject.findings.failed(check, verb, sent=sent, came=came)
        else:
            subject.findings.passed(check, verb)
    deep = b'{"Pod":' + b"[" * _DEEP + b"]" * _DEEP + b"}"
    await _send_any(subject, "body-deep", verb, deep, f"lists, nested {_DEEP:,} deep")
    if verb in ("filter", "prioritize"):
        pod = ordinary_pod("huge", managed(subject.settings))
        pod["metadata"]["annotations"]["example.com/huge"] = "x" * huge
        body = about_nodes(verb, mode, pod, subject.nodes.some(USUAL_NODES), "").body
        await _send_any(subject, "body-huge", verb, body, f"an annotation of {huge >> 20} MiB")


async def check_survival(subject: Subject, verb: Verb, mode: Mode, usual: Judgement) -> None:
    """Ask an ordinary question once more, after all that came before."""
    question = subject.usual(verb, mode)
    found = await subject.ask(question)
    new = {name: came for name, came in found.problems.items() if name not in usual.problems}
    if new and not found.usable:
        came = next(iter(new.values()))
        sent = f"{question.sent}, after bad bodies"
        subject.findings.failed("survives", verb, mode, sent=sent, came=came)
    else:
        subject.findings.passed("survives", verb, mode)


async def _send_any(subject: Subject, check: str, verb: Verb, body: bytes, sent: str) -> None:
    reply = await subject.caller.post(verb_path(subject.settings, verb), body)
    if not _silent(subject, check, verb, sent, reply):
        subject.findings.passed(check, verb)


def _silent(subject: Subject, check: str, verb: Verb, sent: str, reply: Reply) -> bool:
    """Report a body to which there was no answer; whether that is so."""
    # A server may close the connection on a body that is too large for it.
    if not reply.failure or (reply.failure == "closed" and check == "body-huge"):
        return False
    severity = Severity.COSTS if reply.failure == "timeout" else None
    subject.findings.failed(check, verb, sent=sent, came=reply.problem, severity=severity)
    return True


def _accepts(verb: Verb, reply: Reply) -> bool:
    """Whether an answer to a bad body says that all is well."""
    if not reply.usable:
        return False
    try:
        value = decode(reply.body).value
    except NotJson:
        return False
    if verb in ("filter", "bind"):
        fields = value if isinstance(value, dict) else {}
        return not next((one for key, one in fields.items() if key.lower() == "error"), "")
    if verb == "prioritize":
        return isinstance(value, list) or value is None
    return not isinstance(value, dict) or "error" not in {key.lower() for key in value}
