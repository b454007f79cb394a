"""Carrying out the scheduler's effects on a live cluster.

`Binder` carries out plans, runs the hooks around a binding, creates it, patches statuses and
preempts victims. Each method turns whatever goes wrong into a report or a log line; nothing here
decides anything.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mooring.errors import ApiError, KubeError, MooringError, PluginError
from mooring.framework.binding import Binding
from mooring.framework.filtering import Rejection
from mooring.kube.binding import ENDLESS_PAUSES, create_binding
from mooring.kube.client import api_path
from mooring.kube.event_body import Reporter, reference, reporter_here
from mooring.kube.events import EventRecorder
from mooring.kube.pod_status import PodCondition, pod_condition
from mooring.live.async_hooks import AsyncHooks
from mooring.live.client import LiveClient
from mooring.live.plans.plan_executor import PlanExecutor, PlanFailed, PlanProgress
from mooring.live.pods_in_pre_bind import PodInPreBind, PodsInPreBind
from mooring.log_kinds import failure_of
from mooring.model.pod import Pod
from mooring.scheduler.effects import (
    Bind,
    BindFailed,
    Bound,
    CleanUp,
    PatchStatus,
    PreemptVictims,
    RecordEvent,
    VictimsPreempted,
)
from mooring.scheduler.events import preempted, waiting_for

if TYPE_CHECKING:
    from mooring.extender.client import ExtenderClients

log = logging.getLogger("mooring.live")

_CONFLICT = 409
_NOT_FOUND = 404
_SCHEDULED = "PodScheduled"


class Binder:
    """Writes to the cluster what the scheduler decided.

    Args:
        client: the API server.
        recorder: records Kubernetes events.
        plans: carries out what has to be done before.
        hooks: runs the plugins' hooks around a binding.
        extenders: the configuration's extenders; one of them may bind.
        sleep: waits for an API server that is away.
    """

    def __init__(
        self,
        client: LiveClient,
        recorder: EventRecorder,
        plans: PlanExecutor,
        hooks: AsyncHooks,
        *,
        extenders: "ExtenderClients | None" = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._hooks = hooks
        self._sleep = sleep
        self._client = client
        self._recorder = recorder
        self._plans = plans
        self._pods_in_pre_bind = PodsInPreBind()
        self._extenders = extenders
        self._reporters: dict[str, Reporter] = {}

    async def bind(
        self, effect: Bind, before: asyncio.Task[None] | None = None
    ) -> Bound | BindFailed:
        """Do what has to be done before a binding, and create it; whatever goes wrong is reported.

        Args:
            effect: the pod and its node.
            before: has to be over first: a patch of the pod's status that comes late would say of a
                bound pod that it is not scheduled.
        """
        progress = PlanProgress()
        report = await self._try(effect, before, progress)
        if isinstance(report, BindFailed):
            await self._undo(effect, progress)
        return report

    async def _try(
        self, effect: Bind, before: asyncio.Task[None] | None, progress: PlanProgress
    ) -> Bound | BindFailed:
        pod, node = effect.pod, effect.binding.node_name
        in_pre_bind = self._pods_in_pre_bind.add(pod.uid) if effect.takes_time else None
        try:
            if before is not None:
                await asyncio.wait({before})
            return await self._bind(effect, in_pre_bind, progress)
        except asyncio.CancelledError:
            if in_pre_bind is None or not in_pre_bind.is_ours():
                raise
            return BindFailed(pod, node, in_pre_bind.message)
        except PlanFailed as error:
            return BindFailed(pod, node, str(error), error.rejected)
        except PluginError as error:
            _log_plugin(error)
            return BindFailed(pod, node, str(error))
        except MooringError as error:
            return BindFailed(pod, node, str(error))
        except Exception as error:
            log.exception("the binding of pod %s failed: internal error", pod.key)
            return BindFailed(pod, node, f"internal error: {type(error).__name__}: {error}")
        finally:
            if in_pre_bind is not None:
                self._pods_in_pre_bind.remove(pod.uid)

    async def _bind(
        self, effect: Bind, in_pre_bind: PodInPreBind | None, progress: PlanProgress
    ) -> Bound | BindFailed:
        pod, node = effect.pod, effect.binding.node_name
        binding = effect.binding
        if in_pre_bind is not None:
            prepared = await self._pre_bind(effect, in_pre_bind, progress)
            if isinstance(prepared, Rejection):
                return _rejected(effect, "PreBind", prepared)
            if not in_pre_bind.finish():
                return BindFailed(pod, node, in_pre_bind.message)
            binding = prepared
        answer = await self._hooks.bind(effect.hooks, binding)
        if isinstance(answer, Rejection):
            return _rejected(effect, "Bind", answer)
        if self._extenders is None or not await self._extenders.bind(pod, answer):
            try:
                await self._create(answer)
            except KubeError as error:
                binder = next((name for name, _ in effect.hooks.binds), "")
                return BindFailed(pod, node, _running("Bind", binder, str(error)))
        return Bound(pod, node)

    async def _pre_bind(
        self, effect: Bind, in_pre_bind: PodInPreBind, progress: PlanProgress
    ) -> Binding | Rejection:
        """Carry out the plans, then run the hooks that have something to do."""
        if effect.plans:
            in_pre_bind.running = effect.plans[0].plugin
            await self._plans.write(effect.pod, effect.plans, progress)
            for one in effect.plans:
                if one.plan.event is not None:
                    self.record_event(waiting_for(effect.pod, one.plan.event))
            await self._plans.wait(effect)
        binding = effect.binding
        for name, plugin in effect.hooks.pre_binds:
            if name not in effect.pre_binds:
                continue
            in_pre_bind.running = name
            answer = await self._hooks.pre_bind(name, plugin, binding)
            if isinstance(answer, Rejection):
                return answer
            binding = answer
        in_pre_bind.running = ""
        return binding

    async def _undo(self, effect: Bind, progress: PlanProgress) -> None:
        """Take back what was written for a pod that is not bound."""
        if not any(one.plan.undo for one in effect.plans):
            return
        try:
            if not await self._is_on_a_node(effect.pod):
                await self._plans.undo(effect.pod, effect.plans, progress)
        except KubeError as error:
            log.warning("pod %s: nothing could be taken back: %s", effect.pod.key, error)
        except Exception:
            log.exception("pod %s: nothing could be taken back: internal error", effect.pod.key)

    async def _is_on_a_node(self, pod: Pod) -> bool:
        """Whether somebody else bound a pod: then it uses what was written for it."""
        path = api_path("api", "v1", "namespaces", pod.namespace, "pods", pod.name)
        try:
            found = await self._client.get(path, Pod)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return False
            raise
        return found.uid == pod.uid and bool(found.node_name)

    async def post_bind(self, effect: Bind) -> None:
        """Run the hooks after a binding."""
        try:
            await self._hooks.post_bind(effect.hooks, effect.binding)
        except PluginError as error:
            _log_plugin(error)

    async def _create(self, binding: Binding) -> None:
        client, doubts = self._client, 0

        def in_doubt(_: KubeError) -> None:
            # As long as it is not known what came of it, it counts as a write under way.
            nonlocal doubts
            doubts += 1
            client.writes += 1

        try:
            await create_binding(
                client, binding, pauses=ENDLESS_PAUSES, sleep=self._sleep, in_doubt=in_doubt
            )
        finally:
            client.writes -= doubts

    async def patch(self, effect: PatchStatus) -> None:
        """Set a pod's condition and nominated node, unless they are as they should be."""
        pod = effect.pod
        if not changes_status(effect):
            return
        try:
            await self._client.patch_pod_status(
                pod.namespace,
                pod.name,
                pod.uid or None,
                conditions=[_condition(effect)] if _changes_condition(effect) else (),
                nominated_node=effect.nominated_node if _changes_nomination(effect) else None,
            )
        except KubeError as error:
            # A pod that is gone, or is another one by now, needs no status.
            if getattr(error, "status", 0) not in (_CONFLICT, _NOT_FOUND):
                log.warning("the status of pod %s could not be patched: %s", pod.key, error)

    async def clean_up(self, effect: CleanUp) -> None:
        """Write what plugins want changed for a pod that fits nowhere; what fails is logged."""
        try:
            await self._plans.write(effect.pod, effect.plans)
        except MooringError as error:
            log.warning("pod %s: %s", effect.pod.key, error)

    async def preempt(self, effect: PreemptVictims) -> VictimsPreempted:
        """Have victims leave, all at the same time, each with an event that says why."""
        # parity v1.36.4: framework/preemption/executor.go
        victims = [victim for victim in effect.victims if not victim.deleting]
        told = await asyncio.gather(*(self._evict(victim, effect) for victim in victims))
        errors = [error for error in told if error]
        for error in errors:
            log.error("a victim could not be deleted: %s", error)
        return VictimsPreempted(effect.preemptor, "; ".join(errors))

    async def _evict(self, victim: Pod, effect: PreemptVictims) -> str:
        """Have one victim leave; says why that is not possible, else nothing."""
        if self._pods_in_pre_bind.cancel(victim.uid, f"preempted by {effect.plugin}"):
            self.record_event(preempted(effect, victim, in_memory=True))
            return ""
        try:
            await self._delete(victim, effect)
        except KubeError as error:
            # It is gone, or another pod has its name; the watch will show it.
            if getattr(error, "status", 0) not in (_NOT_FOUND, _CONFLICT):
                return f"{victim.key}: {error}"
        return ""

    async def _delete(self, victim: Pod, effect: PreemptVictims) -> None:
        condition = pod_condition(
            victim,
            "DisruptionTarget",
            "True",
            reason="PreemptionByScheduler",
            message=f"{effect.profile}: preempting to accommodate a higher priority pod",
            now_ns=time.time_ns(),
        )
        await self._client.patch_pod_status(
            victim.namespace, victim.name, victim.uid, conditions=[condition]
        )
        await self._client.delete_pod(victim.namespace, victim.name, victim.uid)
        self.record_event(preempted(effect, victim))

    def record_event(self, effect: RecordEvent) -> None:
        """Hand an event to the recorder."""
        name = effect.reporter
        reporter = self._reporters.get(name)
        if reporter is None:
            reporter = self._reporters[name] = reporter_here(name)
        self._recorder.record(
            reference(effect.pod),
            reference(effect.related) if effect.related is not None else None,
            "Warning" if effect.warning else "Normal",
            effect.reason,
            effect.action,
            effect.note,
            reporter=reporter,
        )


def _log_plugin(error: PluginError) -> None:
    """Write down where a plugin failed; other errors are in the pod's event alone."""
    log.error("%s", error, exc_info=error.__cause__, extra=failure_of(error))


def _rejected(effect: Bind, point: str, rejection: Rejection) -> BindFailed:
    """A hook said no, or that it cannot say."""
    name, reasons = rejection.plugin, ", ".join(rejection.verdict.reasons)
    failed = rejection.verdict.error
    message = _running(point, name, reasons) if failed else reasons
    node = effect.binding.node_name
    return BindFailed(effect.pod, node, message, rejected=not failed)


def _running(point: str, plugin: str, text: str) -> str:
    """What failed at an extension point, in kube-scheduler's words."""
    # parity v1.36.4: framework/runtime/framework.go RunPreBindPlugins, RunBindPlugins
    return f'running {point} plugin "{plugin}": {text}' if plugin else text


def changes_status(effect: PatchStatus) -> bool:
    """Whether the pod, as last seen, is not yet as an effect sets it."""
    return _changes_condition(effect) or _changes_nomination(effect)


def _changes_condition(effect: PatchStatus) -> bool:
    if not effect.reason:
        return False
    for known in effect.pod.status.conditions or ():
        if known.type == _SCHEDULED:
            wanted = ("False", effect.reason, effect.message)
            return (known.status, known.reason, known.message) != wanted
    return True


def _changes_nomination(effect: PatchStatus) -> bool:
    nominated_node = effect.nominated_node
    return nominated_node is not None and nominated_node != (
        effect.pod.status.nominated_node_name or ""
    )


def _condition(effect: PatchStatus) -> PodCondition:
    return pod_condition(
        effect.pod,
        _SCHEDULED,
        "False",
        reason=effect.reason,
        message=effect.message,
        now_ns=time.time_ns(),
    )
