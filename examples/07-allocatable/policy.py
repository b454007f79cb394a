"""The smallest nodes fill first, and every pod says when it was scheduled, to the nanosecond."""

import time

import numpy as np

import mooring as mr

PER_MILLICORE, PER_BYTE = 1_000_000, 1  # what each counts in the size of a node
TIMESTAMP = "scheduler-timestamp"

policy = mr.Policy("allocatable", usage=False, description="Fill small nodes first; note the time.")


@policy.score_nodes
def least_allocatable(_pod: mr.Pod, nodes: mr.Nodes) -> mr.Scores:
    """Give 100 to the smallest node, 0 to the largest one, and others in between."""
    if not len(nodes):
        return np.zeros(0)
    size = PER_MILLICORE * nodes.allocatable["cpu"] + PER_BYTE * nodes.allocatable["memory"]
    spread = np.ptp(size)
    return 100 * (size.max() - size) / spread if spread else np.zeros(len(nodes))


@policy.bind
def note_the_time(binding: mr.Binding) -> mr.Binding:
    """Write the time into an annotation; the Binding carries it, so nothing else is written."""
    return binding.annotate({TIMESTAMP: str(time.time_ns())})
