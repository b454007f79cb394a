"""What a plugin may ask of the scheduler that runs it.

The runtime implements it; plugins take it in their constructor.
"""

from collections.abc import Callable
from typing import Protocol

from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Refusal
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster


class Handle(Protocol):
    """The scheduler, seen from a plugin."""

    @property
    def cluster(self) -> Cluster:
        """The cluster's state; plugins read it and never change it."""

    @property
    def now_ns(self) -> Callable[[], int]:
        """The clock: nanoseconds since 1970."""

    def refusal(self, cycle: Cycle, row: int) -> Refusal | None:
        """Ask all filters about one node as it is now, nominated pods counted; None if it fits."""

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Put a pod on a node in thought: the state changes and `WhatIf` plugins are told."""

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Take a pod off its node in thought; `add_pod` takes that back."""
