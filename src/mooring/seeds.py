"""Seeded streams of random numbers, for whoever runs something that draws none itself."""

import random
from collections.abc import Callable

import numpy


def seeded_streams(seed: int) -> Callable[[str], random.Random]:
    """A stream for each purpose; the same seed and name give the same numbers everywhere."""
    return lambda name: random.Random(f"{seed}/{name}")  # noqa: S311 - nothing secret


def seed_policies(seed: int) -> None:
    """Have policies draw the same numbers each time, from `random` and from `numpy.random`."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
