"""What a plugin may ask of the scheduler that runs it.

The runtime implements it; plugins take it in their constructor. Those that are not mooring's own
get one that ends their what-ifs with the hook (`what_ifs`).
"""

from collections.abc import Callable, Iterator, Set
from typing import Final, NamedTuple, Protocol

from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Rejection
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster


class WaitingPod(Protocol):
    """A pod that has its node and waits until plugins let it be bound (see `hook.Permit`)."""

    @property
    def pod(self) -> Pod:
        """The pod, without its node."""

    @property
    def node(self) -> Node:
        """Where it is to go; its place there is taken."""

    def allow(self, plugin: str) -> None:
        """A plugin, given by its name, lets the pod go; it is bound when all that hold it do."""

    def reject(self, plugin: str, reason: str) -> None:
        """A plugin rejects the pod: its place is free again, and it is tried again later."""


class Waiting(Protocol):
    """The pods of all profiles that wait for permission."""

    def get(self, key: str) -> WaitingPod | None:
        """A waiting pod by ``namespace/name``; None if it does not wait."""

    def __iter__(self) -> Iterator[WaitingPod]:
        """All of them, the one that waits longest first."""

    def __len__(self) -> int:
        """How many there are."""


class NobodyWaits:
    """No waiting pods: whoever explains or simulates decisions binds no pods."""

    def get(self, key: str) -> None:  # noqa: ARG002
        """None waits."""
        return

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(())

    def __len__(self) -> int:
        return 0


class Preemptions(Protocol):
    """The preemptions in progress, of all profiles."""

    @property
    def preemptors(self) -> Set[str]:
        """The unique ids of the pods for which victims are being preempted."""

    def leaving(self, node: str) -> Set[str]:
        """The unique ids of the victims that are to leave a node, until the state shows it."""


class NoPreemptions:
    """No preemptions: whoever explains decisions preempts nobody."""

    preemptors: Set[str] = frozenset()

    def leaving(self, node: str) -> Set[str]:  # noqa: ARG002
        """Nobody leaves."""
        return self.preemptors


class Ongoing(NamedTuple):
    """What a scheduler has in progress besides the decision that is being made.

    Attributes:
        waiting: the pods that wait for permission.
        preemptions: the preemptions in progress.
    """

    waiting: Waiting = NobodyWaits()
    preemptions: Preemptions = NoPreemptions()


#: Nothing is in progress: nobody waits and nobody is preempted.
NOTHING_ONGOING: Final = Ongoing()


class Handle(Protocol):
    """The scheduler, seen from a plugin."""

    @property
    def cluster(self) -> Cluster:
        """The cluster's state; plugins read it and never change it."""

    @property
    def now_ns(self) -> Callable[[], int]:
        """The clock: nanoseconds since 1970."""

    @property
    def choose(self) -> Callable[[int], int]:
        """Picks one of so many equals: a number below the given one."""

    @property
    def waiting(self) -> Waiting:
        """The pods that wait for permission to be bound, to allow or reject them.

        To be used on the scheduler's thread: in any hook, or in a task of its event loop.
        """

    @property
    def preempting(self) -> Set[str]:
        """The unique ids of the pods for which victims are being preempted now.

        Who makes room for pods holds them back meanwhile, in `pre_enqueue`.
        """

    def rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        """Ask all filters about one node as it is now, nominated pods counted; None if it fits."""

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Put a pod on a node in thought: the state changes and `WhatIf` plugins are told.

        Only in a hook that gets the cycle: `pre_filter`, `post_filter`, `pre_score`, `reserve`,
        `unreserve`, `permit`. What a hook does not take back is taken back when it ends.
        """

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Take a pod off its node in thought; `add_pod` takes that back.

        In the same hooks.
        """
