"""Carrying out plans on a live cluster: what plugins want written and waited for before a binding.

Sends the writes of any `Plan`, waits until its `ready` says yes, and takes back what a plan says if
the pod is not bound; whose plan it is and what for does not matter here. Called by `Binder`. A pod
that waits is looked at only when one of its plans' own objects changes, so thousands that wait cost
nothing.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mooring.framework.plans.plan import ObjectKey, PluginPlan
from mooring.framework.plans.plan_answers import legal_ready
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdict
from mooring.kube.client import Client
from mooring.live.plans.plan_writer import PlanFailed, PlanProgress, PlanWriter, failed, rejected
from mooring.live.sync_hooks import SyncHooks
from mooring.live.waiting_bindings import WaitingBindings
from mooring.model.change import Change
from mooring.model.pod import Pod
from mooring.scheduler.effects import Bind, ObjectWritten
from mooring.state.cluster import Cluster

__all__ = ["PlanExecutor", "PlanFailed", "PlanProgress"]


class PlanExecutor:
    """Carries out plans.

    Args:
        client: the API server.
        runtimes: the plugins by scheduler name, with the state that the plans are about.
        hooks: in which a plan's functions are called.
        waiting_bindings: where tasks that wait for a plan are kept.
        report: told of objects that were written and are not in the state yet.
    """

    def __init__(
        self,
        client: Client,
        runtimes: Mapping[str, Runtime],
        hooks: SyncHooks,
        waiting_bindings: WaitingBindings,
        report: Callable[[ObjectWritten], None] = lambda _: None,
    ) -> None:
        self._writer = PlanWriter(client, hooks, report)
        self._clusters = {name: runtime.cluster for name, runtime in runtimes.items()}
        self._waiting_bindings = waiting_bindings
        # Who waits for a change of which object.
        self._waiting: dict[ObjectKey, set[asyncio.Event]] = {}

    def on_changes(self, changes: list[Change[Any]]) -> None:
        """Notice that objects changed; the state shows it already."""
        if not self._waiting:
            return
        for change in changes:
            for changed in self._waiting.get((type(change.object), change.object.key), ()):
                changed.set()

    async def write(
        self, pod: Pod, plans: Iterable[PluginPlan], progress: PlanProgress | None = None
    ) -> None:
        """Write what was planned for a pod, and wait for nothing.

        Args:
            pod: the pod.
            plans: its plans.
            progress: notes what was written.

        Raises:
            PlanFailed: that was not possible.
            PluginError: a function of a plan failed.
        """
        progress = progress if progress is not None else PlanProgress()
        for one in plans:
            progress.answers.append([])
            await self._writer.write(pod, one, progress.answers[-1])

    async def wait(self, effect: Bind) -> None:
        """Wait until everything is ready that was planned for a pod.

        The plans are waited for at the same time, each as long as it says.

        Raises:
            PlanFailed: it will never be, or took too long.
            PluginError: a function of a plan failed.
        """
        waited = [one for one in effect.plans if one.plan.ready is not None]
        if waited:
            await self._wait(effect.pod, waited, self._clusters[effect.profile])

    async def undo(self, pod: Pod, plans: Sequence[PluginPlan], progress: PlanProgress) -> None:
        """Take back what was written for a pod that is not bound, the last plan first."""
        for number in reversed(range(len(plans))):
            answers = progress.answers[number] if number < len(progress.answers) else ()
            await self._writer.undo(pod, plans[number], answers)

    # -- waiting

    async def _wait(self, pod: Pod, waited: list[PluginPlan], cluster: Cluster) -> None:
        start = asyncio.get_running_loop().time()
        with self._changes_of(pod, waited) as changed:
            while waited := [one for one in waited if not self._is_ready(pod, one, cluster)]:
                changed.clear()
                soonest = min(waited, key=lambda one: one.plan.seconds)
                try:
                    async with asyncio.timeout_at(start + soonest.plan.seconds):
                        with self._waiting_bindings.waiting():
                            await changed.wait()
                except TimeoutError as error:
                    raise failed(soonest, soonest.plan.too_late) from error

    @contextmanager
    def _changes_of(self, pod: Pod, plans: Sequence[PluginPlan]) -> Iterator[asyncio.Event]:
        """Set whenever something changes that may make plans ready."""
        keys = {(type(pod), pod.key), *(key for one in plans for key in one.plan.objects)}
        changed = asyncio.Event()
        for key in keys:
            self._waiting.setdefault(key, set()).add(changed)
        try:
            yield changed
        finally:
            for key in keys:
                waiting = self._waiting[key]
                waiting.discard(changed)
                if not waiting:
                    del self._waiting[key]

    def _is_ready(self, pod: Pod, one: PluginPlan, cluster: Cluster) -> bool:
        known = cluster.pod(pod.namespace, pod.name)
        if known is None or known.uid != pod.uid:
            raise failed(one, "pod does not exist any more")
        if one.plan.ready is None:
            return True
        answer = self._writer.ask(pod, one, "plan.ready", legal_ready, one.plan.ready, cluster)
        if isinstance(answer, Verdict):
            raise rejected(one, answer)
        return answer
