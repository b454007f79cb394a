"""Carrying out plans on a live cluster: what plugins want written and waited for before a binding.

Sends the writes of any `Plan` and waits until its `ready` says yes; whose plan it is and what for
does not matter here. Called by `Binder`. A pod that waits is looked at only when one of its plans'
own objects changes, so thousands that wait cost nothing.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from mooring.errors import ApiError, InputError, KubeError, MooringError
from mooring.framework import foreign
from mooring.framework.binding_hooks import blame
from mooring.framework.plans.plan import MOST_TRIES, ObjectKey, PluginPlan, Write
from mooring.framework.plans.plan_answers import legal_ready, legal_write
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdict
from mooring.kube.client import MERGE_PATCH, Client, api_path
from mooring.kube.resources import collection_path
from mooring.live.sync_hooks import SyncHooks
from mooring.live.waiting_bindings import WaitingBindings
from mooring.model.change import Change
from mooring.model.kinds import BY_NAME
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.scheduler.effects import Bind
from mooring.state.cluster import Cluster

R = TypeVar("R")

_CONFLICT: Final = 409


class PlanFailed(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    """A plan could not be carried out; the pod is tried again.

    Attributes:
        rejected: the plan says no; otherwise something failed.
    """

    def __init__(self, message: str, *, rejected: bool = False) -> None:
        super().__init__(message)
        self.rejected = rejected


class PlanExecutor:
    """Carries out plans.

    Args:
        client: the API server.
        runtimes: the plugins by scheduler name, with the state that the plans are about.
        hooks: in which a plan's functions are called.
        waiting_bindings: where tasks that wait for a plan are kept.
    """

    def __init__(
        self,
        client: Client,
        runtimes: Mapping[str, Runtime],
        hooks: SyncHooks,
        waiting_bindings: WaitingBindings,
    ) -> None:
        self._client = client
        self._clusters = {name: runtime.cluster for name, runtime in runtimes.items()}
        self._hooks = hooks
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

    async def carry_out(self, effect: Bind) -> None:
        """Write what was planned for a pod, and wait until everything is ready.

        The plans are waited for at the same time, each as long as it says.

        Raises:
            PlanFailed: that was not possible, or took too long.
            PluginError: a function of a plan failed.
        """
        await self.write(effect.pod, effect.plans)
        waited = [one for one in effect.plans if one.plan.ready is not None]
        if waited:
            await self._wait(effect.pod, waited, self._clusters[effect.profile])

    async def write(self, pod: Pod, plans: Iterable[PluginPlan]) -> None:
        """Write what was planned for a pod, and wait for nothing.

        Raises:
            PlanFailed: that was not possible.
            PluginError: a function of a plan failed.
        """
        for one in plans:
            await self._write_all(pod, one)

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
                    # In kube-scheduler's words, which people search for.
                    raise _failed(soonest, "context deadline exceeded") from error

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
            raise _failed(one, "pod does not exist any more")
        if one.plan.ready is None:
            return True
        answer = self._ask(pod, one, "plan.ready", legal_ready, one.plan.ready, cluster)
        if isinstance(answer, Verdict):
            raise _rejected(one, answer)
        return answer

    # -- writing

    async def _write_all(self, pod: Pod, one: PluginPlan) -> None:
        steps = one.plan.writes
        answers: tuple[KubeObject, ...] = ()
        # Who needs no answers does not care what they look like.
        wanted = not all(isinstance(step, Write) for step in steps)
        for step in steps:
            write: Write | Verdict | None
            if isinstance(step, Write):
                write = step
            else:
                write = self._ask(pod, one, "plan.writes", legal_write, step, answers)
            answer = await self._write(pod, one, write, wanted=wanted)
            if answer is not None:
                answers = (*answers, answer)

    async def _write(
        self, pod: Pod, one: PluginPlan, write: Write | Verdict | None, *, wanted: bool
    ) -> KubeObject | None:
        """Send a write, again if the object changed meanwhile; the object as it is then."""
        latest: KubeObject | None = None
        for left in reversed(range(MOST_TRIES)):
            if isinstance(write, Verdict):
                raise _rejected(one, write)
            if write is None:
                return latest
            try:
                answer = await self._send(write)
                has_answer = wanted and write.verb != "delete"
                return write.kind.from_json(answer) if has_answer else None
            except (KubeError, InputError) as error:
                conflict = isinstance(error, ApiError) and error.status == _CONFLICT
                if not conflict or write.on_conflict is None or not left:
                    raise _failed(one, write.doing, str(error)) from error
            try:
                latest = await self._client.get(_object_path(write), write.kind)
            except KubeError as error:
                raise _failed(one, write.doing, str(error)) from error
            write = self._ask(pod, one, "plan.writes", legal_write, write.on_conflict, latest)
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
        return await self._client.request("PATCH", path, body=write.body, content_type=MERGE_PATCH)

    def _ask(
        self,
        pod: Pod,
        one: PluginPlan,
        where: str,
        legal: Callable[[object], R],
        function: Callable[..., object],
        *args: object,
    ) -> R:
        """Call a function of a plan, which may be anybody's."""
        with self._hooks:
            try:
                return foreign.call(legal, foreign.call(function, *args))
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, one.plugin, where, pod)


def _failed(one: PluginPlan, *texts: str) -> PlanFailed:
    # parity v1.36.4: framework/runtime/framework.go RunPreBindPlugins
    said = (f'running PreBind plugin "{one.plugin}"', one.plan.doing, *texts)
    return PlanFailed(": ".join(text for text in said if text))


def _rejected(one: PluginPlan, verdict: Verdict) -> PlanFailed:
    reasons = ", ".join(verdict.reasons)
    if verdict.error:
        return _failed(one, reasons)
    return PlanFailed(reasons, rejected=True)


def _collection_path(write: Write) -> str:
    namespace = write.key.partition("/")[0] if write.kind.namespaced else ""
    return collection_path(BY_NAME[write.kind.kind_name], namespace)


def _object_path(write: Write) -> str:
    return _collection_path(write) + api_path(write.key.rpartition("/")[2])
