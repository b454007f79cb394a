"""Waits until programs have nothing to do; called before whatever is measured."""

import asyncio

from benchmarks.process import cpu_ms

#: Programs are quiet when they use less than this share of a CPU for so long.
_SHARE = 0.1
_SECONDS = 0.3
_LONGEST_SECONDS = 60.0


async def quiet(pids: list[int]) -> None:
    """Wait until programs have done what they do when they start."""
    for _ in range(round(_LONGEST_SECONDS / _SECONDS)):
        before = sum(map(cpu_ms, pids))
        await asyncio.sleep(_SECONDS)
        if sum(map(cpu_ms, pids)) - before < _SHARE * _SECONDS * 1e3:
            return
