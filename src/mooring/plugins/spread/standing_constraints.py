"""What is kept of constraints for all pods that have them: sums by domain, and places of nodes.

A decision finds it with one look, lets it take in the pods that came and went, and has what there
is to say. Made by `PodTopologySpread` for quick answers, and thrown away when nodes change.
"""

import functools
from collections.abc import Sequence
from typing import Final

import numpy as np

from mooring.framework.arrays import Amounts, Floats, Mask, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.nodes import Nodes
from mooring.plugins.domain_sums import DomainSums
from mooring.plugins.spread.constraint_counts import (
    EligibleDomains,
    domains_shown,
    every_node_has_labels,
    lowest_count,
    spread_pods,
)
from mooring.plugins.spread.constraints import HOSTNAME, SpreadConstraint
from mooring.plugins.spread.natural_log import natural_log
from mooring.plugins.spread.scores_by_place import NodePlaces
from mooring.state.cluster import Cluster
from mooring.state.columns import LabelColumn
from mooring.state.node_labels import Ids

_NOTHING: Final[Floats] = np.zeros(1)


class StandingConstraint:
    """One constraint, with the matching pods of each domain.

    Args:
        constraint: the constraint.
        domains: its domains.
        sums: the pods.
    """

    __slots__ = ("_ids", "_is_complete", "constraint", "sums")

    def __init__(
        self, constraint: SpreadConstraint, domains: EligibleDomains, sums: DomainSums
    ) -> None:
        self.constraint = constraint
        self.sums = sums
        self._ids: Ids = domains.ids
        self._is_complete = domains.is_complete

    def accepted(self, cycle: Cycle, possible: Mask, *, itself: bool) -> Mask:
        """Those of some nodes to whose domains one more pod may come.

        Args:
            cycle: the decision.
            possible: (n,) the nodes.
            itself: whether the pod is one of those to be spread.
        """
        counts, constraint = self.sums.catch_up(cycle.cluster), self.constraint
        limit = constraint.max_skew + lowest_count(counts, constraint)
        limit -= itself
        if self._is_complete and counts.domains and counts.highest <= limit:
            return possible
        by_domain = counts.sums <= limit
        by_domain[0] = False  # the node has no such label
        return possible & by_domain.take(self._ids)


class StandingConstraints:
    """The constraints of one action that pods have.

    Args:
        cycle: a decision about one of these pods.
        constraints: the constraints.
        domains: the domains of each.
        sums: the matching pods of each.
        strict: whether nodes that lack one of the labels are left out.

    Attributes:
        each: the constraints, one by one.
    """

    __slots__ = ("_column", "_domains", "_host", "_places", "_shown", "each")

    def __init__(
        self,
        cycle: Cycle,
        constraints: Sequence[SpreadConstraint],
        domains: Sequence[EligibleDomains],
        sums: Sequence[DomainSums],
        *,
        strict: bool,
    ) -> None:
        self.each = tuple(map(StandingConstraint, constraints, domains, sums))
        #: The places of all nodes in a table of scores; None if there are better ways.
        self._places: NodePlaces | None = None
        #: In how many domains the possible nodes were last, and their rows.
        self._shown: tuple[Rows | None, int] | None = None
        columns = cycle.cluster.columns
        hosts = [one for one in constraints if one.topology_key == HOSTNAME]
        others = [one for one in self.each if one.constraint.topology_key != HOSTNAME]
        if len(hosts) > 1 or len(others) > 1:
            return
        labelled = tuple(constraints if strict else hosts)
        if not every_node_has_labels(columns, labelled):
            return
        self._host = hosts[0] if hosts else None
        self._domains = others[0] if others else None
        ids, size = np.zeros(len(columns), np.intp), 1
        if self._domains is not None:
            self._column = columns.labels(self._domains.constraint.topology_key)
            ids, size = self._column.ids, len(self._column.values)
        pods = spread_pods(cycle.shape.namespace, hosts[0]) if hosts else None
        self._places = NodePlaces(ids, size, pods)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        places = self._places.nbytes if self._places is not None else 0
        return places + sum(one.sums.nbytes for one in self.each)

    def places(self, cluster: Cluster) -> NodePlaces | None:
        """The places of all nodes in a table of scores now; None if a table is not the way."""
        places = self._places
        return places if places is not None and places.catch_up(cluster) else None

    def scores(self, cycle: Cycle, nodes: Nodes, places: NodePlaces, weight: int) -> Amounts | None:
        """(n_nodes,) normalized scores times a weight; None if all nodes get the same."""
        domains, host = self._domains, self._host
        by_domain: Floats = _NOTHING
        by_pods: Sequence[float] = (0.0,)
        if domains is not None:
            sums = domains.sums.catch_up(cycle.cluster).sums
            rows = nodes.rows
            if self._shown is None or self._shown[0] is not rows:
                self._shown = rows, domains_shown(self._column, nodes)
            size = self._shown[1]
            by_domain = domain_values(sums, self._column, domains.constraint, size)
        if host is not None:
            most = len(places.nodes) // len(by_domain)
            by_pods = _host_values(most, host.max_skew, len(nodes))
        return places.scores(by_pods, by_domain, nodes, weight)


def domain_values(
    sums: Amounts, column: LabelColumn, constraint: SpreadConstraint, size: int
) -> Floats:
    """What a constraint adds to the scores of the nodes of each domain.

    Args:
        sums: the matching pods of each domain.
        column: the label that makes the domains.
        constraint: the constraint.
        size: how many domains the possible nodes are in.
    """
    if (empty := column.place("")) > 0:
        sums = sums.copy()
        sums[empty] += sums[0]
    values = weighted(sums, constraint.max_skew, size)
    values[0] = 0.0  # the node has no such label
    return values


@functools.lru_cache(maxsize=64)
def _host_values(most: int, max_skew: int, size: int) -> tuple[float, ...]:
    """What a constraint over hosts adds for each number of pods below the most."""
    return tuple(weighted(np.arange(most), max_skew, size).tolist())


def weighted(here: Amounts, max_skew: int, size: int) -> Floats:
    """What a constraint adds to a score, by the matching pods there are here already."""
    # parity v1.36.4: plugins/podtopologyspread/scoring.go scoreForCount
    share: Floats = here * np.float64(natural_log(size + 2))
    share += float(max_skew - 1)
    return share
