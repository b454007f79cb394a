"""What a plugin may ask of the scheduler that runs it.

The runtime implements it; plugins take it in their constructor. Those that are not mooring's own
get one that ends their what-ifs with the hook (`what_ifs`).
"""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Final, NamedTuple, Protocol

from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Rejection
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdicts
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster


class WaitingPod(Protocol):
    """A pod that has been assigned a node and waits for Permit plugins (see `hook.Permit`)."""

    @property
    def pod(self) -> Pod:
        """The pod, without its node."""

    @property
    def node(self) -> Node:
        """The node it will be bound to, where its place is reserved."""

    def allow(self, plugin: str) -> None:
        """Allow the pod for one plugin; it is bound once all plugins that hold it have."""

    def reject(self, plugin: str, reason: str) -> None:
        """Reject the pod for one plugin: its place is released, and it is retried later."""


class Waiting(Protocol):
    """The waiting pods of all profiles."""

    def get(self, key: str) -> WaitingPod | None:
        """A waiting pod by ``namespace/name``; None if the pod is not waiting."""

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


class AskFilter(Protocol):
    """A filter plugin of the profile, ready to be called."""

    @property
    def name(self) -> str:
        """The plugin's name."""

    @property
    def scope(self) -> Scope:
        """What its results depend on, as declared by the plugin."""

    @property
    def by_node(self) -> bool:
        """Whether each node costs time, so that it should be called only for feasible nodes."""

    def ask(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """The verdicts for nodes of the decision; None if all are accepted.

        Only after `pre_filter` in the same decision, and not if the plugin is in `Cycle.skipped`.

        Raises:
            Exception: whatever the plugin raises.
        """


class Handle(Protocol):
    """The scheduler, as a plugin sees it."""

    @property
    def cluster(self) -> Cluster:
        """The cluster's state; plugins read it and never change it."""

    @property
    def now_ns(self) -> Callable[[], int]:
        """The clock, in nanoseconds since the Unix epoch."""

    @property
    def choose(self) -> Callable[[int], int]:
        """Picks one of several equal options: an integer below the given number."""

    @property
    def waiting(self) -> Waiting:
        """The waiting pods, to allow or reject them.

        To be used on the scheduler's thread: in any hook, or in a task of its event loop.
        """

    @property
    def preempting(self) -> Set[str]:
        """The UIDs of the pods for which victims are currently being preempted.

        Who makes room for pods holds them back meanwhile, in `pre_enqueue`.
        """

    @property
    def filters(self) -> Sequence[AskFilter]:
        """The profile's filters in order, for a search that calls them often.

        `rejection` asks them all, with the pods that are nominated to the node.
        """

    def rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        """Run all filters for one node as it is now, with nominated pods; None if the pod fits."""

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Add a pod to a node hypothetically: the state changes, and `WhatIf` plugins are notified.

        Only in a hook that gets the cycle: `pre_filter`, `post_filter`, `pre_score`, `reserve`,
        `unreserve`, `permit`. What a hook does not undo itself is undone when it ends.
        """

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Remove a pod from its node hypothetically; `add_pod` undoes this.

        In the same hooks.
        """
