"""Small questions to one extender: is it there, is it trusted, is a verb served, how fast.

Plain functions for ``moor doctor`` and others who want one fact, not a whole run. Each opens its
own connections and closes them; none raises because of what the extender does. None of them binds
a pod: the pod of a bind probe does not exist.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mooring.config.types import Extender
from mooring.deploy.extender_test.calling import Caller
from mooring.deploy.extender_test.findings import LatencyRow, Mode, Verb
from mooring.deploy.extender_test.judging import FATAL, judge
from mooring.deploy.extender_test.made_up_objects import NAMESPACE, Object, ordinary_pod, uid
from mooring.deploy.extender_test.questions import (
    USUAL_NODES,
    AskedNodes,
    ExtenderQuestion,
    about_nodes,
    about_victims,
    described,
    to_bind,
)

#: No cell of a table of latencies takes longer than this, in seconds.
MEASURE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One fact.

    Attributes:
        ok: whether all is well.
        check: the id of the check that failed; empty if all is well.
        found: what came, in a few words such as ``status 404: Not Found``.
        status: the HTTP status; 0 if there was no answer.
        seconds: how long it took.
    """

    ok: bool
    check: str = ""
    found: str = ""
    status: int = 0
    seconds: float = 0.0


def verb_path(settings: Extender, verb: Verb) -> str:
    """What the configuration has for a verb; empty if it is not called."""
    return {
        "filter": settings.filter_verb,
        "prioritize": settings.prioritize_verb,
        "preempt": settings.preempt_verb,
        "bind": settings.bind_verb,
    }[verb]


def mode_of(settings: Extender) -> Mode:
    """Whether kube-scheduler sends names or whole nodes."""
    return "names" if settings.node_cache_capable else "whole"


def managed(settings: Extender) -> tuple[str, ...]:
    """The resources that a pod must request so that kube-scheduler asks about it."""
    return tuple(one.name for one in settings.managed_resources)


async def probe_reachable(settings: Extender) -> Probe:
    """Whether something answers HTTP at the extender's address, with whatever status.

    A certificate that is not trusted is the failed check ``tls``, everything else ``reachable``.

    Raises:
        InputError: the address or the TLS settings cannot be used.
    """
    async with Caller(settings) as caller:
        path = next((found for verb in _ASKED if (found := verb_path(settings, verb))), "")
        # Too short to be a question, so that nobody takes it for one.
        reply = await caller.post(path, b"{}" if path else b"")
    if reply.connection_check:
        check = reply.connection_check
        return Probe(ok=False, check=check, found=reply.problem, seconds=reply.seconds)
    if reply.failure in ("timeout", "closed"):
        return Probe(ok=False, check="reachable", found=reply.problem, seconds=reply.seconds)
    return Probe(ok=True, status=reply.status, seconds=reply.seconds)


async def probe_verb(
    settings: Extender, verb: Verb, *, nodes: Sequence[Object] = (), count: int = USUAL_NODES
) -> Probe:
    """Whether a verb is served and answers an ordinary question as kube-scheduler wants it.

    Args:
        settings: the extender.
        verb: which verb; the configuration must have it.
        nodes: whole nodes to ask about, as JSON; made-up ones without them.
        count: how many nodes to ask about.

    Raises:
        InputError: the address or the TLS settings cannot be used.
    """
    question = usual_question(settings, verb, AskedNodes(nodes, managed(settings)), count)
    async with Caller(settings) as caller:
        reply = await caller.post(verb_path(settings, verb), question.body)
    problems = judge(question, reply).problems
    worst = next((one for one in problems if one in FATAL), next(iter(problems), ""))
    return Probe(
        ok=not problems,
        check=worst,
        found=problems.get(worst, ""),
        status=reply.status,
        seconds=reply.seconds,
    )


async def probe_latency(
    settings: Extender,
    verb: Verb,
    *,
    nodes: Sequence[Object] = (),
    count: int = 100,
    requests: int = 20,
) -> LatencyRow:
    """How long a verb takes for so many nodes; at most `MEASURE_SECONDS` are measured.

    Args:
        settings: the extender.
        verb: ``filter``, ``prioritize`` or ``preempt``.
        nodes: whole nodes to ask about, as JSON; made-up ones without them.
        count: how many nodes to ask about.
        requests: how often.

    Raises:
        InputError: the address or the TLS settings cannot be used.
    """
    question = usual_question(settings, verb, AskedNodes(nodes, managed(settings)), count)
    async with Caller(settings) as caller:
        return await measure(caller, verb_path(settings, verb), question, requests)


def usual_question(
    settings: Extender, verb: Verb, nodes: AskedNodes, count: int, mode: Mode | None = None
) -> ExtenderQuestion:
    """An ordinary question of a verb; for bind, about a pod that does not exist."""
    mode = mode or mode_of(settings)
    resources = managed(settings)
    some = nodes.some(count)
    if verb == "bind":
        body = to_bind("moor-extender-test-missing", NAMESPACE, uid("missing"), next(iter(some)))
        sent = f"a pod that does not exist, {NAMESPACE}/moor-extender-test-missing"
        return ExtenderQuestion(verb=verb, mode=mode, body=body, sent=sent)
    pod = ordinary_pod("ordinary", resources)
    sent = described("an ordinary pod", len(some), mode, made_up=not nodes.real)
    if verb == "preempt":
        pod["spec"]["priority"] = 1000
        return about_victims(mode, pod, nodes.victims(some), f"{sent}, with victims")
    return about_nodes(verb, mode, pod, some, sent)


async def measure(
    caller: Caller, path: str, question: ExtenderQuestion, requests: int
) -> LatencyRow:
    """Ask the same question several times, one after the other."""
    seconds: list[float] = []
    failed = 0
    end = time.monotonic() + MEASURE_SECONDS
    for number in range(requests):
        if number and time.monotonic() > end:
            break
        reply = await caller.post(path, question.body)
        seconds.append(reply.seconds)
        failed += not reply.usable
        if failed and reply.failure == "timeout":
            break
    seconds.sort()

    def at(part: float) -> float:
        return round(1000 * seconds[max(0, math.ceil(part * len(seconds)) - 1)], 3)

    return LatencyRow(
        verb=question.verb,
        mode=question.mode,
        nodes=len(question.nodes),
        requests=len(seconds),
        failed=failed,
        request_bytes=len(question.body),
        p50=at(0.5),
        p90=at(0.9),
        p99=at(0.99),
        max=at(1.0),
    )


_ASKED: tuple[Verb, ...] = ("filter", "prioritize", "preempt", "bind")
