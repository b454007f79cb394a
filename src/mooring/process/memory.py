"""What the process does with memory that is free.

The C library keeps some of it and gives the rest back to the kernel. Which is right depends on the
process, so each of our servers says it once, at its start; the library parts of mooring never do.

- The extender gets bodies with whole nodes, tens of megabytes. By default such blocks are returned
  at once, and getting them anew costs a page fault for every 4 KiB: half of the time of a request
  with 5,000 nodes. It keeps what it has (`keep_freed_memory`).
- The scheduler has nothing so large, and lives for months. What was needed for a flood of pods is
  given back when they are gone (`trim_memory`).
"""

import contextlib
import ctypes
import gc
from typing import Final

# glibc's mallopt parameters, from malloc.h
_TRIM_THRESHOLD: Final = -1
_TOP_PAD: Final = -2
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8

_KEEP: Final = 1 << 30
#: Arrays of up to a million nodes are reused and not got from the kernel each time.
_ARRAY: Final = 8 << 20


def keep_freed_memory() -> None:
    """Tell glibc to keep freed memory, and the garbage collector to visit old objects seldom.

    Elsewhere than on glibc only the latter. The process keeps its largest size of memory then.
    """
    _set_malloc({_MMAP_THRESHOLD: _KEEP, _TRIM_THRESHOLD: _KEEP, _TOP_PAD: 16 << 20})
    _collect_seldom()


def keep_little_memory() -> None:
    """Tell glibc to keep what the next decision needs, and no more."""
    _set_malloc({_MMAP_THRESHOLD: _ARRAY, _TRIM_THRESHOLD: 2 * _ARRAY, _TOP_PAD: 1 << 20})


def trim_memory(*, thoroughly: bool = False) -> None:
    """Give free memory back to the kernel, wherever it lies.

    Args:
        thoroughly: look for garbage among what is not frozen first, and empty Python's lists of
            free tuples and the like: a few of these keep much from being free.
    """
    if thoroughly:
        gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _set_malloc(parameters: dict[int, int]) -> None:
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        # One arena: the decision thread reuses what the event loop's thread freed.
        mallopt(_ARENA_MAX, 1)
        for parameter, value in parameters.items():
            mallopt(parameter, value)


def _collect_seldom() -> None:
    # Nodes live long; a full collection would stop a request for no gain.
    gc.set_threshold(50_000, 20, 100)
