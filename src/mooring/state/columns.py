"""Nodes as rows, everything known of them as columns.

Owns the rows' numbers, the amounts, the labels, taints, images and host ports of all nodes. Columns
are made when first read and kept up to date afterwards. `Cluster` is the only writer; plugins read.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from mooring.model.node import Node
from mooring.model.resources import PODS
from mooring.model.selectors import NodeSelector, NodeSelectorTerm, Requirement
from mooring.model.taints import Taint
from mooring.state.growing import Growing, Table, Tally
from mooring.state.usage import NodeUsage

T = TypeVar("T")
Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
#: An address, a protocol and a port number.
Port = tuple[str, str, int]

_ANY_IP = "0.0.0.0"  # noqa: S104 - a host port on all addresses, not something we listen on
#: Amounts are whole numbers of 64 bits.
_LIMIT = 2**63
#: So many changes of rows are remembered one by one.
_RECENT = 1024
#: So many values of a label that no node has any more are kept before the column is made anew.
_STALE_VALUES = 1024


class LabelColumn:
    """One label of all nodes.

    Attributes:
        values: the different values; the first stands for "no such label".
    """

    def __init__(self, table: Table) -> None:
        self._ids = table.new(np.int32)
        self._index: dict[str, int] = {}
        self.values: list[str] = [""]

    @property
    def ids(self) -> Ids:
        """(n,) for each node the place of its value in `values`; 0 where it has no such label."""
        return self._ids.view

    def place(self, value: str) -> int:
        """The place of a value; -1 if no node has it."""
        return self._index.get(value, -1)

    def set(self, row: int, value: str | None) -> None:
        """Note a node's value."""
        if value is None:
            place = 0
        else:
            found = self._index.get(value)
            if found is None:
                found = self._index[value] = len(self.values)
                self.values.append(value)
            place = found
        self._ids.data[row] = place


class ImageState:
    """An image, where it is, and its size on the first node that had it."""

    __slots__ = ("_tally", "size")

    def __init__(self, table: Table, size: int) -> None:
        self.size = size
        self._tally = table.tally()

    @property
    def spread(self) -> int:
        """On how many nodes it is."""
        return len(self._tally.rows)

    @property
    def mask(self) -> Mask:
        """(n,) on which nodes it is."""
        return self._tally.array > 0

    def count(self, row: int, count: int) -> None:
        """Note that a node has the image, or not any more; a node may name it twice."""
        self._tally.add(row, count)


class Columns:
    """All nodes of a cluster, by row and by column.

    Attributes:
        nodes: the nodes by row.
        row_of: the row of each node, by name.
        version: another number after every change of nodes, not of pods.
        taint_sets: the different sets of taints; see `taint_ids`.
    """

    def __init__(self) -> None:
        self.table = Table()
        self.nodes: list[Node] = []
        self.row_of: dict[str, int] = {}
        self.version = 0
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self._usage: list[NodeUsage] = []
        self._taint_index: dict[tuple[Taint, ...], int] = {(): 0}
        self._allocatable: dict[str, Growing] = {}
        self._used: dict[str, Growing] = {PODS: self.table.new()}
        self._nonzero_cpu = self.table.new()
        self._nonzero_memory = self.table.new()
        self._unschedulable = self.table.new(np.bool_)
        self._taint_ids = self.table.new(np.int32)
        self._generation = self.table.new()
        self._changes = 0
        self._recent: list[int] = []
        self._labels: dict[str, LabelColumn] = {}
        self._images: dict[str, ImageState] = {}
        self._ports: dict[tuple[str, int], dict[str, Tally]] = {}
        self._ports_in_thought: dict[Port, dict[int, bool]] = {}
        self._memo: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return self.table.size

    # -- what plugins read

    @property
    def names(self) -> list[str]:
        """The nodes' names by row."""
        return [node.name for node in self.nodes]

    @property
    def generation(self) -> Ints:
        """(n,) a number that grows whenever anything in the row changes."""
        return self._generation.view

    @property
    def changes(self) -> int:
        """How many changes there were; the newest number in `generation`."""
        return self._changes

    def changed_since(self, changes: int) -> list[int] | None:
        """The rows that changed since there were so many changes; None if too many to know.

        Valid only while `version` stays the same: rows may have got other numbers since.
        """
        count = self._changes - changes
        if count > len(self._recent):
            return None
        return list(set(self._recent[len(self._recent) - count :])) if count else []

    def allocatable(self, resource: str) -> Ints:
        """(n,) what pods can use of a resource."""
        column = self._allocatable.get(resource)
        if column is None:
            column = self._allocatable[resource] = self.table.new()
            column.data[: len(self)] = [node.allocatable[resource] for node in self.nodes]
        return column.view

    def used(self, resource: str) -> Ints:
        """(n,) the sum of the pods' requests; for ``pods``, how many there are."""
        return self._used_column(resource).view

    @property
    def nonzero_cpu(self) -> Ints:
        """(n,) the CPU that counts for scoring."""
        return self._nonzero_cpu.view

    @property
    def nonzero_memory(self) -> Ints:
        """(n,) the memory that counts for scoring."""
        return self._nonzero_memory.view

    @property
    def unschedulable(self) -> Mask:
        """(n,) which nodes are cordoned."""
        return self._unschedulable.view

    @property
    def taint_ids(self) -> Ids:
        """(n,) for each node the place of its taints in `taint_sets`."""
        return self._taint_ids.view

    def labels(self, key: str) -> LabelColumn:
        """The column of one label."""
        column = self._labels.get(key)
        if column is None or len(column.values) > 2 * len(self) + _STALE_VALUES:
            column = self._labels[key] = LabelColumn(self.table)
            for row, node in enumerate(self.nodes):
                column.set(row, node.labels.get(key))
        return column

    def requirement_mask(self, requirement: Requirement) -> Mask:
        """(n,) whose labels satisfy a condition."""
        column = self.labels(requirement.key)
        key = requirement.key
        answers = [requirement.matches({})]
        answers.extend(requirement.matches({key: value}) for value in column.values[1:])
        return np.array(answers, np.bool_)[column.ids]

    def term_mask(self, term: NodeSelectorTerm) -> Mask:
        """(n,) which nodes match a term; an empty term matches none."""
        if not term.match_expressions and not term.match_fields:
            return np.zeros(len(self), np.bool_)
        mask = np.ones(len(self), np.bool_)
        for requirement in term.match_expressions or ():
            mask &= self.requirement_mask(requirement)
        if term.match_fields:
            named = NodeSelectorTerm(match_fields=term.match_fields)
            mask &= np.fromiter(
                (named.matches({}, node.name) for node in self.nodes), np.bool_, len(self)
            )
        return mask

    def selector_mask(self, selector: NodeSelector) -> Mask:
        """(n,) which nodes one of the terms matches."""
        mask = np.zeros(len(self), np.bool_)
        for term in selector.node_selector_terms or ():
            mask |= self.term_mask(term)
        return mask

    def image(self, name: str) -> ImageState | None:
        """An image by one of its names, if a node has it."""
        return self._images.get(name)

    def port_mask(self, ip: str, protocol: str, port: int) -> Mask:
        """(n,) where a host port is taken already."""
        mask = np.zeros(len(self), np.bool_)
        addresses = self._ports.get((protocol, port), {})
        if not self._ports_in_thought:
            for taken, tally in addresses.items():
                if _ANY_IP in (ip, taken) or ip == taken:
                    mask |= tally.array > 0
            return mask
        thought = {one[0] for one in self._ports_in_thought if one[1:] == (protocol, port)}
        for taken in thought | set(addresses):
            if _ANY_IP in (ip, taken) or ip == taken:
                here = addresses[taken].array > 0 if taken in addresses else np.zeros_like(mask)
                for row, is_taken in self._ports_in_thought.get(
                    (taken, protocol, port), {}
                ).items():
                    here[row] = is_taken
                mask |= here
        return mask

    def usage(self, row: int) -> NodeUsage:
        """The pods on a node and the sum of their requests."""
        return self._usage[row]

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed before under this key, if no node has changed since."""
        known = self._memo.get(key)
        if known is None:
            known = self._memo[key] = (compute(),)
            if len(self._memo) > 4096:
                self._memo = {key: known}
        return cast("T", known[0])

    # -- what `Cluster` writes

    def put(self, node: Node, usage: NodeUsage) -> int:
        """Add a node, or replace the one of the same name; returns its row."""
        row = self.row_of.get(node.name)
        if row is None:
            row = self.table.append()
            self.row_of[node.name] = row
            self.nodes.append(node)
            self._usage.append(usage)
            self._describe(row, None, node)
        else:
            old = self.nodes[row]
            self.nodes[row] = node
            if _same(old, node):
                self.touch(row)
                return row
            self._describe(row, old, node)
        return row

    def remove(self, name: str) -> None:
        """Take out a node that has no pods counted; the last node gets its row."""
        row = self.row_of.pop(name)
        self._count_images(row, self.nodes[row], -1)
        self.table.remove(row)
        moved, usage = self.nodes.pop(), self._usage.pop()
        if row < len(self):
            self.nodes[row] = moved
            self._usage[row] = usage
            self.row_of[moved.name] = row
        self._nodes_changed()
        if row < len(self):
            self.touch(row)

    def count_amounts(self, row: int, amounts: tuple[tuple[str, int], ...], sign: int) -> None:
        """Count a pod's requests and the pod itself."""
        for name, amount in amounts:
            _add(self._used_column(name).data, row, sign * amount)
        self._used[PODS].data[row] += sign
        self.touch(row)

    def count_scoring(self, row: int, cpu: int, memory: int) -> None:
        """Count the amounts that matter for scoring."""
        _add(self._nonzero_cpu.data, row, cpu)
        _add(self._nonzero_memory.data, row, memory)

    def count_port(self, row: int, port: Port, sign: int) -> None:
        """Count a host port."""
        ip, protocol, number = port
        taken = self._ports.setdefault((protocol, number), {})
        tally = taken.get(ip)
        if tally is None:
            tally = taken[ip] = self.table.tally()
        tally.add(row, sign)
        if not tally:
            del taken[ip]
            if not taken:
                del self._ports[protocol, number]

    def take_port_in_thought(self, row: int, port: Port, *, taken: bool) -> None:
        """Take or free a host port for a what-if, whoever else may have it."""
        self._ports_in_thought.setdefault(port, {})[row] = taken

    def end_thought(self) -> None:
        """No what-if is going on any more."""
        self._ports_in_thought.clear()

    def touch(self, row: int) -> None:
        """Something in the row changed."""
        self._changes += 1
        self._generation.data[row] = self._changes
        self._recent.append(row)
        if len(self._recent) > 2 * _RECENT:
            del self._recent[:_RECENT]

    def _used_column(self, resource: str) -> Growing:
        column = self._used.get(resource)
        if column is None:
            column = self._used[resource] = self.table.new()
        return column

    def _describe(self, row: int, old: Node | None, node: Node) -> None:
        for resource, column in self._allocatable.items():
            column.data[row] = node.allocatable[resource]
        for key, labels in self._labels.items():
            labels.set(row, node.labels.get(key))
        self._unschedulable.data[row] = node.unschedulable
        self._taint_ids.data[row] = self._taint_set(tuple(node.taints))
        if old is None or old.status.images != node.status.images:
            if old is not None:
                self._count_images(row, old, -1)
            self._count_images(row, node, 1)
        self._nodes_changed()
        self.touch(row)

    def _nodes_changed(self) -> None:
        self.version += 1
        self._memo = {}

    def _taint_set(self, taints: tuple[Taint, ...]) -> int:
        found = self._taint_index.get(taints)
        if found is None:
            found = self._taint_index[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
        return found

    def _count_images(self, row: int, node: Node, sign: int) -> None:
        # parity v1.36.4: backend/cache/cache.go addNodeImageStates: the first size counts
        for image in node.status.images or ():
            for name in image.names or ():
                state = self._images.get(name)
                if state is None:
                    state = self._images[name] = ImageState(self.table, image.size_bytes)
                state.count(row, sign)
                if not state.spread:
                    del self._images[name]


def _add(data: npt.NDArray[np.int64], row: int, amount: int) -> None:
    total = data.item(row) + amount
    if not -_LIMIT <= total < _LIMIT:  # wraps around, as in kube-scheduler
        total = (total + _LIMIT) % (2 * _LIMIT) - _LIMIT
    data[row] = total


def _same(old: Node, new: Node) -> bool:
    """Whether a node changed in nothing that scheduling reads, as in a heartbeat."""
    return (
        old.labels == new.labels
        and old.spec == new.spec
        and old.status.allocatable == new.status.allocatable
        and old.status.images == new.status.images
        and old.status.declared_features == new.status.declared_features
    )
