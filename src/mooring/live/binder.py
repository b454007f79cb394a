"""Carrying out the scheduler's effects on a live cluster.

`Binder` runs the hooks around a binding, creates it, patches statuses and evicts victims. Each
method turns whatever goes wrong into a report or a log line; nothing here decides anything.
"""

import logging
import time
from collections.abc import Mapping

from mooring.errors import ApiError, KubeError, MooringError
from mooring.extender.client import ExtenderClients
from mooring.framework.binding import Binding
from mooring.framework.filtering import Refusal
from mooring.framework.runtime import Runtime
from mooring.kube.client import Client, api_path
from mooring.kube.event_body import Reporter, reference, reporter_here
from mooring.kube.events import Recorder
from mooring.kube.pod_status import PodCondition, pod_condition
from mooring.live.deadline import Deadline
from mooring.live.volumes import VolumeWriter
from mooring.model.pod import Pod
from mooring.scheduler.effects import Bind, BindFailed, Bound, Evict, Evicted, PatchStatus, Tell

log = logging.getLogger("mooring.live")

_CONFLICT = 409
_NOT_FOUND = 404


class Binder:
    """Writes to the cluster what the scheduler decided.

    Args:
        client: the API server.
        recorder: takes Kubernetes events.
        runtimes: the plugins by scheduler name.
        volumes: binds volumes before pods.
        extenders: the configuration's extenders; one of them may bind.
        deadline: for each step of a hook, so that none holds up the scheduler.
    """

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        runtimes: Mapping[str, Runtime],
        volumes: VolumeWriter,
        extenders: ExtenderClients | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self._deadline = deadline or Deadline(10.0)
        self._client = client
        self._recorder = recorder
        self._runtimes = runtimes
        self._volumes = volumes
        self._extenders = extenders
        self._reporters: dict[str, Reporter] = {}

    async def bind(self, effect: Bind) -> Bound | BindFailed:
        """Run the hooks before a binding, and create it."""
        pod, node = effect.pod, effect.binding.node_name
        placing = self._runtimes[effect.profile].placing
        try:
            await self._volumes.bind(effect)
            binding: Binding | Refusal = effect.binding
            if placing.waits:
                binding = await self._deadline.each_step(placing.pre_bind(effect.binding))
            if not isinstance(binding, Refusal):
                binding = await self._deadline.each_step(placing.bind(binding))
            if isinstance(binding, Refusal):
                reasons = ", ".join(binding.verdict.reasons)
                return BindFailed(pod, node, reasons, plugin=binding.plugin, refused=True)
            await self._create(pod, binding)
        except MooringError as error:
            return BindFailed(pod, node, f"binding rejected: {error}")
        return Bound(pod, node)

    async def bound(self, effect: Bind) -> None:
        """Run the hooks after a binding."""
        try:
            placing = self._runtimes[effect.profile].placing
            await self._deadline.each_step(placing.post_bind(effect.binding))
        except MooringError as error:
            log.error("%s", error)  # noqa: TRY400 - a sentence for the user, no traceback

    async def _create(self, pod: Pod, binding: Binding) -> None:
        if self._extenders is not None and await self._extenders.bind(pod, binding):
            return
        try:
            await self._client.bind(
                pod.namespace, pod.name, pod.uid or None, binding.node_name, binding.annotations
            )
        except ApiError as error:
            # An answer that was lost may have been a yes.
            if error.status != _CONFLICT or not await self._is_bound(pod, binding.node_name):
                raise
        except KubeError:
            if not await self._is_bound(pod, binding.node_name):
                raise

    async def _is_bound(self, pod: Pod, node: str) -> bool:
        path = api_path("api", "v1", "namespaces", pod.namespace, "pods", pod.name)
        found = await self._client.get(path, Pod)
        return found.uid == pod.uid and found.node_name == node

    async def patch(self, effect: PatchStatus) -> None:
        """Set a pod's condition and promised node, unless they are as they should be."""
        pod = effect.pod
        conditions = _conditions(effect)
        promised = effect.nominated_node
        if promised is not None and promised == (pod.status.nominated_node_name or ""):
            promised = None
        if not conditions and promised is None:
            return
        try:
            await self._client.patch_pod_status(
                pod.namespace,
                pod.name,
                pod.uid or None,
                conditions=conditions,
                nominated_node=promised,
            )
        except KubeError as error:
            # A pod that is gone, or is another one by now, needs no status.
            if getattr(error, "status", 0) not in (_CONFLICT, _NOT_FOUND):
                log.warning("the status of pod %s could not be patched: %s", pod.key, error)

    async def evict(self, effect: Evict) -> Evicted:
        """Delete victims, each with a condition and an event that say why."""
        # parity v1.36.4: framework/preemption/executor.go
        errors = []
        for victim in effect.victims:
            if victim.deleting:
                continue
            try:
                await self._delete(victim, effect)
            except ApiError as error:
                if error.status != _NOT_FOUND:
                    errors.append(f"{victim.key}: {error}")
            except KubeError as error:
                errors.append(f"{victim.key}: {error}")
        for error_text in errors:
            log.error("a victim could not be deleted: %s", error_text)
        return Evicted(effect.preemptor, "; ".join(errors))

    async def _delete(self, victim: Pod, effect: Evict) -> None:
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
        self.tell(
            Tell(
                victim,
                "Preempted",
                "Preempting",
                note,
                reporter=effect.profile,
                related=preemptor,
            )
        )

    def tell(self, effect: Tell) -> None:
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
