"""The whole run against one extender: which verbs and modes, in which order, and the report.

``moor extender-test`` calls `run_conformance`. Requests are sent one after the other, except where
concurrency is checked. Nothing is bound unless the plan has a real binding, and what the extender
does is never an exception.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from mooring.config.types import Extender
from mooring.deploy.extender_test.bind_checks import RealBinding, check_bind
from mooring.deploy.extender_test.body_checks import HUGE, check_bodies, check_survival
from mooring.deploy.extender_test.calling import Caller
from mooring.deploy.extender_test.connection_checks import check_connections
from mooring.deploy.extender_test.findings import (
    MODE_WORDS,
    VERBS,
    ExtenderReport,
    Findings,
    Mode,
    Verb,
)
from mooring.deploy.extender_test.judging import Judgement, judge
from mooring.deploy.extender_test.latency_checks import check_latency
from mooring.deploy.extender_test.made_up_objects import Object
from mooring.deploy.extender_test.probes import managed, verb_path
from mooring.deploy.extender_test.questions import AskedNodes
from mooring.deploy.extender_test.verb_checks import Subject, check_verb, is_served
from mooring.extender.http_extender import MAX_REPLY_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformancePlan:
    """What to test of an extender.

    Attributes:
        settings: the extender, with the verbs to ask.
        optional: verbs that need not be served.
        modes: what to send; both, where one is enough, if it is not known what the extender wants.
        sizes: the numbers of nodes at which it is measured.
        requests: how many requests are measured for each number.
        nodes: real nodes as JSON, to send instead of made-up ones.
        pods: real pods on these nodes as JSON, to send as victims.
        skip: the ids of checks to leave out.
        real_binding: a pod to bind.
        max_reply: the largest answer in bytes.
        huge: the size of the largest body that is sent to a verb, in bytes.
        progress: called with a few words about what is being done.
    """

    settings: Extender
    optional: Collection[Verb] = ()
    modes: Sequence[Mode] = ()
    sizes: Sequence[int] = (10, 100, 1000, 5000)
    requests: int = 20
    nodes: Sequence[Object] = ()
    pods: Sequence[Object] = ()
    skip: Collection[str] = ()
    real_binding: RealBinding | None = None
    max_reply: int = MAX_REPLY_BYTES
    huge: int = HUGE
    progress: Callable[[str], None] = lambda _: None


async def run_conformance(plan: ConformancePlan) -> ExtenderReport:
    """Test one extender.

    Raises:
        InputError: its address or its TLS settings cannot be used.
    """
    settings = plan.settings
    findings = Findings(ignorable=settings.ignorable, skip=plan.skip)
    async with Caller(settings, max_reply=plan.max_reply) as caller:
        nodes = AskedNodes(plan.nodes, managed(settings), plan.pods)
        run = _Run(plan, Subject(caller=caller, settings=settings, nodes=nodes, findings=findings))
        reachable = await run.is_reachable()
        if reachable:
            await run.everything()
    return ExtenderReport(
        url=caller.name,
        reachable=reachable,
        findings=findings.all,
        notes=findings.notes,
        latency=findings.latency,
    )


class _Run:
    def __init__(self, plan: ConformancePlan, subject: Subject) -> None:
        self._plan = plan
        self._subject = subject
        self._usual: dict[tuple[Verb, Mode], Judgement] = {}

    async def is_reachable(self) -> bool:
        """Whether there is a connection at all."""
        subject = self._subject
        path = next((verb_path(subject.settings, one) for one in self._verbs()), "")
        reply = await subject.caller.post(path, b"{}")
        if reply.connection_check:
            sent = f"POST {subject.caller.shown_url(path)}"
            subject.findings.failed(reply.connection_check, sent=sent, came=reply.problem)
            return False
        subject.findings.passed("reachable")
        if subject.caller.secure:
            subject.findings.passed("speaks-tls")
            subject.findings.passed("tls")
        return True

    async def everything(self) -> None:
        """All checks, the hard ones last."""
        unserved: list[Verb] = []
        for verb in self._verbs():
            self._plan.progress(f"asking {verb}")
            if verb == "bind":
                if "bind" not in self._plan.optional or await is_served(self._subject, verb):
                    await check_bind(self._subject, self._plan.real_binding)
                else:
                    unserved.append(verb)
                continue
            modes = await self._modes(verb)
            if not modes:
                unserved.append(verb)
            for mode in modes:
                self._usual[verb, mode] = await check_verb(self._subject, verb, mode)
        self._note_unserved(unserved)
        usable = {key: one for key, one in self._usual.items() if one.usable}
        for (verb, mode), usual in usable.items():
            self._plan.progress(f"measuring {verb}, {MODE_WORDS[mode]}")
            await check_latency(
                self._subject, verb, mode, usual,
                sizes=self._plan.sizes, requests=self._plan.requests,
            )  # fmt: skip
        self._plan.progress("trying connections and bad bodies")
        if usable:
            (verb, mode), usual = next(iter(usable.items()))
            await check_connections(self._subject, verb, mode, usual)
        for verb, mode in dict(usable.keys()).items():  # in one mode of each verb
            await check_bodies(self._subject, verb, mode, huge=self._plan.huge)
        if self._subject.findings.served("bind"):
            await check_bodies(self._subject, "bind", "names")
        for (verb, mode), usual in usable.items():
            await check_survival(self._subject, verb, mode, usual)

    def _note_unserved(self, verbs: Sequence[Verb]) -> None:
        findings = self._subject.findings
        if verbs and len(verbs) == len(self._verbs()):
            sent = f"POST to {self._subject.caller.shown_url('')} and each verb"
            findings.failed("served", sent=sent, came=f"no verb is served: {', '.join(verbs)}")
        elif verbs:
            fields = " and ".join(f"{verb}Verb" for verb in verbs)
            findings.notes.append(f"It does not serve {' and '.join(verbs)}; leave {fields} unset.")

    def _verbs(self) -> list[Verb]:
        return [one for one in VERBS if verb_path(self._subject.settings, one)]

    async def _modes(self, verb: Verb) -> Sequence[Mode]:
        """The modes in which a verb is checked; none if it need not be served and is not."""
        asked = self._plan.modes
        if verb not in self._plan.optional and len(asked) == 1:
            return asked
        found = [mode for mode in asked if await self._is_meant(verb, mode)]
        if found and len(found) < len(asked):
            lost = next(mode for mode in asked if mode not in found)
            setting = "true" if lost == "whole" else "false"
            words = f"{verb} does not take {MODE_WORDS[lost]}; set nodeCacheCapable: {setting}."
            self._subject.findings.notes.append(words)
        if found:
            return found
        gone = verb in self._plan.optional and not await is_served(self._subject, verb)
        return () if gone else asked[:1]

    async def _is_meant(self, verb: Verb, mode: Mode) -> bool:
        """Whether a verb that nobody promised seems to be there, and to take this mode."""
        subject = self._subject
        question = subject.usual(verb, mode)
        reply = await subject.caller.post(verb_path(subject.settings, verb), question.body)
        found = judge(question, reply)
        if "served" in found.problems and verb in self._plan.optional:
            return False
        # A preempt that keeps no candidate is an answer, too.
        spoke = found.answered > 0 or verb == "preempt"
        return len(self._plan.modes) == 1 or (found.usable and spoke)
