"""The host ports that pods have taken on all nodes.

`Columns` keeps it. A port costs as much as there are nodes on which it is taken. In a what-if a
port is taken or free whoever else may have it.
"""

import numpy as np
import numpy.typing as npt

from mooring.state.copy_on_write import SharedDict
from mooring.state.table import SparseColumn, Table

Mask = npt.NDArray[np.bool_]
#: An address, a protocol and a port number.
Port = tuple[str, str, int]

_ANY_IP = "0.0.0.0"  # noqa: S104 - a host port on all addresses, not something we listen on


class HostPorts:
    """How many pods of each node have a host port."""

    __slots__ = ("_addresses", "_counts", "_table", "_what_ifs")

    def __init__(
        self,
        table: Table,
        counts: SharedDict[Port, SparseColumn] | None = None,
        addresses: SharedDict[tuple[str, int], tuple[str, ...]] | None = None,
    ) -> None:
        self._table = table
        self._counts = SharedDict() if counts is None else counts
        # The addresses at which a protocol's port is taken anywhere.
        self._addresses = SharedDict() if addresses is None else addresses
        self._what_ifs: dict[Port, dict[int, bool]] = {}

    def fork(self, table: Table) -> "HostPorts":
        """The same ports in a forked table; there is no what-if."""
        return HostPorts(table, self._counts.fork(), self._addresses.fork())

    def count(self, row: int, port: Port, sign: int) -> None:
        """A pod has taken a port, or freed it."""
        counts, owner = self._counts.entries.get(port), self._table.owner
        place = port[1:]
        if counts is None:
            counts = self._counts.writable()[port] = SparseColumn(owner)
            self._addresses.writable()[place] = (*self._taken_at(place), port[0])
        elif counts.owner is not owner:
            counts = self._counts.writable()[port] = counts.copy(owner)
        counts.add(row, sign)
        if not counts:
            del self._counts.writable()[port]
            left = tuple(ip for ip in self._taken_at(place) if ip != port[0])
            if left:
                self._addresses.writable()[place] = left
            else:
                del self._addresses.writable()[place]

    def _taken_at(self, place: tuple[str, int]) -> tuple[str, ...]:
        return self._addresses.entries.get(place, ())

    def take_what_if(self, row: int, port: Port, *, taken: bool) -> None:
        """Take or free a port for a what-if, whoever else may have it."""
        self._what_ifs.setdefault(port, {})[row] = taken

    def end_what_ifs(self) -> None:
        """No what-if is going on any more."""
        self._what_ifs.clear()

    def mask(self, ip: str, protocol: str, port: int) -> Mask:
        """(n,) where a host port is taken already."""
        table, counts = self._table, self._counts.entries
        mask = np.zeros(table.size, np.bool_)
        addresses = set(self._taken_at((protocol, port)))
        addresses |= {one[0] for one in self._what_ifs if one[1:] == (protocol, port)}
        for taken in addresses:
            if _ANY_IP not in (ip, taken) and ip != taken:
                continue
            found = counts.get((taken, protocol, port))
            here = found.array(table) > 0 if found is not None else np.zeros_like(mask)
            for row, is_taken in self._what_ifs.get((taken, protocol, port), {}).items():
                here[row] = is_taken
            mask |= here
        return mask
