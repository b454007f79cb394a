"""How the cluster is over time: at regular times, which move apart as the simulation goes on.

The simulation asks for samples before anything changes. Nobody knows at the beginning how long it
will be, so the times are close at first; when there are too many, every second one is dropped.
"""

from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from mooring.simulator.engine.recorder import Recorder
from mooring.simulator.result import Series
from mooring.state.cluster import Cluster

#: So many samples are kept at most.
MOST_SAMPLES: Final = 480
#: Of the shapes of pods that request a resource, so many of the most frequent ones are typical.
_TYPICAL: Final = 16
#: A place on a node: used up by every pod, and nothing that people call a resource.
_PODS: Final = "pods"
_SHARES: Final = ("cpu", "memory")


class Sampler:
    """Takes samples.

    Args:
        cluster: the state.
        recorder: counts pods, and knows what they request.
        first_step: so many seconds are between the first samples.
    """

    def __init__(self, cluster: Cluster, recorder: Recorder, first_step: float = 0.05) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._step = first_step
        self.next_time = 0.0
        self._samples: list[_Sample] = []

    def catch_up(self, now: float) -> None:
        """Take the samples up to a time, that one excluded: nothing has changed since the last."""
        sample = None
        while self.next_time < now:
            if sample is None:
                sample = _take(self._cluster, self._recorder)
            self._keep(self.next_time, sample)

    def end(self, now: float) -> None:
        """Take the last sample."""
        self.catch_up(now)
        sample = _take(self._cluster, self._recorder)
        self._samples.append(sample.at(now, self._recorder.peak()))

    def _keep(self, time: float, sample: "_Sample") -> None:
        kept = self._samples
        kept.append(sample.at(time, self._recorder.peak()))
        if len(kept) >= MOST_SAMPLES:
            for dropped, stays in zip(kept[1::2], kept[2::2], strict=False):
                stays.pending = max(stays.pending, dropped.pending)
            del kept[1 : len(kept) - 1 : 2]
            self._step *= 2
        self.next_time = self._samples[-1].time + self._step

    def series(self) -> Series:
        """All samples."""
        kept = self._samples
        names = sorted({name for one in kept for name in one.utilization})
        free = sorted({name for one in kept for name in one.fragmentation})
        return Series(
            times=[round(one.time, 3) for one in kept],
            utilization={n: [one.utilization.get(n, 0.0) for one in kept] for n in names},
            nodes=[one.nodes for one in kept],
            running=[one.running for one in kept],
            pending=[one.pending for one in kept],
            fragmentation={n: [one.fragmentation.get(n, 0.0) for one in kept] for n in free},
        )


class _Sample:
    __slots__ = ("fragmentation", "nodes", "pending", "running", "time", "utilization")

    def __init__(
        self,
        nodes: int,
        running: int,
        utilization: dict[str, float],
        fragmentation: dict[str, float],
    ) -> None:
        self.time = 0.0
        self.nodes = nodes
        self.running = running
        self.pending = 0
        self.utilization = utilization
        self.fragmentation = fragmentation

    def at(self, time: float, pending: int) -> "_Sample":
        copy = _Sample(self.nodes, self.running, self.utilization, self.fragmentation)
        copy.time, copy.pending = time, pending
        return copy


def _take(cluster: Cluster, recorder: Recorder) -> _Sample:
    columns = cluster.columns
    names = sorted({name for shape in recorder.shapes for name, _ in shape} - {_PODS})
    utilization: dict[str, float] = {}
    free: dict[str, npt.NDArray[np.int64]] = {}
    for name in dict.fromkeys((*_SHARES, *names)):
        allocatable, used = columns.allocatable(name), columns.used(name)
        total = float(allocatable.sum())
        utilization[name] = round(float(used.sum()) / total, 6) if total else 0.0
        free[name] = np.maximum(allocatable - used, 0)
    fragmentation = _fragmentation(cluster, recorder, free)
    return _Sample(len(cluster.nodes), recorder.running, utilization, fragmentation)


def _fragmentation(
    cluster: Cluster, recorder: Recorder, free: dict[str, npt.NDArray[np.int64]]
) -> dict[str, float]:
    """By resource, the share of what is free that the typical pods which request it cannot use."""
    pods, shapes = recorder.shape_pods, list(recorder.shapes)
    if not pods or not len(cluster.nodes):
        return {}
    columns = cluster.columns
    room = columns.allocatable(_PODS) > columns.used(_PODS)
    frequent = sorted(range(len(pods)), key=lambda number: (-pods[number], number))
    fits: dict[int, npt.NDArray[np.bool_]] = {}
    found = {}
    for name, amounts in free.items():
        wanting = (number for number in frequent if any(one == name for one, _ in shapes[number]))
        typical = list(islice(wanting, _TYPICAL))
        whole = float(amounts.sum())
        lost = 0.0
        for number in typical:
            if number not in fits:
                fits[number] = _fits(shapes[number], free, room)
            lost += pods[number] * float(amounts[~fits[number]].sum())
        total = sum(pods[number] for number in typical)
        found[name] = round(lost / (whole * total), 6) if whole and total else 0.0
    return found


def _fits(
    shape: tuple[tuple[str, int], ...],
    free: dict[str, npt.NDArray[np.int64]],
    room: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """The nodes on which a pod has what it requests."""
    fits = room.copy()
    for name, amount in shape:
        if name != _PODS:
            fits &= free[name] >= amount
    return fits
