"""Sending the writes of plans: again after conflicts, and some to take back what was written.

`PlanExecutor` has one. Whose plan it is and what for does not matter here.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from mooring.errors import ApiError, InputError, KubeError, MooringError
from mooring.framework import foreign
from mooring.framework.binding_hooks import blame
from mooring.framework.plans.plan import MOST_TRIES, PluginPlan, Step, Write
from mooring.framework.plans.plan_answers import legal_write
from mooring.framework.verdict import Verdict
from mooring.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, api_path
from mooring.kube.resources import collection_path
from mooring.live.sync_hooks import SyncHooks
from mooring.model.kinds import BY_NAME
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.scheduler.effects import ObjectWritten

log = logging.getLogger("mooring.live")

R = TypeVar("R")

_CONFLICT: Final = 409
_NOT_FOUND: Final = 404
_PATCHES: Final = {"merge": MERGE_PATCH, "strategic": STRATEGIC_MERGE_PATCH}


class PlanFailed(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    """A plan could not be carried out; the pod is tried again.

    Attributes:
        rejected: the plan says no; otherwise something failed.
    """

    def __init__(self, message: str, *, rejected: bool = False) -> None:
        super().__init__(message)
        self.rejected = rejected


class PlanProgress:
    """How far a pod's plans are.

    Attributes:
        answers: what the API server answered the writes of each plan with that has begun, in order.
    """

    def __init__(self) -> None:
        self.answers: list[list[KubeObject]] = []


class PlanWriter:
    """Sends writes.

    Args:
        client: the API server.
        hooks: in which a plan's functions are called.
        report: told of every object that was written for a plan that looks at answers.
    """

    def __init__(
        self, client: Client, hooks: SyncHooks, report: Callable[[ObjectWritten], None]
    ) -> None:
        self._client = client
        self._hooks = hooks
        self._report = report

    async def write(self, pod: Pod, one: PluginPlan, answers: list[KubeObject]) -> None:
        """Send the writes of a plan.

        Args:
            pod: the pod.
            one: its plan.
            answers: gets the objects as they were written.

        Raises:
            PlanFailed: that was not possible.
            PluginError: a function of the plan failed.
        """
        # Who needs no answers does not care what they look like.
        wanted = not all(isinstance(step, Write) for step in (*one.plan.writes, *one.plan.undo))
        for step in one.plan.writes:
            await self._step(pod, one, step, answers, wanted=wanted)

    async def undo(self, pod: Pod, one: PluginPlan, answers: Sequence[KubeObject]) -> None:
        """Send what takes a plan back, as far as it was written; what fails is logged."""
        known = list(answers)
        for step in one.plan.undo:
            try:
                await self._step(pod, one, step, known, wanted=True)
            except MooringError as error:
                if not _is_gone(error):
                    log.warning("pod %s: not everything could be taken back: %s", pod.key, error)

    def ask(
        self,
        pod: Pod,
        one: PluginPlan,
        where: str,
        legal: Callable[[object], R],
        function: Callable[..., object],
        *args: object,
    ) -> R:
        """Call a function of a plan, which may be anybody's.

        Raises:
            PluginError: it failed.
        """
        with self._hooks:
            try:
                return foreign.call(legal, foreign.call(function, *args))
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, one.plugin, where, pod)

    async def _step(
        self, pod: Pod, one: PluginPlan, step: Step, answers: list[KubeObject], *, wanted: bool
    ) -> None:
        write: Write | Verdict | None
        if isinstance(step, Write):
            write = step
        else:
            write = self.ask(pod, one, "plan.writes", legal_write, step, tuple(answers))
        answer = await self._write(pod, one, write, wanted=wanted)
        if answer is not None:
            answers.append(answer)
            self._report(ObjectWritten(answer))

    async def _write(
        self, pod: Pod, one: PluginPlan, write: Write | Verdict | None, *, wanted: bool
    ) -> KubeObject | None:
        """Send a write, again if the object changed meanwhile; the object as it is then."""
        latest: KubeObject | None = None
        for left in reversed(range(MOST_TRIES)):
            if isinstance(write, Verdict):
                raise rejected(one, write)
            if write is None:
                return latest
            try:
                answer = await self._send(write)
                has_answer = wanted and write.verb != "delete"
                return write.kind.from_json(answer) if has_answer else None
            except (KubeError, InputError) as error:
                conflict = isinstance(error, ApiError) and error.status == _CONFLICT
                if not conflict or write.on_conflict is None or not left:
                    raise failed(one, write.doing, _words(error)) from error
            try:
                latest = await self._client.get(_object_path(write), write.kind)
            except KubeError as error:
                raise failed(one, write.doing, _words(error)) from error
            write = self.ask(pod, one, "plan.writes", legal_write, write.on_conflict, latest)
        raise AssertionError("the last turn of the loop returns or raises")

    async def _send(self, write: Write) -> bytes:
        if write.verb == "create":
            path = _collection_path(write)
            if write.subresource:
                path = _object_path(write) + api_path(write.subresource)
            return await self._client.request("POST", path, body=write.body)
        path = _object_path(write)
        if write.verb == "delete":
            return await self._client.request("DELETE", path, body=write.body)
        if write.subresource:
            path += api_path(write.subresource)
        content_type = _PATCHES[write.patch_type]
        return await self._client.request("PATCH", path, body=write.body, content_type=content_type)


def failed(one: PluginPlan, *texts: str) -> PlanFailed:
    """A plan failed, in kube-scheduler's words."""
    # parity v1.36.4: framework/runtime/framework.go RunPreBindPlugins
    said = (f'running PreBind plugin "{one.plugin}"', one.plan.doing, *texts)
    return PlanFailed(": ".join(text for text in said if text))


def rejected(one: PluginPlan, verdict: Verdict) -> PlanFailed:
    """A function of a plan said no, or that it cannot say."""
    reasons = ", ".join(verdict.reasons)
    if verdict.error:
        return failed(one, reasons)
    return PlanFailed(reasons, rejected=True)


def _words(error: Exception) -> str:
    """What an event says of an error: the API server's own words, as kube-scheduler's does."""
    return (error.said if isinstance(error, ApiError) else "") or str(error)


def _is_gone(error: MooringError) -> bool:
    """Whether the object is gone, or another one has its name: nothing is left to take back."""
    cause = error.__cause__
    return isinstance(cause, ApiError) and cause.status in (_NOT_FOUND, _CONFLICT)


def _collection_path(write: Write) -> str:
    namespace = write.key.partition("/")[0] if write.kind.namespaced else ""
    return collection_path(BY_NAME[write.kind.kind_name], namespace)


def _object_path(write: Write) -> str:
    return _collection_path(write) + api_path(write.key.rpartition("/")[2])
