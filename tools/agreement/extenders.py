"""Extenders that do not exist: they answer every question by chance, always in the same way.

Used by `sides` to drive a decision that asks extenders.
"""

import random
from collections.abc import Generator, Mapping
from typing import Any, TypeVar

import mooring as mr
from mooring.errors import MooringError
from mooring.framework.decisions.decision import AskExtenders
from mooring.framework.filtering import Candidate
from tools.agreement.policies import chance

T = TypeVar("T")


class ChanceExtenders:
    """Answers the questions of one case.

    Args:
        seed: the case.
    """

    def __init__(self, seed: int) -> None:
        rng = random.Random(f"extenders {seed}")  # noqa: S311 - for tests
        self._seed = seed
        self._share = rng.choice((0, 20, 60, 100))
        self._fails = rng.choice((*[""] * 12, "filter", "prioritize", "preempt"))

    def drive(self, cycle: Generator[AskExtenders, Any, T]) -> T:
        """Run a decision to its end, and answer where it asks."""
        try:
            ask = next(cycle)
            while True:
                try:
                    answer = self._answer(ask)
                except MooringError as error:
                    ask = cycle.throw(error)
                else:
                    ask = cycle.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _answer(self, ask: AskExtenders) -> object:
        if ask.verb == self._fails:
            raise MooringError(f"extender chance does not answer {ask.verb}")
        if ask.verb == "filter":
            return self._filter(ask.nodes)
        if ask.verb == "prioritize":
            return {
                name: chance(self._seed, "points", name)
                for name in ask.nodes
                if chance(self._seed, "speaks", name) < 80
            }
        return self._preempt(ask.victims)

    def _filter(self, names: tuple[str, ...]) -> tuple[list[str], dict[str, mr.Verdict]]:
        rejected = {
            name: self._verdict(name)
            for name in names
            if chance(self._seed, "extender", name) < self._share
        }
        return [name for name in names if name not in rejected], rejected

    def _verdict(self, name: str) -> mr.Verdict:
        number = chance(self._seed, "why", name)
        if number < 20:
            return mr.reject("", unresolvable=True)
        return mr.reject("the extender says no", unresolvable=number < 50)

    def _preempt(self, candidates: Mapping[str, Candidate]) -> dict[str, Candidate]:
        return {
            name: Candidate(name, one.victims[:1] if number < 20 else one.victims)
            for name, one in candidates.items()
            if (number := chance(self._seed, "preempt", name)) < 75
        }
