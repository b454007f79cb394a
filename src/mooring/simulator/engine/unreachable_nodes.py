"""Which nodes do not answer, and what waits for that. Kubelets ask; `node_failures` decides."""

from mooring.simulator.engine.event_heap import Action


class UnreachableNodes:
    """The nodes whose kubelets do not answer."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}
        self._waiting: dict[str, list[Action]] = {}
        self._count = 0

    def __contains__(self, name: object) -> bool:
        return name in self._failures

    def fail(self, name: str) -> int:
        """A node stops answering; a number that no other failure has."""
        self._count += 1
        self._failures[name] = self._count
        return self._count

    def failure_of(self, name: str) -> int:
        """The number of a node's failure; 0 if it answers."""
        return self._failures.get(name, 0)

    def recover(self, name: str) -> list[Action]:
        """A node answers again, or is gone; what waited for it."""
        self._failures.pop(name, None)
        return self._waiting.pop(name, [])

    def when_answering(self, name: str, action: Action) -> None:
        """Do what a node's kubelet does: at once, or when it answers again."""
        if name in self._failures:
            self._waiting.setdefault(name, []).append(action)
        else:
            action()
