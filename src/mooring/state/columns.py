"""Nodes as rows, everything known of them as columns.

Owns the rows' numbers, the amounts, the labels, taints, images and host ports of all nodes.
`Cluster` is the only writer; plugins read. What pods and nodes name costs as much as there are pods
and nodes that name it, and what is remembered for those who ask has a limit (see `memory_bounds`).
"""

import copy
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from mooring.model.node import Node
from mooring.model.resources import Resources
from mooring.model.selectors import NodeSelector, NodeSelectorTerm, Requirement
from mooring.model.taints import Taint
from mooring.state.aspects import Aspect
from mooring.state.changes.row_log import RowLog
from mooring.state.compiled_spec import CompiledSpec
from mooring.state.host_ports import HostPorts, Port
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.memory_bounds import BOUNDS, MemoryBounds
from mooring.state.node_images import ImageState, NodeImages
from mooring.state.node_labels import Ids, LabelColumn, NodeLabels
from mooring.state.resource_columns import LIMIT, Ints, ResourceColumns, wrapped
from mooring.state.table import GrowingColumn, Table
from mooring.state.usage import NodeUsage

__all__ = ["Columns", "ImageState", "LabelColumn"]

T = TypeVar("T")
Mask = npt.NDArray[np.bool_]
#: What was computed, and how many changes of nodes there had been when it was known to hold.
_Result = list[Any]

#: So many sets of taints that no node has any more are kept before they are numbered anew.
_STALE_TAINTS = 1024


class Columns:
    """All nodes of a cluster, by row and by column.

    Args:
        bounds: how much is remembered.

    Attributes:
        bounds: the same.
        nodes: the nodes by row.
        row_of: the row of each node, by name.
        rows_version: another number after nodes came or went, or got other rows.
        row_log: the rows in which anything changed.
        node_changes: how often an aspect of a node changed, or a node came or went.
        puts: how often a node was put, whether or not anything of it changed.
        taint_sets: the different sets of taints; see `taint_ids`.
    """

    def __init__(self, bounds: MemoryBounds = BOUNDS) -> None:
        self.bounds = bounds
        self.table = Table(bounds)
        self.nodes: list[Node] = []
        self.row_of: dict[str, int] = {}
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self._usage: list[NodeUsage] = []
        self._taint_index: dict[tuple[Taint, ...], int] = {(): 0}
        self._allocatable = ResourceColumns(self.table)
        self._used = ResourceColumns(self.table)
        self._nonzero_cpu = self.table.new_column()
        self._nonzero_memory = self.table.new_column()
        self._unschedulable = self.table.new_column(np.bool_)
        self._taint_ids = self.table.new_column(np.intp)
        self._generation = self.table.new_column()
        self._changes = 0
        self.row_log = RowLog()
        self.puts = 0
        self.node_changes = 0
        self.rows_version = 0
        # How many changes of nodes there had been when an aspect last changed.
        self._changed = dict.fromkeys(Aspect, 0)
        self._labels = NodeLabels(self.table, self.nodes)
        self._images = NodeImages(self.table)
        self._ports = HostPorts(self.table)
        self._memo: LruCache[Hashable, _Result] = self._new_memo()

    def _new_memo(self) -> LruCache[Hashable, _Result]:
        return self.table.new_lru_cache(self.bounds.results, self._memo_bytes)

    @property
    def _memo_bytes(self) -> int:
        return self.bounds.result_bytes + len(self) * self.bounds.result_bytes_per_node

    def fork(self) -> "Columns":
        """The same rows and columns, independent of these; see `Cluster.fork`."""
        forked = copy.copy(self)
        forked.separate(self.table.fork())
        return forked

    def separate(self, table: Table) -> None:
        """Become independent of the columns that these are a copy of."""
        self.table = table
        self.nodes = self.nodes.copy()
        self.row_of = self.row_of.copy()
        self.taint_sets = self.taint_sets.copy()
        self._usage = self._usage.copy()
        self._taint_index = self._taint_index.copy()
        self._allocatable = self._allocatable.fork(table)
        self._used = self._used.fork(table)
        self._nonzero_cpu = table.fork_column(self._nonzero_cpu)
        self._nonzero_memory = table.fork_column(self._nonzero_memory)
        self._unschedulable = table.fork_column(self._unschedulable)
        self._taint_ids = table.fork_column(self._taint_ids)
        self._generation = table.fork_column(self._generation)
        self._changed = self._changed.copy()
        self.row_log = RowLog()
        self._labels = self._labels.fork(table, self.nodes)
        self._images = self._images.fork(table)
        self._ports = self._ports.fork(table)
        self._memo = self._new_memo()

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

    def version(self, *aspects: Aspect) -> int:
        """Another number after every change of these aspects, and when nodes come or go."""
        version = self.rows_version
        for aspect in aspects:
            version = max(version, self._changed[aspect])
        return version

    def allocatable(self, resource: str) -> Ints:
        """(n,) what pods can use of a resource."""
        return self._allocatable.column(resource)

    def allocatable_at(self, resource: str, row: int) -> int:
        """What pods can use of a resource on one node."""
        return self._allocatable.at(resource, row)

    def used(self, resource: str) -> Ints:
        """(n,) the sum of the pods' requests; for ``pods``, how many there are."""
        return self._used.column(resource)

    def used_at(self, resource: str, row: int) -> int:
        """The sum of the pods' requests on one node."""
        return self._used.at(resource, row)

    @property
    def nonzero_cpu(self) -> Ints:
        """(n,) the CPU that counts for scoring."""
        return self._nonzero_cpu.view

    @property
    def nonzero_memory(self) -> Ints:
        """(n,) the memory that counts for scoring."""
        return self._nonzero_memory.view

    def allocatable_column(self, resource: str) -> GrowingColumn | None:
        """What pods can use of a resource, for reading single rows; None for a rare resource."""
        return self._allocatable.common(resource)

    def used_column(self, resource: str) -> GrowingColumn | None:
        """The sum of the pods' requests, for reading single rows; None for a rare resource."""
        return self._used.common(resource)

    @property
    def nonzero_columns(self) -> tuple[GrowingColumn, GrowingColumn]:
        """The CPU and the memory that count for scoring, for reading single rows."""
        return self._nonzero_cpu, self._nonzero_memory

    @property
    def unschedulable(self) -> Mask:
        """(n,) which nodes are cordoned."""
        return self._unschedulable.view

    @property
    def taint_ids(self) -> Ids:
        """(n,) for each node the place of its taints in `taint_sets`."""
        return self._taint_ids.view

    def labels(self, key: str) -> LabelColumn:
        """The column of one label; the same one for all labels that no node has."""
        return self._labels.column(key)

    def has_label(self, key: str) -> bool:
        """Whether any node has a label."""
        return key in self._labels

    def requirement_mask(self, requirement: Requirement) -> Mask:
        """(n,) whose labels satisfy a condition."""
        column = self.labels(requirement.key)
        key = requirement.key
        answers = [requirement.matches({})]
        answers.extend(requirement.matches({key: value}) for value in column.values[1:])
        return np.array(answers, np.bool_).take(column.ids)

    def term_mask(self, term: NodeSelectorTerm) -> Mask:
        """(n,) which nodes match a term; an empty term matches none."""
        if not term.match_expressions and not term.match_fields:
            return np.zeros(len(self), np.bool_)
        mask = np.ones(len(self), np.bool_)
        for requirement in term.match_expressions or ():
            mask &= self.requirement_mask(requirement)
        if term.match_fields:
            mask &= self._fields_mask(term.match_fields)
        return mask

    def _fields_mask(self, fields: list[Requirement]) -> Mask:
        if all(one.key == "metadata.name" and one.operator == "In" for one in fields):
            # Claims say so of a single node, and nobody looks at the others.
            names = set.intersection(*(set(one.values or ()) for one in fields))
            mask = np.zeros(len(self), np.bool_)
            mask[[self.row_of[name] for name in names if name in self.row_of]] = True
            return mask
        named = NodeSelectorTerm(match_fields=fields)
        return np.fromiter(
            (named.matches({}, node.name) for node in self.nodes), np.bool_, len(self)
        )

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
        return self._ports.mask(ip, protocol, port)

    def usage(self, row: int) -> NodeUsage:
        """The pods on a node and the sum of their requests."""
        return self._usage[row]

    def remember(self, key: Hashable, compute: Callable[[], T], *aspects: Aspect) -> T:
        """What was computed before under this key, if it still holds.

        It is computed again if one of the aspects changed, if nodes came or went, or if it was
        forgotten meanwhile. The larger the results, the fewer are remembered; an object that is no
        array and no container says how many bytes it has in `nbytes`, or counts as much as one
        number for each node.

        Args:
            key: names the result.
            compute: works it out. It may read nothing of the nodes but their names and these
                aspects, and nothing of the pods.
            aspects: what it reads.
        """
        known = self._memo.get(key)
        if known is not None:
            remembered, then = known
            if then == self.node_changes:
                return cast("T", remembered)
            changed = self._changed
            for aspect in aspects:
                if changed[aspect] > then:
                    break
            else:
                known[1] = self.node_changes
                return cast("T", remembered)
        changes = self.node_changes
        value = compute()
        size = size_of(key) + size_of((value,), 8 * len(self))
        self._memo.put(key, [value, changes], size)
        return value

    def forget_results(self) -> None:
        """Forget what was computed with `remember`; it is computed again when it is asked for."""
        self._memo.clear()

    # -- what `Cluster` writes

    def put(self, node: Node, usage: NodeUsage) -> int:
        """Add a node, or replace the one of the same name; returns its row."""
        self.puts += 1
        row = self.row_of.get(node.name)
        if row is None:
            row = self.table.append()
            self.row_of[node.name] = row
            self.nodes.append(node)
            self._usage.append(usage)
            self._describe(row, None, node)
            self._rows_change()
        else:
            old = self.nodes[row]
            self.nodes[row] = node
            self._describe(row, old, node)
        self.touch(row)
        return row

    def remove(self, name: str) -> None:
        """Take out a node; the last node gets its row. No pods are counted on these two."""
        row, last = self.row_of.pop(name), len(self) - 1
        self._forget(row, self.nodes[row])
        moved, usage = self.nodes.pop(), self._usage.pop()
        if row < last:
            self._allocatable.move(moved.allocatable, last, row)
            self._labels.move(moved.labels, last, row)
            self._images.move(moved, last, row)
            self.nodes[row] = moved
            self._usage[row] = usage
            self.row_of[moved.name] = row
        self.table.remove(row)
        self._rows_change()
        if row < last:
            self.touch(row)

    def replace_usage(self, row: int, node: Node, usage: NodeUsage) -> None:
        """The pods of a node are kept elsewhere from now on; they are the same."""
        self.nodes[row] = node
        self._usage[row] = usage

    def count_pod(self, row: int, spec: CompiledSpec, sign: int) -> None:
        """Count a pod's requests, the amounts that matter for scoring, and the pod itself."""
        self._used.add_all(row, spec.taken, sign)
        for column, amount in (
            (self._nonzero_cpu, spec.nonzero_cpu),
            (self._nonzero_memory, spec.nonzero_memory),
        ):
            if column.shared:
                column.writable()
            total = column.cells[row] + sign * amount
            column.cells[row] = total if -LIMIT <= total < LIMIT else wrapped(total)
        self.touch(row)

    def count_port(self, row: int, port: Port, sign: int) -> None:
        """Count a host port."""
        self._ports.count(row, port, sign)

    def take_port_what_if(self, row: int, port: Port, *, taken: bool) -> None:
        """Take or free a host port for a what-if, whoever else may have it."""
        self._ports.take_what_if(row, port, taken=taken)

    def end_what_ifs(self) -> None:
        """No what-if is going on any more."""
        self._ports.end_what_ifs()

    def touch(self, row: int) -> None:
        """Something in the row changed."""
        self._changes += 1
        column = self._generation
        if column.shared:
            column.writable()
        column.cells[row] = self._changes
        self.row_log.append(row)

    def _describe(self, row: int, old: Node | None, node: Node) -> None:
        """Note what is known of a node, as far as it is not known already."""
        if old is None or old.status.allocatable != node.status.allocatable:
            before = Resources() if old is None else old.allocatable
            self._allocatable.replace(row, before, node.allocatable)
            self._change(Aspect.ALLOCATABLE)
        if old is None or old.labels != node.labels:
            self._labels.replace(row, {} if old is None else old.labels, node.labels)
            self._change(Aspect.LABELS)
        if old is None or old.spec != node.spec:
            self._unschedulable.writable()[row] = node.unschedulable
            self._taint_ids.writable()[row] = self._taint_set(tuple(node.taints))
            self._change(Aspect.TAINTS)
        if old is None or old.status.images != node.status.images:
            if old is not None:
                self._images.remove(row, old)
            self._images.add(row, node)
            self._change(Aspect.IMAGES)
        if old is None or old.status.declared_features != node.status.declared_features:
            self._change(Aspect.DECLARED_FEATURES)

    def _forget(self, row: int, node: Node) -> None:
        """Take out of a row what the table does not take out by itself."""
        self._allocatable.replace(row, node.allocatable, Resources())
        self._labels.replace(row, node.labels, {})
        self._images.remove(row, node)

    def _change(self, aspect: Aspect) -> None:
        self.node_changes += 1
        self._changed[aspect] = self.node_changes

    def _rows_change(self) -> None:
        """A node came or went: nothing that was computed for all of them holds any more."""
        self.node_changes += 1
        self.rows_version = self.node_changes
        self._memo.clear(self._memo_bytes)

    def _taint_set(self, taints: tuple[Taint, ...]) -> int:
        if len(self.taint_sets) > 2 * len(self) + _STALE_TAINTS:
            self.taint_sets, self._taint_index = [()], {(): 0}
            for row, node in enumerate(self.nodes):
                self._taint_ids.writable()[row] = self._taint_set(tuple(node.taints))
        found = self._taint_index.get(taints)
        if found is None:
            found = self._taint_index[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
        return found
