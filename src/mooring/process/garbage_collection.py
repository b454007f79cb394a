"""When Python looks for garbage, so that nobody has to wait for it; used by ``moor run``.

Nodes and pods live long and refer to nothing that refers to them, so reference counting frees them.
What is left to the garbage collector is little, and young:

    new object ──10,000 more──> looked at ──> frozen, for good

A look covers about 10,000 objects at most, a few milliseconds; objects that are frozen are not
looked at any more. A second look at them would find next to nothing, and cost a scheduler that is
busy a few percent of its time. What becomes garbage in a cycle later is found by
`collect_everything`, which stops the process for as long as the garbage collector usually does
(0.3 s with 50,000 pods). Modules are no garbage either, and importing them takes a sixth less time
with `no_collection`.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_NEW_OBJECTS: Final = 10_000
#: Python's own looks at older objects: none are left.
_NEVER: Final = 10_000
_YOUNG: Final = 0
#: So many times fewer looks.
_FEW: Final = 50


@contextmanager
def no_collection() -> Iterator[None]:
    """Look for no garbage while modules are imported; what is there afterwards stays for good."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def few_collections() -> Iterator[None]:
    """Look for garbage seldom while a cluster is read: nearly all that is new there stays."""
    threshold, *older = gc.get_threshold()
    gc.set_threshold(threshold * _FEW, *older)
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(threshold, *older)


def collect_in_short_pauses() -> None:
    """Look at new objects once, and never again; for the whole process."""
    gc.set_threshold(_NEW_OBJECTS, _NEVER, _NEVER)
    if _freeze_survivors not in gc.callbacks:
        gc.callbacks.append(_freeze_survivors)


def collect_everything() -> None:
    """Look at all objects once, frozen or not."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _freeze_survivors(phase: str, info: dict[str, Any]) -> None:
    if phase == "stop" and info["generation"] == _YOUNG:
        gc.freeze()
