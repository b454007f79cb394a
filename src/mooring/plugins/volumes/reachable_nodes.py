"""Which nodes a volume, a storage class or a storage capacity can be reached from, as row numbers.

Called by VolumeBinding and what it is made of. A volume of a single node must cost no more than
that node, however many nodes and volumes there are, so rows are looked up by label value.
Everything is remembered in the columns until the labels of a node change.
"""

from collections.abc import Callable, Hashable, Iterable

import msgspec
import numpy as np

from mooring.framework.arrays import Mask, Rows
from mooring.model.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from mooring.model.storage import StorageClass
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.lru_cache import LruCache, size_of

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
#: So many volumes, classes and capacities are remembered, and so many bytes.
_MOST_REACHES = 50_000
_MOST_REACH_BYTES = 32 << 20
_NOWHERE = np.zeros(0, np.intp)


class _LabelRows:
    """The rows of one label, by value."""

    def __init__(self, columns: Columns, key: str) -> None:
        column = columns.labels(key)
        ids = column.ids
        order = np.argsort(ids, kind="stable")
        bounds = np.searchsorted(ids[order], np.arange(len(column.values) + 1))
        self._order = order
        self._bounds: list[int] = bounds.tolist()
        self._place = {value: place for place, value in enumerate(column.values) if place}

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return self._order.nbytes + 200 * len(self._bounds)

    def of(self, value: str) -> Rows:
        place = self._place.get(value)
        if place is None:
            return _NOWHERE
        return self._order[self._bounds[place] : self._bounds[place + 1]]


def reach_of_volume(columns: Columns, selector: NodeSelector | None) -> Rows | None:
    """The rows of the nodes that a volume's node affinity allows; None for all nodes.

    Only labels count: conditions on a node's name are passed over.
    """
    if selector is None:
        return None
    return _remembered(columns, ("volume", _encode(selector)), lambda: _rows(columns, selector))


def reach_of_class(columns: Columns, storage_class: StorageClass) -> Rows | None:
    """The rows of the nodes for which volumes of a class can be made; None for all nodes."""
    # parity v1.36.4: pkg/apis/core/v1/helper/helpers.go MatchTopologySelectorTerms
    terms = storage_class.allowed_topologies
    if not terms:
        return None
    selector = NodeSelector(
        node_selector_terms=[
            NodeSelectorTerm(
                match_expressions=[
                    Requirement(key=one.key, operator="In", values=one.values)
                    for one in term.match_label_expressions or ()
                ]
            )
            for term in terms
        ]
    )
    return _remembered(columns, ("class", _encode(terms)), lambda: _rows(columns, selector))


def reach_of_labels(columns: Columns, selector: LabelSelector) -> Rows:
    """The rows of the nodes whose labels a selector selects; an empty selector selects all."""

    def compute() -> Rows:
        requirements = [
            Requirement(key=key, operator="In", values=[value])
            for key, value in (selector.match_labels or {}).items()
        ]
        return _all_of(columns, [*requirements, *(selector.match_expressions or ())])

    return _remembered(columns, ("labels", _encode(selector)), compute)


def mask_of(columns: Columns, reach: Rows | None) -> Mask:
    """(n,) the nodes in some rows, as truth values."""
    if reach is None:
        return np.ones(len(columns), np.bool_)
    mask = np.zeros(len(columns), np.bool_)
    mask[reach] = True
    return mask


def _rows(columns: Columns, selector: NodeSelector) -> Rows:
    terms = [
        term
        for term in selector.node_selector_terms or ()
        if term.match_expressions or term.match_fields
    ]
    if len(terms) == 1:
        return _all_of(columns, terms[0].match_expressions or ())
    mask = np.zeros(len(columns), np.bool_)
    for term in terms:
        mask[_all_of(columns, term.match_expressions or ())] = True
    return np.flatnonzero(mask)


def _all_of(columns: Columns, requirements: Iterable[Requirement]) -> Rows:
    """The rows whose labels satisfy all conditions, ascending."""
    todo = sorted(requirements, key=lambda one: one.operator != "In")
    if len(todo) == 1 and todo[0].operator == "In":
        return _one_of(columns, todo[0])
    mask = np.ones(len(columns), np.bool_)
    for one in todo:
        mask &= (
            mask_of(columns, _one_of(columns, one))
            if one.operator == "In"
            else columns.requirement_mask(one)
        )
    return np.flatnonzero(mask)


def _one_of(columns: Columns, requirement: Requirement) -> Rows:
    known = columns.remember(
        ("volume reach", "label", requirement.key),
        lambda: _LabelRows(columns, requirement.key),
        Aspect.LABELS,
    )
    values = set(requirement.values or ())
    if len(values) == 1:
        return known.of(values.pop())
    found = [known.of(value) for value in values]
    return np.sort(np.concatenate(found)) if found else _NOWHERE


def _remembered(columns: Columns, key: Hashable, compute: Callable[[], Rows]) -> Rows:
    # A table of their own: there may be more volumes than `Columns.remember` keeps results.
    known: LruCache[Hashable, Rows] = columns.remember(
        "volume reach",
        lambda: columns.table.new_lru_cache(_MOST_REACHES, _MOST_REACH_BYTES),
        Aspect.LABELS,
    )
    found = known.get(key)
    if found is None:
        found = compute()
        known.put(key, found, size_of(key) + found.nbytes)
    return found
