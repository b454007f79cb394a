"""SchedulerTimestamp: writes to each pod when its scheduling began.

An example of a plugin that carries something from one hook to another: `pre_score` notes the time
in the decision, `reserve` keeps it for the chosen pod, `pre_bind` adds it to the binding, so that
the API server writes it together with the node and no further request is needed.
"""

from collections.abc import Iterable
from typing import ClassVar

import msgspec

from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.handle import Handle
from mooring.framework.hook import SKIP, PreBind, PreBindCheckAnswer, PreScore, Reserve
from mooring.framework.nodes import Nodes
from mooring.model.label_syntax import is_label_key
from mooring.model.node import Node


class SchedulerTimestampArgs(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True
):
    """Arguments of SchedulerTimestamp.

    Attributes:
        annotation: the annotation that gets the time.
    """

    annotation: str = "scheduler-timestamp"

    def check(self) -> Iterable[tuple[str, str]]:
        """The annotation must be one that the API server takes."""
        if not is_label_key(self.annotation):
            text = f"{self.annotation!r} is not a valid annotation: use for example x.io/started"
            yield "annotation", text


class SchedulerTimestamp(PreScore, Reserve, PreBind):
    """Annotates each pod with the time its nodes were compared, in nanoseconds since 1970."""

    name = "SchedulerTimestamp"
    reads = ()
    Args: ClassVar[type[msgspec.Struct]] = SchedulerTimestampArgs

    def __init__(self, args: SchedulerTimestampArgs, handle: Handle) -> None:
        self._annotation = args.annotation
        self._handle = handle
        self._began: dict[str, int] = {}

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> None:  # noqa: ARG002
        """Note the time, once for each decision."""
        cycle.data[self.name] = self._handle.now_ns()

    def reserve(self, cycle: Cycle, node: Node) -> None:  # noqa: ARG002
        """Keep the time until the pod is bound; with one node left, nothing was compared.

        A pod that has the annotation already keeps it.
        """
        if self._annotation in cycle.pod.annotations:
            return
        began = cycle.data.get(self.name)
        self._began[cycle.pod.key] = self._handle.now_ns() if began is None else began

    def unreserve(self, cycle: Cycle, node: Node) -> None:  # noqa: ARG002
        """The decision was undone; the next one has a time of its own."""
        self._began.pop(cycle.pod.key, None)

    def pre_bind_check(self, cycle: Cycle, node: Node) -> PreBindCheckAnswer:  # noqa: ARG002
        """Take no part for pods that have the annotation already."""
        return None if cycle.pod.key in self._began else SKIP

    async def pre_bind(self, binding: Binding) -> Binding | None:
        """Add the annotation."""
        began = self._began.pop(binding.key, None)
        if began is None:
            return None
        return binding.annotate({self._annotation: str(began)})
