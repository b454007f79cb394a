"""Where numbers are drawn from: passed in by whoever runs a simulation, seeded there.

Each purpose has a stream of its own, so that another configuration of the scheduler, which breaks
other ties, meets the same arrivals and durations.
"""

from collections.abc import Callable
from typing import Protocol


class RandomSource(Protocol):
    """What of `random.Random` is used."""

    def random(self) -> float:
        """A number from 0 up to 1."""

    def randrange(self, stop: int, /) -> int:
        """One of so many numbers from 0."""

    def expovariate(self, lambd: float) -> float:
        """From an exponential distribution with this rate."""

    def uniform(self, a: float, b: float) -> float:
        """From a uniform distribution between two numbers."""

    def lognormvariate(self, mu: float, sigma: float) -> float:
        """From a log-normal distribution."""


#: The stream of a purpose, such as ``ties``; the same name gives the same numbers.
Streams = Callable[[str], RandomSource]
