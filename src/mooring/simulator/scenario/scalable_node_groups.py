"""The nodes of a scenario's groups: their names, and which group a node belongs to."""

from collections.abc import Iterable

from mooring.embedded.resources import Obj
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.scenario.objects import node_of
from mooring.simulator.scenario.schema import NodeGroup


class ScalableNodeGroups:
    """All node groups of a simulation.

    Args:
        simulation: where their nodes are.
        groups: what they are like.

    Attributes:
        groups: by name.
        scaled: those that the autoscaler changes, and how.
    """

    def __init__(self, simulation: Simulation, groups: Iterable[NodeGroup]) -> None:
        self._simulation = simulation
        self.groups = {one.name: one for one in groups}
        self.scaled = {
            name: one.autoscaling
            for name, one in self.groups.items()
            if one.autoscaling is not None
        }
        self._made = dict.fromkeys(self.groups, 0)
        self._total = 0
        self._group_of: dict[str, str] = {}

    def of(self, node: str) -> str:
        """The group of a node; empty if it is in none."""
        return self._group_of.get(node, "")

    def next_nodes(self, name: str, count: int) -> list[Obj]:
        """The next nodes that a group would get; nothing is changed."""
        group, made = self.groups[name], self._made[name]
        return [node_of(group, made + step, self._total + step) for step in range(1, count + 1)]

    def add(self, name: str, count: int) -> list[str]:
        """Add nodes to a group; their names.

        Raises:
            StatusError: the API rejects what the group says of nodes.
        """
        group = self.groups[name]
        nodes = self.next_nodes(name, count)
        self._made[name] += count
        self._total += count
        names = []
        for obj in nodes:
            node = obj["metadata"]["name"]
            self._group_of[node] = name
            self._simulation.add_node(obj, name, group.price_per_hour)
            names.append(node)
        return names

    def here(self, name: str) -> list[str]:
        """The nodes of a group that are there."""
        nodes = self._simulation.state.nodes
        return [node for node, group in self._group_of.items() if group == name and node in nodes]
