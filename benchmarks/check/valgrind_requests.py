"""Asks callgrind, in which this process runs, to count instructions or not to; used by `counted`.

A program talks to valgrind through a sequence of instructions that does nothing elsewhere
(valgrind's manual, "The Client Request mechanism"). It is written into a page of memory here, so
that nothing has to be compiled.
"""

import ctypes
import mmap
import platform

from benchmarks.command import BenchError

#: callgrind's requests: the letters C and T, and a number.
_BASE = 0x43540000
_ZERO_STATS, _START_INSTRUMENTATION, _STOP_INSTRUMENTATION = _BASE + 1, _BASE + 4, _BASE + 5
#: mov rax, rdi; xor edx, edx; rol rdi by 3, 13, 61 and 51 bits; xchg rbx, rbx; mov rax, rdx; ret
_X86_64 = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")


class Counting:
    """A window in which callgrind counts; it must have been started with counting switched off.

    Raises:
        BenchError: this processor's instructions are not known here.
    """

    def __init__(self) -> None:
        if platform.machine() != "x86_64":
            raise BenchError(f"instructions cannot be counted on {platform.machine()}.")
        rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=rights)
        self._page.write(_X86_64)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._request = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(address)
        self._zero, self._start, self._stop = (
            (ctypes.c_size_t * 6)(number)
            for number in (_ZERO_STATS, _START_INSTRUMENTATION, _STOP_INSTRUMENTATION)
        )

    def begin(self) -> None:
        """Count from now on."""
        self._request(self._start)

    def end(self) -> None:
        """Count no more."""
        self._request(self._stop)

    def reset(self) -> None:
        """Forget what was counted."""
        self._request(self._zero)
