"""NodeResourcesAllocatable: prefers small or large nodes, whatever is in use on them.

Behaves like the plugin of this name in the scheduler-plugins project.
"""

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts
from mooring.framework.cycle import Cycle
from mooring.framework.hook import Normalize, ScoreNodes, Sign
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
from mooring.model.pod import Pod
from mooring.model.resource_names import is_counted
from mooring.model.resources import CPU, MEMORY
from mooring.plugins.resources.scoring_strategies import ResourceSpec
from mooring.plugins.score_arithmetic import MAX_SCORE, divide
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns

LEAST: Final = "Least"
MOST: Final = "Most"
#: A thousandth of a core counts like a MiB of memory.
_DEFAULT_RESOURCES: Final = (ResourceSpec(CPU, 1 << 20), ResourceSpec(MEMORY, 1))


class NodeResourcesAllocatableArgs(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True
):
    """Arguments of NodeResourcesAllocatable.

    Attributes:
        mode: ``Least`` prefers small nodes, ``Most`` large ones.
        resources: what counts as size, with weights; CPU and memory if absent.
    """

    mode: str = LEAST
    resources: tuple[ResourceSpec, ...] = ()

    def check(self) -> Iterable[tuple[str, str]]:
        """What the original would reject."""
        if self.mode not in ("", LEAST, MOST):
            yield "mode", f"{self.mode!r} is not supported: use {LEAST} or {MOST}"
        for index, resource in enumerate(self.resources):
            if resource.weight <= 0:
                text = f"{resource.weight} for {resource.name} is out of range: must be at least 1"
                yield f"resources[{index}].weight", text


class NodeResourcesAllocatable(ScoreNodes, Normalize, Sign):
    """Prefers nodes with little (or much) that pods can use, whatever is in use."""

    name = "NodeResourcesAllocatable"
    reads = ()
    score_scope = Scope.NODES
    Args: ClassVar[type[msgspec.Struct]] = NodeResourcesAllocatableArgs

    def __init__(self, args: NodeResourcesAllocatableArgs) -> None:
        self._sign = 1 if args.mode == MOST else -1
        given = args.resources or _DEFAULT_RESOURCES
        self._weights = tuple({one.name: one.weight for one in given}.items())

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """The weighted mean of what pods can use; negative if less is better."""
        columns = nodes.columns
        return nodes.take(
            columns.remember(
                (self.name, self._sign, self._weights),
                lambda: self._scores(columns),
                Aspect.ALLOCATABLE,
            )
        )

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """From 0 for the worst node to 100 for the best; 0 for all if they are equal."""
        if not scores.size:
            return scores
        lowest, highest = int(scores.min()), int(scores.max())
        if lowest == highest:
            return np.zeros(len(scores), np.int64)
        return (scores - lowest) * MAX_SCORE // (highest - lowest)

    def sign(self, pod: Pod) -> tuple[()]:  # noqa: ARG002
        """Nothing: all pods are alike."""
        return ()

    def _scores(self, columns: Columns) -> Amounts:
        total = np.zeros(len(columns), np.int64)
        for name, weight in self._weights:
            if is_counted(name):
                total += columns.allocatable(name) * (self._sign * weight)
        scores = divide(total, sum(weight for _, weight in self._weights))
        scores.flags.writeable = False
        return scores
