"""Asking the pre-filter plugins and the filters of one profile on which nodes a pod fits.

The decision cycle walks through all nodes, `moor explain`'s what-ifs thoroughly through some, and
preemption asks about one node at a time. All of them ask here, so they get the same answers. Pods
that are nominated to a node count there. It chooses nothing and never waits.
"""

from collections.abc import Sequence, Set
from typing import Final

import numpy as np

from mooring.errors import MooringError, PluginError
from mooring.framework import foreign, hook
from mooring.framework.arrays import Mask, Rows
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.observer import FILTER, NOBODY, PRE_FILTER, Observer
from mooring.framework.decisions.pre_filter_walk import PreFilterWalk
from mooring.framework.filtering import Filtering, PreFilterResult, Rejection
from mooring.framework.handle import AskFilter
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdicts, fail
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster


class _EveryPlugin(Observer):
    """Has every pre-filter plugin asked."""

    thorough = True


_EVERY_PLUGIN: Final = _EveryPlugin()


class FilterWalk:
    """One profile's pre-filter plugins and filters, on one cluster.

    Args:
        cluster: the state.
        pre_filters: asks the pre-filter plugins.
        filters: the filters.
        what_ifs: the plugins that follow pods which are added and removed in thought.
    """

    def __init__(
        self,
        cluster: Cluster,
        pre_filters: PreFilterWalk,
        filters: Sequence[AskFilter],
        what_ifs: Sequence[tuple[str, hook.WhatIf]],
    ) -> None:
        self._cluster = cluster
        self._pre_filters = pre_filters
        self._filters = filters
        self._what_ifs = what_ifs
        self._asking = False

    def run(self, cycle: Cycle, observer: Observer = NOBODY, rows: Rows | None = None) -> Filtering:
        """Find the nodes on which the pod fits; stops where nothing can change any more.

        Args:
            cycle: the decision; nobody was asked yet.
            observer: told of each step; for a thorough one every plugin is asked about every node.
            rows: only these nodes; None for all.

        Raises:
            PluginError: a plugin failed. One that is asked for a thorough observer only may fail;
                its verdicts say so.
        """
        observer.started(PRE_FILTER)
        whole, result, rejecting, beside = self._pre_filters.run(cycle, observer)
        observer.pre_filtered(whole, result)
        size = len(self._cluster.columns)
        if whole is not None:
            if observer.thorough:
                # A scheduler would not ask them.
                nodes = _nodes(beside or cycle, rows)
                possible = np.zeros(len(nodes), np.bool_)
                self._ask_filters(nodes, possible, observer, rejecting)
            return Filtering(np.zeros(size, np.bool_), pre_filter_result=result, whole=whole)
        observer.started(FILTER)
        nodes = _nodes(cycle, rows)
        mask = np.ones(size, np.bool_) if result is None else result.mask.copy()
        if rows is None:
            answers = self._ask_filters(nodes, mask, observer, rejecting)
        else:
            some = mask[rows]
            answers = [
                (name, _spread(verdicts, rows, size))
                for name, verdicts in self._ask_filters(nodes, some, observer, rejecting)
            ]
            mask = np.zeros(size, np.bool_)
            mask[rows] = some
        if observer.each_plugin:
            observer.filters_answered(mask.copy())
        special = self._ask_again(cycle, mask, result, rows)
        filtering = Filtering(mask, answers, pre_filter_result=result, special=special)
        observer.filtered(filtering)
        return filtering

    def prepared(self, pod: Pod) -> Cycle:
        """A decision in which every pre-filter plugin was asked and no filter yet.

        For questions about rejections: plugins find there what they keep.

        Raises:
            PluginError: a plugin failed.
        """
        cycle = Cycle(pod, self._cluster, thorough=True)
        return self._pre_filters.run(cycle, _EVERY_PLUGIN).beside or cycle

    def _ask_filters(
        self, nodes: Nodes, mask: Mask, observer: Observer, rejecting: Set[str] = frozenset()
    ) -> list[tuple[str, Verdicts]]:
        """Ask the filters one after the other.

        Args:
            nodes: the nodes, which know the decision.
            mask: (n_nodes,) those of them that are possible; loses those that a filter rejects.
            observer: who watches.
            rejecting: plugins that rejected the pod as such, and prepared nothing for their filter.
        """
        thorough, told = observer.thorough, observer.each_plugin
        ask = _ask_thoroughly if thorough else ask_filter
        answers = []
        cycle = nodes.cycle
        skipped = cycle.skipped
        for asker in self._filters:
            name = asker.name
            if name in skipped or name in rejecting:
                continue
            if told:
                observer.asking(name)
            verdicts = ask(asker, cycle, nodes, mask)
            if told:
                observer.filter_answered(name, verdicts)
            if verdicts is not None:
                answers.append((name, verdicts))
                mask &= verdicts.choice == 0
                if not thorough and not mask.any():
                    break
        return answers

    # -- nodes with nominated pods

    def _ask_again(
        self, cycle: Cycle, mask: Mask, result: PreFilterResult | None, rows: Rows | None
    ) -> dict[int, Rejection]:
        """Ask anew about nodes with nominated pods; takes those that reject out of the mask."""
        special: dict[int, Rejection] = {}
        nominations = self._cluster.nominations
        if not nominations:
            return special
        for name in nominations.nodes:
            row = self._cluster.columns.row_of.get(name)
            if row is None or (rows is not None and row not in rows):
                continue
            possible = result is None or result.mask[row]
            if not possible or not nominations.counting(name, cycle.pod):
                continue
            rejected = self.rejection(cycle, row)
            if rejected is not None:
                special[row] = rejected
                mask[row] = False
        return special

    def rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        """Run all filters for one node as it is now, with nominated pods; None if the pod fits."""
        self._check_not_asking()
        name = self._cluster.columns.nodes[row].name
        nominated = self._cluster.nominations.counting(name, cycle.pod)
        if nominated:
            # parity v1.36.4: runtime/framework.go RunFilterPluginsWithNominatedPods
            added: list[Pod] = []
            try:
                for pod in nominated:
                    added.append(pod)
                    self.add_pod(cycle, pod, row)
                rejected = self._first_rejection(cycle, row)
                while added:
                    self.remove_pod(cycle, added.pop(), row)
            except BaseException:
                # The decision ends with the error; the state must not remember the thought.
                for pod in reversed(added):
                    self._cluster.remove_what_if(pod, row)
                raise
            if rejected is not None:
                return rejected
        return self._first_rejection(cycle, row)

    def _first_rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        nodes = cycle.nodes.subset(np.array([row]))
        self._asking = True
        try:
            answers = self._ask_filters(nodes, np.ones(1, np.bool_), NOBODY)
        finally:
            self._asking = False
        if not answers:
            return None
        name, verdicts = answers[-1]
        return Rejection(name, verdicts[0]) if verdicts.choice[0] else None

    # -- pods in thought

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Put a pod on a node in thought."""
        self._check_not_asking()
        self._cluster.add_what_if(pod, row)
        for name, plugin in self._what_ifs:
            if name not in cycle.skipped:
                try:
                    foreign.call(plugin.add_pod, cycle, pod, row)
                except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                    blame(error, name, "add_pod", cycle.pod)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Take a pod off its node in thought."""
        self._check_not_asking()
        self._cluster.remove_what_if(pod, row)
        for name, plugin in self._what_ifs:
            if name not in cycle.skipped:
                try:
                    foreign.call(plugin.remove_pod, cycle, pod, row)
                except Exception as error:  # noqa: BLE001
                    blame(error, name, "remove_pod", cycle.pod)

    def _check_not_asking(self) -> None:
        """A filter that asks all filters would ask itself for ever."""
        if self._asking:
            raise MooringError("a filter must not use the handle to filter a node")


def _nodes(cycle: Cycle, rows: Rows | None) -> Nodes:
    return cycle.nodes if rows is None else cycle.nodes.subset(rows)


def ask_filter(asker: AskFilter, cycle: Cycle, nodes: Nodes, mask: Mask) -> Verdicts | None:
    """What a filter says of the nodes; of those in a mask, if asking costs for each node."""
    places = np.flatnonzero(mask) if asker.by_node and not mask.all() else None
    if places is not None:
        whole, rows = nodes, nodes.rows
        nodes = whole.subset(places if rows is None else rows[places])
    try:
        verdicts = asker.ask(cycle.pod, nodes)
    except Exception as error:  # noqa: BLE001
        blame(error, asker.name, "filter", cycle.pod)
    if verdicts is None or places is None:
        return verdicts
    return _spread(verdicts, places, len(mask))


def _ask_thoroughly(asker: AskFilter, cycle: Cycle, nodes: Nodes, mask: Mask) -> Verdicts | None:
    """What a filter says of all nodes, although only those in a mask are still possible."""
    try:
        return ask_filter(asker, cycle, nodes, np.ones(len(mask), np.bool_))
    except PluginError as error:
        # If it fails over what nobody else would ask, that must not end the decision.
        verdicts = ask_filter(asker, cycle, nodes, mask) if mask.any() else None
        failed = fail(str(error))
    table = verdicts.table if verdicts is not None else Verdicts.each([]).table
    choice = np.zeros(len(mask), np.int32)
    if verdicts is not None:
        choice[:] = verdicts.choice
    choice[~mask] = len(table)
    return Verdicts(choice, [*table, failed])


def _spread(verdicts: Verdicts, rows: Rows, size: int) -> Verdicts:
    """Verdicts on some nodes as verdicts on all, the others accepted."""
    choice = np.zeros(size, np.int32)
    choice[rows] = verdicts.choice
    return Verdicts(choice, verdicts.table)
