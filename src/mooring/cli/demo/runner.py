"""The steps of ``moor demo``, run one after the other on a running cluster.

Objects are created over HTTP, as kubectl would; what becomes of them is seen in the store. On a
terminal a picture moves meanwhile, in a pipe each step is a line.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.console import Console

from mooring.cli.demo.progress import Progress
from mooring.cli.demo.view import LiveView, StepResult, step_line, step_lines, zones
from mooring.cli.demo.workload import NAMESPACE, DemoStep, steps
from mooring.errors import InputError

if TYPE_CHECKING:
    from rich.live import Live

    from mooring.embedded.store import Store
    from mooring.kube.client import Client

Obj = dict[str, Any]
#: On a terminal, a step is looked at for so long before the next one begins.
_PAUSE_SECONDS: Final = 0.4
_FRAME_SECONDS: Final = 0.125
#: So long it may take until pods are placed, and so much longer for each of them.
_PATIENCE_SECONDS: Final = 10.0
_EACH_SECONDS: Final = 0.01


class DemoResult(NamedTuple):
    """What is left to report when all steps are over.

    Attributes:
        progress: pods and nodes at the end.
        steps: what was run.
        placement: the cluster when `placed` had just been placed.
        placed: a pod whose placement is worth explaining.
        end: the cluster at the end.
        burst: how many pods the burst placed.
        burst_seconds: how long that took, from the request to the last binding.
    """

    progress: Progress
    steps: Sequence[DemoStep]
    placement: list[Obj]
    placed: str
    end: list[Obj]
    burst: int
    burst_seconds: float


class DemoRunner:
    """Runs the steps.

    Args:
        store: the cluster's, to look at.
        client: the cluster's API server.
        progress: counts.
        console: where to show it.
        clock: seconds that only grow.
        hook_timeout: how long a policy may take for one decision.
    """

    def __init__(
        self,
        store: "Store",
        client: "Client",
        progress: Progress,
        console: Console,
        clock: Callable[[], float],
        hook_timeout: float = 0.0,
    ) -> None:
        self._store = store
        self._client = client
        self._progress = progress
        self._console = console
        self._clock = clock
        self._patience = _PATIENCE_SECONDS + hook_timeout
        self._moving = console.is_terminal and not console.is_dumb_terminal
        self._placement: list[Obj] = []
        self._burst_seconds = 0.0

    async def run(self, nodes: Sequence[Obj], pods: int) -> DemoResult:
        """Run all steps.

        Raises:
            InputError: the policy holds up everything.
        """
        await self._create({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}
        })  # fmt: skip
        planned = steps(nodes, pods)
        view = LiveView(self._progress, planned, self._console, self._clock)
        async with self._shown(view):
            for step in planned:
                view.current = step.app
                view.done[step.app] = await self._run_step(step)
                if self._moving:
                    await asyncio.sleep(_PAUSE_SECONDS)
                else:
                    line = step_line(step, view.done[step.app])
                    self._console.print(line, soft_wrap=True)
        if self._moving:
            for step in planned:
                self._console.print(step_lines(step, view.done[step.app]))
        placed = [one for one in self._progress.of("burst") if one.node]
        return DemoResult(
            self._progress, planned, self._placement, f"{NAMESPACE}/llm", self._objects(),
            len(placed), self._burst_seconds,
        )  # fmt: skip

    async def _run_step(self, step: DemoStep) -> StepResult:
        """Run one step; what became of it."""
        start = self._clock()
        for obj in step.objects:
            await self._create(obj)
        seconds = self._patience + _EACH_SECONDS * step.pods
        settled = await self._progress.until(lambda: self._settled(step), seconds)
        took = self._clock() - start
        if not settled and self._progress.counts(step.app).failed:
            raise InputError(self._held_up(step, took))
        if step.app == "burst":
            self._burst_seconds = took
        if step.app == "llm":
            self._placement = self._objects()
        return self._result(step, took)

    def _settled(self, step: DemoStep) -> bool:
        """Whether every pod of a step has a node, or a condition that says there is none."""
        counts = self._progress.counts(step.app)
        # The urgent pod is rejected first, and waits for the one that makes room.
        final = counts.placed + (counts.rejected if step.app != "urgent" else counts.failed)
        return final == counts.pods >= step.pods

    def _held_up(self, step: DemoStep, seconds: float) -> str:
        """Pods wait for a decision, and others a condition that theirs failed: a sentence."""
        pods = self._progress.of(step.app)
        decided = sum(bool(one.node or one.rejected) for one in pods)
        why = next(one.rejected for one in pods if one.failed)
        return (
            f"the demo was stopped: after {seconds:.0f}s, only {decided} of {step.pods} pods of "
            f"{step.app} had been processed, because {why}; fix the policy, or raise --hook-timeout"
        )

    def _result(self, step: DemoStep, seconds: float) -> StepResult:
        progress = self._progress
        pods = progress.of(step.app)
        placed = [one for one in pods if one.node]
        if not placed:
            rejected = next((one.rejected for one in pods if one.rejected), "pending")
            return StepResult(False, rejected.partition(". ")[0])
        if len(placed) < step.pods:
            return StepResult(False, f"{len(placed)} placed, {step.pods - len(placed)} pending")
        if step.app == "web":
            return StepResult(True, zones(progress, step.app))
        if step.app == "burst":
            return StepResult(True, f"placed in {seconds:.2f}s")
        if step.pods > 1:
            nodes = len({one.node for one in placed})
            return StepResult(True, "one node" if nodes == 1 else f"{nodes} nodes")
        victims = [one.name for one in progress.preempted if one.node == placed[0].node]
        if step.app == "urgent" and victims:
            return StepResult(True, f"{placed[0].node}, where {victims[-1]} was preempted")
        return StepResult(True, placed[0].node)

    async def _create(self, obj: Obj) -> None:
        await create_object(self._client, obj, NAMESPACE)

    def _objects(self) -> list[Obj]:
        """Everything that scheduling reads, as it is now."""
        from mooring.embedded.resources import BY_PATH
        from mooring.model.kinds import KINDS

        resources = (BY_PATH.get((kind.group, "v1", kind.resource)) for kind in KINDS)
        return [item.obj for one in resources if one is not None for item in self._store.all(one)]

    @asynccontextmanager
    async def _shown(self, view: LiveView) -> AsyncIterator[None]:
        """Show the moving picture, if this is a terminal."""
        if not self._moving:
            yield
            return
        from rich.live import Live

        with Live(view, console=self._console, auto_refresh=False, transient=True) as live:
            frames = asyncio.create_task(_move(live))
            try:
                yield
            finally:
                frames.cancel()
                with suppress(asyncio.CancelledError):
                    await frames


async def create_object(client: "Client", obj: Obj, namespace: str) -> None:
    """Create an object over HTTP, in the namespace if it belongs into one."""
    from mooring.embedded.resources import BY_KIND
    from mooring.kube.client import api_path

    resource = BY_KIND[obj["apiVersion"], obj["kind"]]
    root = ("apis", resource.group, resource.version) if resource.group else ("api", "v1")
    space = ("namespaces", namespace) if resource.namespaced else ()
    await client.request("POST", api_path(*root, *space, resource.plural), body=obj)


async def _move(live: "Live") -> None:
    while True:
        live.refresh()
        await asyncio.sleep(_FRAME_SECONDS)
