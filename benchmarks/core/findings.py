"""What a run has measured so far, part by part; filled by `__main__`, read by the others."""

import msgspec

from benchmarks.core.by_plugin import Costs
from benchmarks.core.confirming import Confirming
from benchmarks.core.growth import Growth
from benchmarks.core.pauses import Pauses
from benchmarks.core.pythons import OfPython
from benchmarks.core.sizes import Sizes
from benchmarks.core.speed import Speed
from benchmarks.core.waking import Waking


class Findings(msgspec.Struct):
    """What was measured; a part that was not asked for is empty.

    Attributes:
        speed: the CPU time of decisions, for every number of nodes.
        by_plugin: the parts of a decision's time, for every number of nodes.
        growth: with the pods on the cluster, at the largest number of nodes.
        sizes: with the nodes, from the largest number on.
        confirming: what confirming a pod costs, at the largest number of nodes.
        devices: the CPU time of decisions about pods that need devices.
        waking: what waking many pods costs, at the largest number of nodes.
        pauses: of the garbage collector, at the largest number of nodes.
        pythons: the CPU time of decisions with several interpreters.
    """

    speed: list[Speed] = []
    by_plugin: list[Costs] = []
    growth: list[Growth] = []
    sizes: list[Sizes] = []
    confirming: list[Confirming] = []
    devices: list[Speed] = []
    waking: list[Waking] = []
    pauses: list[Pauses] = []
    pythons: list[OfPython] = []

    def largest(self) -> list[Costs]:
        """The parts of a decision's time at the largest number of nodes, by workload."""
        nodes = max((costs.nodes for costs in self.by_plugin), default=0)
        return [costs for costs in self.by_plugin if costs.nodes == nodes]

    def add(self, older: "Findings") -> None:
        """Take over what an earlier run measured and this one did not, part by part."""
        for name in Findings.__struct_fields__:
            if not getattr(self, name):
                setattr(self, name, getattr(older, name))
