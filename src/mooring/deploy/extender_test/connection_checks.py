"""Callers that come at the same time, keep connections open, are slow or hang up.

Go's HTTP client keeps connections open and opens new ones ahead; kube-scheduler binds pods while it
filters for others, and hangs up after ``httpTimeout``. All of that is tried here with one verb.
Called by `conformance`.
"""

import asyncio
from dataclasses import replace
from typing import Final

from mooring.deploy.extender_test.findings import Mode, Verb
from mooring.deploy.extender_test.judging import FATAL, Judgement
from mooring.deploy.extender_test.made_up_objects import ordinary_pod
from mooring.deploy.extender_test.probes import managed, verb_path
from mooring.deploy.extender_test.questions import (
    ExtenderQuestion,
    about_nodes,
    about_victims,
    described,
)
from mooring.deploy.extender_test.verb_checks import Subject, compare

#: How many calls come at the same time.
AT_ONCE: Final = 16
_EACH: Final = 4


async def check_connections(subject: Subject, verb: Verb, mode: Mode, usual: Judgement) -> None:
    """Try all of it with one verb that answered an ordinary question."""
    await _check_concurrency(subject, verb, mode, usual)
    question = subject.usual(verb, mode)
    if not subject.caller.direct:
        for check in ("idle-connections", "slow-callers", "hang-up"):
            subject.findings.skipped(check, "a proxy stands in between", verb, mode)
        return
    path = verb_path(subject.settings, verb)
    await _check_beside(subject, "idle-connections", question, b"", usual)
    half = subject.caller.head(path, len(question.body)) + question.body[: len(question.body) // 2]
    await _check_beside(subject, "slow-callers", question, half, usual)
    await _check_hang_up(subject, question, usual)


async def _check_concurrency(subject: Subject, verb: Verb, mode: Mode, usual: Judgement) -> None:
    questions = [_own_question(subject, verb, mode, number) for number in range(AT_ONCE)]
    answers = await asyncio.gather(*map(subject.ask, questions))
    for question, found in zip(questions, answers, strict=True):
        sent = f"{AT_ONCE} questions at once, each about {_EACH} nodes of its own"
        compare(subject, "concurrency", replace(question, sent=sent), found, usual)


def _own_question(subject: Subject, verb: Verb, mode: Mode, number: int) -> ExtenderQuestion:
    resources = managed(subject.settings)
    nodes = subject.nodes.slice(number * _EACH, _EACH)
    pod = ordinary_pod(f"ordinary-{number}", resources)
    sent = described("an ordinary pod", len(nodes), mode, made_up=not subject.nodes.real)
    if verb == "preempt":
        return about_victims(mode, pod, subject.nodes.victims(nodes), sent)
    return about_nodes(verb, mode, pod, nodes, sent)


async def _check_beside(
    subject: Subject, check: str, question: ExtenderQuestion, beside: bytes, usual: Judgement
) -> None:
    """Ask on a new connection while another one is open and has sent only so much."""
    what = "half of another request" if beside else "nothing on another connection"
    words = f"{what}, then {question.sent} on a new one"
    try:
        async with subject.caller.silent_connection() as (_, writer):
            writer.write(beside)
            await writer.drain()
            async with subject.caller.another() as other:
                found = await replace(subject, caller=other).ask(question)
    except (OSError, TimeoutError) as error:
        came = f"no connection: {type(error).__name__}"
        subject.findings.failed(check, question.verb, question.mode, sent=words, came=came)
        return
    _only_fatal(subject, check, replace(question, sent=words), found, usual)


async def _check_hang_up(subject: Subject, question: ExtenderQuestion, usual: Judgement) -> None:
    path = verb_path(subject.settings, question.verb)
    words = f"3 requests whose caller hung up, then {question.sent}"
    try:
        head = subject.caller.head(path, len(question.body))
        for sent in (len(question.body), len(question.body) // 2, 0):
            await subject.caller.hang_up(head + question.body[:sent])
    except (OSError, TimeoutError) as error:
        came = f"no connection: {type(error).__name__}"
        subject.findings.failed("hang-up", question.verb, question.mode, sent=words, came=came)
        return
    found = await subject.ask(question)
    _only_fatal(subject, "hang-up", replace(question, sent=words), found, usual)


def _only_fatal(
    subject: Subject, check: str, question: ExtenderQuestion, found: Judgement, usual: Judgement
) -> None:
    spared = set(found.problems) - FATAL
    compare(
        subject,
        check,
        question,
        replace(found, problems={k: v for k, v in found.problems.items() if k not in spared}),
        usual,
    )
