"""How many devices of a class each node has, and how many of them are in use.

For NodeResourcesFit and NodeResourcesBalancedAllocation, which count devices where a node has an
extended resource only through a class. It counts slices as they are published: pools, taints and
counters play no part.
"""

# parity v1.36.4: plugins/noderesources/resource_allocation.go calculateDRAResourceTotals

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mooring.framework.arrays import Amounts, Rows
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_slice import Device, ResourceSliceSpec
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.pooled_device import PreparedSlice
from mooring.plugins.devices.selectors import DeviceCandidate, Selection
from mooring.state.columns import Columns


class DeviceTotals(NamedTuple):
    """The devices of a class: (n,) how many there are on each node, and how many are in use."""

    capacity: Amounts
    allocated: Amounts


def device_totals(
    tracker: ClaimTracker, columns: Columns, device_class: DeviceClass
) -> DeviceTotals:
    """Count the devices of a class; none are counted on nodes where a selector fails."""
    size = len(columns)
    capacity, allocated = np.zeros(size, np.int64), np.zeros(size, np.int64)
    failed = np.zeros(size, np.bool_)
    expressions = tuple(
        one.cel.expression for one in device_class.spec.selectors or () if one.cel is not None
    )
    for one in tracker.inventory.slices:
        for rows, candidates in _by_nodes(columns, one, tracker, (expressions, ())):
            in_use = sum(tracker.state.in_use(found.device.id) for found in candidates)
            capacity[rows] += len(candidates)
            allocated[rows] += in_use
            if any(found.failure is not None for found in candidates):
                failed[rows] = True
    capacity[failed] = allocated[failed] = 0
    return DeviceTotals(capacity, allocated)


def _by_nodes(
    columns: Columns, one: PreparedSlice, tracker: ClaimTracker, selection: Selection
) -> Iterator[tuple[Rows | slice, Sequence[DeviceCandidate]]]:
    """The devices of a slice that match, with the rows of the nodes that can use them."""
    candidates = tracker.scoring_selectors.candidates(one, selection)
    spec = one.spec
    if spec.per_device_node_selection:
        for found in candidates:
            yield _rows(columns, found.device.device), (found,)
    elif not (spec.node_name or spec.all_nodes or spec.node_selector is not None):
        yield slice(None), candidates
    else:
        yield _rows(columns, spec), candidates


def _rows(columns: Columns, part: ResourceSliceSpec | Device) -> Rows | slice:
    if part.all_nodes:
        return slice(None)
    if part.node_name:
        row = columns.row_of.get(part.node_name)
        return np.array([] if row is None else [row], np.intp)
    if part.node_selector is None:
        return np.array([], np.intp)
    return columns.selector_mask(part.node_selector).nonzero()[0]
