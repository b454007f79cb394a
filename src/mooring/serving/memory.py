"""Keeping large blocks of memory warm between requests.

Bodies with whole nodes are tens of megabytes. By default the C library gives such blocks back to
the kernel at once, and getting them anew costs a page fault for every 4 KiB: half of the time of a
request with 5,000 nodes. Called once by the server; never by the library parts of mooring.
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


def keep_warm() -> None:
    """Tell glibc to keep freed memory, and the garbage collector to visit old objects seldom.

    Elsewhere than on glibc only the latter. The process keeps its largest size of memory then.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        # One arena: the decision thread reuses what the event loop's thread freed.
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _KEEP)
        mallopt(_TRIM_THRESHOLD, _KEEP)
        mallopt(_TOP_PAD, 16 << 20)
    # Nodes and pods live long; a full collection would stop a request for no gain.
    gc.set_threshold(50_000, 20, 100)
