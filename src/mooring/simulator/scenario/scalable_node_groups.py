"""The nodes of a scenario's groups: their names, and which group a node belongs to."""

from collections.abc import Iterable
from typing import Final

from mooring.embedded.resources import NODES, Obj
from mooring.embedded.status_errors import StatusError
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.scenario.objects import node_of
from mooring.simulator.scenario.schema import NodeGroup

_CONFLICT: Final = 409


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

    def check(self, name: str) -> None:
        """See that a group could get more nodes.

        Raises:
            StatusError: the API rejects what the group says of nodes.
        """
        try:
            self._simulation.cluster.api.restore(NODES, self.next_nodes(name, 1)[0], dry_run=True)
        except StatusError as error:
            if error.code != _CONFLICT:  # one that has the name may be gone by then
                raise

    def here(self, name: str) -> list[str]:
        """The nodes of a group that are there."""
        nodes = self._simulation.state.nodes
        return [node for node, group in self._group_of.items() if group == name and node in nodes]
