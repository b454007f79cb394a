"""Seeded streams of random numbers, for whoever runs something that draws none itself."""

import random
from collections.abc import Callable


def seeded_streams(seed: int) -> Callable[[str], random.Random]:
    """A stream for each purpose; the same seed and name give the same numbers everywhere."""
    return lambda name: random.Random(f"{seed}/{name}")  # noqa: S311 - nothing secret
