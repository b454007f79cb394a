"""PrioritySort: the order of the scheduling queue."""

from mooring.framework.hook import QueueSort
from mooring.model.pod import Pod


class PrioritySort(QueueSort):
    """Takes pods of higher priority first; of equal ones, the one that waits longest."""

    name = "PrioritySort"
    reads = ()

    def sort_key(self, pod: Pod, since: float) -> tuple[float, ...]:
        """Highest priority first, then first come, first served."""
        # parity v1.36.4: plugins/queuesort/priority_sort.go
        return (-pod.priority, since)
