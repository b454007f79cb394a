"""What is compared: the workloads of `make bench-core` on so many nodes; used by all of `check`."""

from typing import NamedTuple, Self

from benchmarks.command import BenchError
from benchmarks.core.bench import Bench
from benchmarks.core.growth import pod_counts
from benchmarks.core.workloads import WORKLOADS

#: The sizes that are compared unless said otherwise: calls count on few nodes, arrays on many.
SIZES = (100, 5000)


class Case(NamedTuple):
    """A workload on so many nodes."""

    workload: str
    nodes: int

    def __str__(self) -> str:
        return f"{self.workload}@{self.nodes}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote.

        Raises:
            BenchError: it is none of the cases.
        """
        workload, _, nodes = text.partition("@")
        if workload not in WORKLOADS or not nodes.isdigit():
            raise BenchError(f"{text!r} is no case; one is plain@5000.")
        return cls(workload, int(nodes))

    def bench(self) -> Bench:
        """The cluster of this case, with as many pods as `make bench-core` measures speeds with."""
        return Bench(WORKLOADS[self.workload], self.nodes, pod_counts(self.nodes)[0])
