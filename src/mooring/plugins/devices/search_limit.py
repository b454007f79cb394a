"""How long the search for devices on one node may take.

Owns `SearchLimit`, which DynamicResources makes for every decision; searches ask it now and then.
"""

# parity v1.36.4: plugins/dynamicresources/dynamicresources.go Filter, filterTimeout

from collections.abc import Callable, Container

from mooring.errors import AllocationError
from mooring.model.node import Node


class SearchLimit:
    """How long the search for devices on one node may take.

    Args:
        now_ns: the clock.
        timeout_ns: how long; 0 for as long as it takes.
    """

    def __init__(self, now_ns: Callable[[], int], timeout_ns: int) -> None:
        self._now_ns = now_ns
        self._timeout_ns = timeout_ns
        self._node = ""
        self._end = 0
        self._problem = ""
        self._for_all = False

    def start(self, node: str) -> None:
        """The search on a node begins, unless it took too long on another one.

        Raises:
            AllocationError: it did; this ends the attempt, and other nodes would only cost time.
        """
        if self._problem:
            raise AllocationError(self._problem)
        self._node = node
        self._for_all = False
        self._end = self._now_ns() + self._timeout_ns

    def begin(self, node: Node) -> Callable[[], None]:
        """The same where it is not known yet who asks about the node.

        Returns:
            What is to be called now and then.
        """
        self.start(node.name)
        self._for_all = True
        return self.check

    def go_on_without(self, asked: Container[str]) -> None:
        """Go on if it took too long on a node that other filters rejected: nobody asks about it."""
        if self._for_all and self._node not in asked:
            self._problem = ""

    def check(self) -> None:
        """Raise an error if it takes too long."""
        if self._timeout_ns and self._now_ns() > self._end:
            self._problem = f"node {self._node}: timed out trying to allocate devices"
            raise AllocationError(self._problem)
