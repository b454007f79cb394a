"""Where `moor explain` and `moor run` say different things about a case.

Called by the command line and by the test; an empty answer means that they agree.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tools.agreement.cases import Case
from tools.agreement.sides import Ran, Said, explained, ran

#: A note of a Kubernetes event has at most so many bytes, as the scheduler writes it.
_NOTE: Final = 1024


class Difference(NamedTuple):
    """One thing that both say, and differently."""

    seed: int
    what: str
    explain: object
    run: object

    def __str__(self) -> str:
        return f"case {self.seed}: {self.what}\n    explain {self.explain}\n    run     {self.run}"


def differences(case: Case, explaining: Case | None = None) -> list[Difference]:
    """Let both sides decide about a case, and compare all that they say.

    Args:
        case: the case.
        explaining: what explain is given instead, to see whether a difference is found.
    """
    said, done = explained(explaining or case), ran(case)
    pairs = [*_decisions(case, said, done.said), *_deeds(said, done)]
    return [
        Difference(case.seed, what, mine, other) for what, mine, other in pairs if mine != other
    ]


def _decisions(case: Case, said: Said, run: Said) -> Iterator[tuple[str, object, object]]:
    """What was decided, as far as both say it."""
    yield "gated", said.gated, run.gated
    yield "message", said.message, run.message
    yield "nominated", said.nominated, run.nominated
    yield "selected", said.selected, run.selected
    yield "preempting", said.preempting, run.preempting
    # Extenders are not asked about all nodes by a scheduler that takes the nominated one.
    if not (run.nominated and case.extended):
        yield "rejections", said.rejections, run.rejections
    # A scheduler scores nothing if there is no choice.
    if run.totals is not None:
        yield "totals", said.totals, run.totals
        yield "points", said.points, run.points


def _deeds(said: Said, done: Ran) -> Iterator[tuple[str, object, object]]:
    """What came of it."""
    yield "a node", bool(said.selected), bool(done.node)
    if done.node:
        yield "the node is one of the best", True, done.node in said.selected
        yield "devices", said.devices.get(done.node, {}), done.devices
    if not said.gated:
        yield "an event", bool(said.message), bool(done.note)
        short = len(said.message.encode()) <= _NOTE
        yield "note", said.message[: _NOTE // 2], done.note[: _NOTE // 2]
        if short:
            yield "whole note", said.message, done.note
    yield "claims are cleaned up", said.cleans_up, done.cleans_up
    found = said.preempting
    yield "victims", bool(found is not None and found.best), done.victims is not None
    if found is not None and done.victims is not None:
        node, victims = done.victims
        yield "the node is one of the best for preemption", True, node in found.best
        yield "victims there", found.candidates.get(node, ((), 0))[0], victims
