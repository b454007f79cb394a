"""Pods that are added to nodes or removed from them in thought, until that is taken back.

Kept by `Cluster`, one for each state: while there are any, it cannot be forked.
"""

from mooring.state.columns import Columns
from mooring.state.pod_info import PodInfo


class WhatIfPods:
    """The pods that are added and removed in thought.

    Args:
        columns: the nodes.
    """

    __slots__ = ("_columns", "_signs")

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        # By row and key: 1 if the pod was added, -1 if it was removed.
        self._signs: dict[tuple[int, str], int] = {}

    def note(self, row: int, key: str, info: PodInfo, sign: int) -> None:
        """A pod was added or removed, or one of that was taken back."""
        # parity v1.36.4: framework/types.go HostPortInfo is a set: a pod that is taken off in a
        # what-if frees its ports even if another pod on the node has them too.
        for port in info.shape.host_ports:
            self._columns.take_port_what_if(row, port, taken=sign > 0)
        place = (row, key)
        if self._signs.get(place, 0) + sign:
            self._signs[place] = sign
        else:
            del self._signs[place]
            if not self._signs:
                self._columns.end_what_ifs()

    def __bool__(self) -> bool:
        return bool(self._signs)
