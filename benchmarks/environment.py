"""Where a result was measured and how quiet it was there, and nothing personal.

Called by the benchmarks' `__main__`. No host names, no user names, no paths.
"""

import os
import platform
import resource
from pathlib import Path

import msgspec
import numpy as np

from mooring.version import __version__


class Environment(msgspec.Struct, omit_defaults=True):
    """The machine and the versions a result belongs to; no Go where none took part."""

    cpu: str
    cores: int
    memory_gb: float
    os: str
    python: str
    numpy: str
    mooring: str
    go: str = ""


def environment(go: str = "") -> Environment:
    """Describe this machine; `go` is the version of Go, if one took part."""
    return Environment(
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        os=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        numpy=np.__version__,
        mooring=__version__,
        go=go,
    )


class Quiet:
    """How much of the machine other programs use, from its making on."""

    def __init__(self) -> None:
        self._busy, self._all = _machine_ticks()
        self._own = _own_seconds()

    def other_load(self) -> float:
        """The share of all CPU time used by others; ask when all servers have been stopped."""
        busy, everything = _machine_ticks()
        own = (_own_seconds() - self._own) * os.sysconf("SC_CLK_TCK")
        return max(0.0, busy - self._busy - own) / max(1, everything - self._all)


def _machine_ticks() -> tuple[int, int]:
    """Ticks of all CPUs since boot: at work (or taken by the machine's host), and altogether."""
    user, nice, system, idle, wait, hard, soft, stolen, *_ = (
        int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    busy = user + nice + system + hard + soft + stolen
    return busy, busy + idle + wait


def _own_seconds() -> float:
    """CPU time of this process and of the children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or "unknown"
