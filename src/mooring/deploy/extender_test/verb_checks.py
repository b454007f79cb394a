"""Ordinary and unusual questions to filter, prioritize and preempt, in one mode at a time.

First an ordinary question, whose answer is looked at from all sides; then questions that differ in
one thing, where only what was right before can be wrong. Called by `conformance`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from mooring.config.types import Extender
from mooring.deploy.extender_test.calling import Caller
from mooring.deploy.extender_test.checks import CHECKS, Severity
from mooring.deploy.extender_test.findings import Findings, Mode, Verb
from mooring.deploy.extender_test.judging import FATAL, NOT_SERVED, Judgement, judge
from mooring.deploy.extender_test.made_up_objects import (
    UNKNOWN_FIELD,
    UNKNOWN_NODE,
    Object,
    every_field_pod,
    made_up_node,
    minimal_pod,
    ordinary_pod,
)
from mooring.deploy.extender_test.probes import managed, usual_question, verb_path
from mooring.deploy.extender_test.questions import (
    USUAL_NODES,
    AskedNodes,
    ExtenderQuestion,
    about_nodes,
    about_victims,
    described,
)

_FORM: Final = (
    "served", "status", "answers", "redirect", "encoding", "size", "json", "types", "fields",
    "trailing-data",
)  # fmt: skip
_UNUSUAL: Final = (
    "every-field", "minimal-pod", "unknown-fields", "single-node", "empty-list", "repeatable",
)  # fmt: skip
_ORDER: Final = list(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What all checks of one extender share.

    Attributes:
        caller: calls it.
        settings: as configured.
        nodes: the nodes to ask about.
        findings: where to report.
    """

    caller: Caller
    settings: Extender
    nodes: AskedNodes
    findings: Findings

    async def ask(self, question: ExtenderQuestion) -> Judgement:
        """Ask something and look at the answer."""
        reply = await self.caller.post(verb_path(self.settings, question.verb), question.body)
        if reply.usable and reply.closes:
            self.findings.failed(
                "keep-alive",
                sent=question.sent,
                came="an answer, after which it closes the connection",
            )
        elif reply.usable:
            self.findings.passed("keep-alive")
        return judge(question, reply)

    def usual(self, verb: Verb, mode: Mode, count: int = USUAL_NODES) -> ExtenderQuestion:
        """An ordinary question."""
        return usual_question(self.settings, verb, self.nodes, count, mode)


def own_checks(verb: Verb, mode: Mode) -> list[str]:
    """The checks of the content of a verb's answers."""
    other = "filter-names" if mode == "whole" else "filter-whole-nodes"
    return [name for name in CHECKS if name.startswith(f"{verb}-") and name != other]


async def is_served(subject: Subject, verb: Verb) -> bool:
    """Whether anybody answers a verb: with 404 to a body that is about nothing, nobody does."""
    path = verb_path(subject.settings, verb)
    reply = await subject.caller.post(path, b"moor")
    if reply.failure:  # of one that reads JSON before it looks at the path
        reply = await subject.caller.post(path, b"{}")
    return reply.status not in NOT_SERVED


async def check_verb(subject: Subject, verb: Verb, mode: Mode) -> Judgement:
    """Ask one verb in one mode; the judgement of the ordinary answer."""
    findings = subject.findings
    question = subject.usual(verb, mode)
    usual = await subject.ask(question)
    for name in (*_FORM, *own_checks(verb, mode)):
        if name in usual.problems:
            findings.failed(name, verb, mode, sent=question.sent, came=usual.problems[name])
        elif usual.usable:
            findings.passed(name, verb, mode)
    if not usual.usable:
        for name in _unusual(mode):
            findings.skipped(name, "there is no usable answer to an ordinary question", verb, mode)
        return usual
    for name, other in _unusual_questions(subject, verb, mode):
        compare(subject, name, other, await subject.ask(other), usual)
    again = await subject.ask(question)
    if again.meaning != usual.meaning:
        came = "another answer than before"
        findings.failed("repeatable", verb, mode, sent=f"{question.sent}, twice", came=came)
    else:
        findings.passed("repeatable", verb, mode)
    return usual


def compare(
    subject: Subject, check: str, question: ExtenderQuestion, found: Judgement, usual: Judgement
) -> None:
    """Report what is wrong with an answer and was not wrong with the ordinary one."""
    new = {
        name: came
        for name, came in found.problems.items()
        if name not in usual.problems and (check != "empty-list" or name in FATAL)
    }
    verb, mode = question.verb, question.mode
    if not new:
        subject.findings.passed(check, verb, mode)
        return
    worst = min(new, key=lambda name: (name not in FATAL, _ORDER.index(CHECKS[name].severity)))
    levels = (CHECKS[worst].severity, CHECKS[check].severity)
    subject.findings.failed(
        check,
        verb,
        mode,
        sent=question.sent,
        came=new[worst],
        severity=max(levels, key=_ORDER.index),
    )


def _unusual(mode: Mode) -> Iterable[str]:
    return (*_UNUSUAL, "unknown-nodes") if mode == "names" else _UNUSUAL


def _unusual_questions(
    subject: Subject, verb: Verb, mode: Mode
) -> Iterable[tuple[str, ExtenderQuestion]]:
    resources = managed(subject.settings)
    some = subject.nodes.some(USUAL_NODES)
    plain = ordinary_pod("ordinary", resources)
    made_up = not subject.nodes.real

    def about(pod: Object, nodes: Mapping[str, bytes], words: str) -> ExtenderQuestion:
        sent = described(words, len(nodes), mode, made_up=made_up)
        if verb == "preempt":
            return about_victims(mode, pod, subject.nodes.victims(nodes), sent)
        return about_nodes(verb, mode, pod, nodes, sent)

    yield "every-field", about(every_field_pod(resources), some, "a pod with every field")
    yield "minimal-pod", about(minimal_pod(resources), some, "a pod with as few fields as possible")
    stranger: Object = {UNKNOWN_FIELD: {"deep": [1, None, {"a": "b"}]}}
    newer = {**plain, "spec": {**plain["spec"], **stranger}}
    yield "unknown-fields", about(newer, _with_field(some, stranger), "a pod with unknown fields")
    yield "single-node", about(plain, dict(list(some.items())[:1]), "an ordinary pod")
    if verb == "preempt":
        sent = described("an ordinary pod", len(some), mode, made_up=made_up) + ", without victims"
        yield "empty-list", about_victims(mode, plain, {node: [] for node in some}, sent)
        return
    yield "empty-list", about(plain, {}, "an ordinary pod")
    if mode == "names":
        unknown = msgspec.json.encode(made_up_node(1))
        words = "an ordinary pod"
        question = about(plain, {**some, UNKNOWN_NODE: unknown}, words)
        yield "unknown-nodes", replace(question, sent=f"{question.sent}, one of them unknown")


def _with_field(nodes: Mapping[str, bytes], extra: Object) -> dict[str, bytes]:
    """The nodes with a field that nobody knows in their specs."""
    found = {}
    for name, encoded in nodes.items():
        node = msgspec.json.decode(encoded)
        node["spec"] = {**(node.get("spec") or {}), **extra}
        found[name] = msgspec.json.encode(node)
    return found
