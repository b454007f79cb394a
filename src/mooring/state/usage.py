"""What is in use on one node, as policies read it: ``node.used``, ``node.free``, ``node.pods``.

Kept by `Cluster` beside the columns, because a function that is asked for one node after the other
reads a dict faster than an array.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.model.pod import Pod
from mooring.model.resources import Resources
from mooring.state.copy_on_write import Owner
from mooring.state.pod_info import PodInfo

#: So many pods may come and go before the sum has to follow.
_MOST_UNCOUNTED: Final = 16
#: How sums are changed here, and nowhere else: whoever reads them gets these very objects.
_set: Final = dict[str, int].__setitem__
_drop: Final = dict[str, int].__delitem__


class NodeUsage:
    """What is in use on one node; kept even while the node itself is not known yet.

    Attributes:
        owner: who may write to it (see `copy_on_write`); None if it is in no state.
    """

    __slots__ = ("_by_key", "_free", "_pods", "_uncounted", "_used", "owner")

    def __init__(self, owner: Owner | None = None, pods: dict[str, PodInfo] | None = None) -> None:
        self.owner = owner
        self._used = Resources()
        # What came and went since somebody read the sum, which mostly nobody does.
        self._uncounted: list[tuple[Iterable[tuple[str, int]], int]] = []
        self._by_key = pods or {}
        self._pods: tuple[Pod, ...] | None = None
        self._free: tuple[Mapping[str, int], Resources] | None = None

    def copy(self, owner: Owner) -> "NodeUsage":
        """The same pods for another owner."""
        made = NodeUsage(owner, self._by_key.copy())
        made._used = Resources(self.used)
        return made

    @property
    def used(self) -> Resources:
        """The sum of the pods' requests; ``pods`` is their number."""
        if self._uncounted:
            self._count()
        return self._used

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods on the node, in the order they came."""
        if self._pods is None:
            self._pods = tuple([info.pod for info in self._by_key.values()])
        return self._pods

    @property
    def infos(self) -> Iterable[PodInfo]:
        """The same pods, each with its shape."""
        return self._by_key.values()

    def free(self, allocatable: Mapping[str, int]) -> Resources:
        """What is left of so much."""
        known = self._free
        if known is not None and known[0] is allocatable:
            return known[1]
        left = dict(allocatable)
        for name, amount in self.used.items():
            left[name] = left.get(name, 0) - amount
        free = Resources(left)
        self._free = (allocatable, free)
        return free

    def add(self, key: str, info: PodInfo) -> None:
        """Count a pod."""
        self._by_key[key] = info
        self._note(info, 1)

    def remove(self, key: str) -> PodInfo:
        """Count a pod no more; returns it."""
        info = self._by_key.pop(key)
        self._note(info, -1)
        return info

    def replace(self, key: str, info: PodInfo) -> bool:
        """A pod has become another one that asks for the same; it is the last that came.

        Returns:
            Whether another one was the last before, so that the order of the pods is another.
        """
        pods = self._by_key
        moved = next(reversed(pods)) != key
        if moved:
            del pods[key]
        pods[key] = info
        self._pods = None
        return moved

    def _note(self, info: PodInfo, sign: int) -> None:
        self._pods = self._free = None
        self._uncounted.append(((info.compiled or info.shape).spec.taken, sign))
        if len(self._uncounted) > _MOST_UNCOUNTED:
            self._count()

    def _count(self) -> None:
        used = self._used
        for taken, sign in self._uncounted:
            for name, amount in taken:
                total = used.get(name, 0) + sign * amount
                if total:
                    _set(used, name, total)
                else:  # names that nobody uses any more are not kept
                    _drop(used, name)
        self._uncounted.clear()

    def __bool__(self) -> bool:
        return bool(self._by_key)
