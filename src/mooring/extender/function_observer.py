"""Who observes what a policy's functions do; called by `answers`, and metrics in practice."""

from typing import Protocol

from mooring.framework.rules import Rule


class FunctionObserver(Protocol):
    """Observes what the functions do; metrics, in practice."""

    def ran(self, rule: Rule, seconds: float) -> None:
        """A function answered."""

    def failed(self, rule: Rule) -> None:
        """A function raised, did not return or returned something invalid."""

    def hung(self, rule: Rule) -> None:
        """A function did not return in time and was interrupted."""

    def rejected(self, rule: Rule, reason: str, count: int) -> None:
        """A filter rejected nodes for a reason."""

    def received(self, whole_nodes: int, decoded: int) -> None:
        """A request had whole nodes; so many had to be decoded."""


class SilentObserver:
    """An observer that nobody reads."""

    def ran(self, rule: Rule, seconds: float) -> None:
        """Nothing."""

    def failed(self, rule: Rule) -> None:
        """Nothing."""

    def hung(self, rule: Rule) -> None:
        """Nothing."""

    def rejected(self, rule: Rule, reason: str, count: int) -> None:
        """Nothing."""

    def received(self, whole_nodes: int, decoded: int) -> None:
        """Nothing."""
