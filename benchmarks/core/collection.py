"""Garbage collection as `moor run` has it, for all parts that measure decisions."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from mooring.process.garbage_collection import collect_in_short_pauses


@contextmanager
def collecting_as_moor_run() -> Iterator[None]:
    """Collect as `moor run` does after its start; as before at the end."""
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    collect_in_short_pauses()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.callbacks[:] = callbacks
        gc.set_threshold(*thresholds)
        gc.unfreeze()
