"""Carrying out the scheduler's effects on a live cluster.

`Binder` runs the hooks around a binding, creates it, patches statuses and preempts victims. Each
method turns whatever goes wrong into a report or a log line; nothing here decides anything.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack

from mooring.errors import ApiError, KubeError, MooringError, PluginError
from mooring.extender.client import ExtenderClients
from mooring.framework.binding import Binding
from mooring.framework.filtering import Rejection
from mooring.framework.runtime import Runtime
from mooring.kube.binding import create_binding, endless_pauses
from mooring.kube.event_body import Reporter, reference, reporter_here
from mooring.kube.events import EventRecorder
from mooring.kube.pod_status import PodCondition, pod_condition
from mooring.live.async_hooks import AsyncHooks
from mooring.live.client import LiveClient
from mooring.live.volume_binder import VolumeBinder
from mooring.log_kinds import failure_of
from mooring.model.pod import Pod
from mooring.scheduler.effects import (
    Bind,
    BindFailed,
    Bound,
    PatchStatus,
    PreemptVictims,
    RecordEvent,
    VictimsPreempted,
)

log = logging.getLogger("mooring.live")

_CONFLICT = 409
_NOT_FOUND = 404


class Binder:
    """Writes to the cluster what the scheduler decided.

    Args:
        client: the API server.
        recorder: records Kubernetes events.
        runtimes: the plugins by scheduler name.
        volume_binder: binds volumes before pods.
        hooks: runs the plugins' hooks around a binding.
        extenders: the configuration's extenders; one of them may bind.
        sleep: waits for an API server that is away.
    """

    def __init__(
        self,
        client: LiveClient,
        recorder: EventRecorder,
        runtimes: Mapping[str, Runtime],
        volume_binder: VolumeBinder,
        hooks: AsyncHooks,
        *,
        extenders: ExtenderClients | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._hooks = hooks
        self._sleep = sleep
        self._client = client
        self._recorder = recorder
        self._runtimes = runtimes
        self._volume_binder = volume_binder
        self._extenders = extenders
        self._reporters: dict[str, Reporter] = {}

    async def bind(self, effect: Bind) -> Bound | BindFailed:
        """Run the hooks before a binding, and create it; whatever goes wrong is reported."""
        pod, node = effect.pod, effect.binding.node_name
        try:
            return await self._bind(effect)
        except MooringError as error:
            _log_plugin(error)
            return BindFailed(pod, node, str(error))
        except Exception as error:
            log.exception("the binding of pod %s failed inside mooring", pod.key)
            return BindFailed(pod, node, f"mooring failed: {type(error).__name__}: {error}")

    async def _bind(self, effect: Bind) -> Bound | BindFailed:
        pod, node = effect.pod, effect.binding.node_name
        binding_hooks = self._runtimes[effect.profile].binding_hooks
        if self._volume_binder.needs_writes(effect):
            # Others should know where the pod goes: an autoscaler must keep that node.
            await self.patch(PatchStatus(pod, nominated_node=node))
            await self._volume_binder.bind(effect)
        binding = await self._hooks.pre_bind(binding_hooks, effect.binding)
        try:
            if not isinstance(binding, Rejection):
                binding = await self._hooks.bind(binding_hooks, binding)
            if isinstance(binding, Rejection):
                reasons = ", ".join(binding.verdict.reasons)
                return BindFailed(pod, node, reasons, plugin=binding.plugin, rejected=True)
            await self._create(pod, binding)
        except MooringError as error:
            _log_plugin(error)
            return BindFailed(pod, node, f"binding rejected: {error}")
        return Bound(pod, node)

    async def post_bind(self, effect: Bind) -> None:
        """Run the hooks after a binding."""
        try:
            await self._hooks.post_bind(
                self._runtimes[effect.profile].binding_hooks, effect.binding
            )
        except PluginError as error:
            _log_plugin(error)

    async def _create(self, pod: Pod, binding: Binding) -> None:
        if self._extenders is not None and await self._extenders.bind(pod, binding):
            return
        # As long as it is not known what came of it, it counts as a write under way.
        with ExitStack() as doubt:
            await create_binding(
                self._client,
                binding,
                pauses=endless_pauses(),
                sleep=self._sleep,
                in_doubt=lambda _: doubt.enter_context(self._client.writing()),
            )

    async def patch(self, effect: PatchStatus) -> None:
        """Set a pod's condition and nominated node, unless they are as they should be."""
        pod = effect.pod
        conditions = _conditions(effect)
        nominated = effect.nominated_node
        if nominated is not None and nominated == (pod.status.nominated_node_name or ""):
            nominated = None
        if not conditions and nominated is None:
            return
        try:
            await self._client.patch_pod_status(
                pod.namespace,
                pod.name,
                pod.uid or None,
                conditions=conditions,
                nominated_node=nominated,
            )
        except KubeError as error:
            # A pod that is gone, or is another one by now, needs no status.
            if getattr(error, "status", 0) not in (_CONFLICT, _NOT_FOUND):
                log.warning("the status of pod %s could not be patched: %s", pod.key, error)

    async def preempt(self, effect: PreemptVictims) -> VictimsPreempted:
        """Delete victims, each with a condition and an event that say why."""
        # parity v1.36.4: framework/preemption/executor.go
        errors = []
        for victim in effect.victims:
            if victim.deleting:
                continue
            try:
                await self._delete(victim, effect)
            except ApiError as error:
                # It is gone, or another pod has its name; the watch will show it.
                if error.status not in (_NOT_FOUND, _CONFLICT):
                    errors.append(f"{victim.key}: {error}")
            except KubeError as error:
                errors.append(f"{victim.key}: {error}")
        for error_text in errors:
            log.error("a victim could not be deleted: %s", error_text)
        return VictimsPreempted(effect.preemptor, "; ".join(errors))

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
        preemptor = effect.preemptor
        note = f"Preempted by pod {preemptor.uid} on node {effect.node}"
        self.record_event(
            RecordEvent(
                victim,
                "Preempted",
                "Preempting",
                note,
                reporter=effect.profile,
                related=preemptor,
            )
        )

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


def _log_plugin(error: MooringError) -> None:
    """Write down where a plugin failed; other errors are in the pod's event alone."""
    if isinstance(error, PluginError):
        log.error("%s", error, exc_info=error.__cause__, extra=failure_of(error))


def _conditions(effect: PatchStatus) -> list[PodCondition]:
    if not effect.reason:
        return []
    pod = effect.pod
    known = next((one for one in pod.status.conditions or () if one.type == "PodScheduled"), None)
    wanted = ("False", effect.reason, effect.message)
    if known is not None and (known.status, known.reason, known.message) == wanted:
        return []
    return [
        pod_condition(
            pod,
            "PodScheduled",
            "False",
            reason=effect.reason,
            message=effect.message,
            now_ns=time.time_ns(),
        )
    ]
