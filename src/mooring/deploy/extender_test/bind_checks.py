"""Whether bind tells failures; nothing is bound unless the user names a pod for it.

kube-scheduler believes a bind that reports no error, so that is what matters most: a request for a
pod that does not exist must not come back as a success. The pod's name and id are new in every
run, its namespace does not exist, and neither does the node, so an extender that does its work
finds nothing to bind. `--bind` is the only way to a real one. Called by `conformance`.
"""

import secrets
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mooring.deploy.extender_test.calling import Reply
from mooring.deploy.extender_test.decoding import NotJson, WrongType, decode, read_bind, shortened
from mooring.deploy.extender_test.judging import (
    status_words,
    transfer_problems,
    unknown_fields,
)
from mooring.deploy.extender_test.made_up_objects import NAMESPACE
from mooring.deploy.extender_test.probes import verb_path
from mooring.deploy.extender_test.questions import to_bind
from mooring.deploy.extender_test.verb_checks import Subject, is_served
from mooring.extender.address import one_line
from mooring.wording import escaped

_TRANSFER: Final = ("answers", "redirect", "encoding", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBinding:
    """A pod that the user wants to be bound for the test.

    Attributes:
        name, namespace, uid: the pod.
        node: where it is to be bound.
        node_of: asks the API server where the pod is now; empty if it is pending.
    """

    name: str
    namespace: str
    uid: str
    node: str
    node_of: Callable[[], Awaitable[str]]


async def check_bind(subject: Subject, real: RealBinding | None = None) -> None:
    """Ask bind about a pod that does not exist, then about the user's, if there is one."""
    findings = subject.findings
    if not await is_served(subject, "bind"):
        came = "status 404 or 405, whatever is sent"
        findings.failed("served", "bind", sent="a body that is not JSON", came=came)
        return
    findings.passed("served", "bind")
    name = f"moor-extender-test-{secrets.token_hex(4)}"
    body = to_bind(name, NAMESPACE, str(uuid.uuid4()), f"{name}-node")
    sent = f"the pod {NAMESPACE}/{name}, which does not exist"
    reply = await _post(subject, body)
    for check in _TRANSFER:
        problems = transfer_problems(reply)
        if check in problems:
            findings.failed(check, "bind", sent=sent, came=problems[check])
            return
        findings.passed(check, "bind")
    error = _judge(subject, reply, sent)
    empty = await _post(subject, b"{}")
    if _claims_success(empty):
        came = "no error, so kube-scheduler would take the pod as bound"
        findings.failed("bind-incomplete", "bind", sent="a pod without name and node", came=came)
    else:
        findings.passed("bind-incomplete", "bind")
    if real is not None:
        await _bind_really(subject, real)
        return
    findings.skipped("bind-binds", "no pod to bind was named with --bind", "bind")
    words = "Whether bind works was not judged; test it with --bind POD --bind-node NODE."
    if error:
        words += f" For a pod that does not exist, it says: {escaped(one_line(error))}"
    findings.notes.append(words)


def _judge(subject: Subject, reply: Reply, sent: str) -> str:
    """Judge the reply about a pod that does not exist; the error that it reports, if any."""
    findings = subject.findings
    if not reply.usable:
        # A failure all the same, and that is right.
        findings.passed("bind-missing-pod", "bind")
        findings.failed("bind-error-form", "bind", sent=sent, came=status_words(reply))
        return ""
    try:
        decoded = decode(reply.body)
        error = read_bind(decoded.value)
    except NotJson as problem:
        findings.failed("json", "bind", sent=sent, came=f"status 200 and {problem}")
        return ""
    except WrongType as problem:
        findings.failed("types", "bind", sent=sent, came=str(problem))
        return ""
    findings.passed("json", "bind")
    findings.passed("types", "bind")
    unknown = unknown_fields("bind", decoded.value)
    if unknown:
        findings.failed("fields", "bind", sent=sent, came=f"the field {shortened(unknown[0])}")
    else:
        findings.passed("fields", "bind")
    if error:
        findings.passed("bind-missing-pod", "bind")
        findings.passed("bind-error-form", "bind")
    else:
        came = "no error, so kube-scheduler takes the pod as bound"
        findings.failed("bind-missing-pod", "bind", sent=sent, came=came)
    return error


async def _bind_really(subject: Subject, real: RealBinding) -> None:
    findings = subject.findings
    sent = f"the pod {real.namespace}/{real.name} for node {real.node}"
    body = to_bind(real.name, real.namespace, real.uid, real.node)
    reply = await _post(subject, body)
    if not _claims_success(reply):
        came = reply.problem or status_words(reply)
        findings.failed("bind-binds", "bind", sent=sent, came=came)
        return
    node = await real.node_of()
    if node != real.node:
        where = f"the pod is on node {node}" if node else "the pod is still pending"
        findings.failed("bind-binds", "bind", sent=sent, came=f"no error, and {where}")
    else:
        findings.passed("bind-binds", "bind")


async def _post(subject: Subject, body: bytes) -> Reply:
    return await subject.caller.post(verb_path(subject.settings, "bind"), body, repeat=False)


def _claims_success(reply: Reply) -> bool:
    if not reply.usable:
        return False
    try:
        return not read_bind(decode(reply.body).value)
    except (NotJson, WrongType):
        return False
