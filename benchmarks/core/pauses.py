"""Part `pauses`: how long the garbage collector stops everything on a full cluster.

Called by `__main__`, last, because it sets the collector as `moor run` does. Pods are placed and
confirmed one after the other, so that objects come and stay as they do there.
"""

import gc
import time

import msgspec

from benchmarks.core.bench import Bench
from benchmarks.core.collection import collecting_as_moor_run
from benchmarks.core.workloads import WORKLOADS

#: Pods for each node: 50,000 on 5,000 nodes before, and so many more are placed.
_BEFORE, _MORE = 10, 2
_BATCH = 100


class Pauses(msgspec.Struct):
    """What garbage collection costs.

    Attributes:
        pods: how many pods were on the cluster at the start.
        placed: how many were placed and confirmed meanwhile.
        collections: how often the collector ran.
        longest_ms: its longest pause.
        share: of all CPU time.
    """

    nodes: int
    pods: int
    placed: int
    collections: int
    longest_ms: float
    share: float


class _Watch:
    """Is told by the collector when it begins and ends."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self._since = 0.0

    def __call__(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._since = time.perf_counter()
        else:
            self.pauses.append(time.perf_counter() - self._since)


def measure(nodes: int) -> Pauses:
    """Place pods on a full cluster of so many nodes."""
    bench = Bench(WORKLOADS["plain"], nodes, _BEFORE * nodes)
    watch = _Watch()
    with collecting_as_moor_run():
        gc.callbacks.append(watch)
        begin = time.process_time()
        for _ in range(_MORE * nodes // _BATCH):
            pods = bench.new_pods(_BATCH)
            names = bench.place(pods)
            for pod, name, seen in zip(pods, names, bench.seen_bound(pods, names), strict=True):
                bench.bound(pod, name)
                bench.confirm(seen)
    spent = time.process_time() - begin
    return Pauses(
        nodes=nodes,
        pods=_BEFORE * nodes,
        placed=_MORE * nodes // _BATCH * _BATCH,
        collections=len(watch.pauses),
        longest_ms=1e3 * max(watch.pauses, default=0.0),
        share=sum(watch.pauses) / spent,
    )
