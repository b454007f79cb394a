"""Carrying out plans in virtual time: what plugins want written and waited for before a binding.

The counterpart of `mooring.live.plans`: writes go to the embedded API, and waiting is an entry in a
table until an object changes or the time is over. Called by `scheduler_shell`.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from mooring.embedded.patches.patch import MERGE, STRATEGIC, Patch
from mooring.embedded.resources import RESOURCES, Resource
from mooring.embedded.status_errors import StatusError
from mooring.errors import MooringError
from mooring.framework import foreign
from mooring.framework.plans.plan import MOST_TRIES, ObjectKey, PluginPlan, Step, Write
from mooring.framework.plans.plan_answers import legal_ready, legal_write
from mooring.framework.verdict import Verdict
from mooring.model.change import Change, Gone
from mooring.model.kinds import find_kind
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.scheduler.effects import Bind, BindFailed
from mooring.simulator.engine.api_cluster import ApiCluster
from mooring.simulator.engine.event_heap import EventHeap
from mooring.state.cluster import Cluster

_CONFLICT = 409
_RESOURCES: dict[type[KubeObject], Resource] = {
    kind.type: one
    for one in RESOURCES
    if (kind := find_kind(one.kind, one.api_version)) is not None
}

#: Called with None when everything is ready, else with what came of it.
Done = Callable[[BindFailed | None], None]


class _Waiting:
    """A pod that waits for its plans."""

    __slots__ = ("done", "effect", "over", "plans")

    def __init__(self, effect: Bind, plans: list[PluginPlan], done: Done) -> None:
        self.effect = effect
        self.plans = plans
        self.done = done
        self.over = False


class PlanExecution:
    """Carries out plans.

    Args:
        cluster: where objects are written.
        state: the scheduler's state, which `ready` looks at.
        heap: virtual time.
    """

    def __init__(self, cluster: ApiCluster, state: Cluster, heap: EventHeap) -> None:
        self._cluster = cluster
        self._state = state
        self._heap = heap
        self._pods: dict[str, _Waiting] = {}
        self._waiting: dict[ObjectKey, dict[str, _Waiting]] = {}
        # What plans wrote and nobody has seen yet: class, key, version; no version if deleted.
        self._written: set[tuple[type[KubeObject], str, str]] = set()
        # What was answered for the plans of pods that are not bound yet, by unique id.
        self._answers: dict[str, list[list[KubeObject]]] = {}

    def carry_out(self, effect: Bind, done: Done) -> None:
        """Write what was planned for a pod, and say when everything is ready."""
        answers = self._answers[effect.pod.uid] = []
        try:
            for one in effect.plans:
                answers.append([])
                self._write_all(one.plan.writes, one, answers[-1])
        except _PlanFailed as failed:
            done(_failed(effect, failed))
            return
        plans = [one for one in effect.plans if one.plan.ready is not None]
        waiting = _Waiting(effect, plans, done)
        if not plans:
            done(None)
            return
        self._pods[effect.pod.uid] = waiting
        for key in self._keys(waiting):
            self._waiting.setdefault(key, {})[effect.pod.uid] = waiting
        for one in plans:
            self._heap.after(one.plan.seconds, partial(self._late, waiting, one))
        self._look(waiting)

    def clean_up(self, plans: Iterable[PluginPlan]) -> None:
        """Write what plugins want changed for a pod; what fails, they want again."""
        for one in plans:
            with suppress(_PlanFailed):
                self._write_all(one.plan.writes, one, [])

    def bound(self, effect: Bind) -> None:
        """A pod is bound: nothing has to be taken back."""
        self._answers.pop(effect.pod.uid, None)

    def undo(self, effect: Bind) -> None:
        """Take back what was written for a pod that is not bound, the last plan first."""
        answers = self._answers.pop(effect.pod.uid, [])
        for number in reversed(range(len(effect.plans))):
            one = effect.plans[number]
            known = answers[number] if number < len(answers) else []
            for step in one.plan.undo:
                with suppress(_PlanFailed):
                    self._write_all((step,), one, known)

    def cancel(self, uid: str, message: str) -> bool:
        """Break off the plans of a pod; whether it had any under way."""
        waiting = self._pods.get(uid)
        if waiting is None:
            return False
        pod, node = waiting.effect.pod, waiting.effect.binding.node_name
        self._finish(waiting, BindFailed(pod, node, message))
        return True

    def on_changes(self, changes: Iterable[Change[Any]]) -> None:
        """Notice that objects changed; the state shows it already."""
        if not self._waiting:
            return
        for change in changes:
            key = (type(change.object), change.object.key)
            for waiting in list(self._waiting.get(key, {}).values()):
                self._look(waiting)

    def pop_others(self, changes: Iterable[Change[Any]]) -> list[Change[Any]]:
        """The changes that plans have not brought about; what they wrote counts as seen then."""
        written, self._written = self._written, set()
        return [
            one
            for one in changes
            if (type(thing := one.object), thing.key, _version_of(one)) not in written
        ]

    # -- waiting

    def _look(self, waiting: _Waiting) -> None:
        if waiting.over:
            return
        pod = waiting.effect.pod
        try:
            known = self._state.pod(pod.namespace, pod.name)
            if known is None or known.uid != pod.uid:
                raise _PlanFailed(_said(waiting.plans[0], "pod does not exist any more"))
            waiting.plans = [one for one in waiting.plans if not self._is_ready(one)]
        except _PlanFailed as failed:
            self._finish(waiting, _failed(waiting.effect, failed))
            return
        if not waiting.plans:
            self._finish(waiting, None)

    def _is_ready(self, one: PluginPlan) -> bool:
        if one.plan.ready is None:
            return True
        answer = _ask(one, legal_ready, one.plan.ready, self._state)
        if isinstance(answer, Verdict):
            raise _rejected(one, answer)
        return bool(answer)

    def _late(self, waiting: _Waiting, one: PluginPlan) -> None:
        if not waiting.over and one in waiting.plans:
            failed = _PlanFailed(_said(one, one.plan.too_late))
            self._finish(waiting, _failed(waiting.effect, failed))

    def _finish(self, waiting: _Waiting, report: BindFailed | None) -> None:
        waiting.over = True
        self._pods.pop(waiting.effect.pod.uid, None)
        for key in self._keys(waiting):
            there = self._waiting.get(key, {})
            there.pop(waiting.effect.pod.uid, None)
            if not there:
                self._waiting.pop(key, None)
        waiting.done(report)

    @staticmethod
    def _keys(waiting: _Waiting) -> set[ObjectKey]:
        pod = waiting.effect.pod
        plans = waiting.effect.plans
        return {(Pod, pod.key), *(key for one in plans for key in one.plan.objects)}

    # -- writing

    def _write_all(self, steps: Iterable[Step], one: PluginPlan, answers: list[KubeObject]) -> None:
        for step in steps:
            if isinstance(step, Write):
                answer = self._write(one, step)
            else:
                answer = self._write(one, _ask(one, legal_write, step, tuple(answers)))
            if answer is not None:
                answers.append(answer)

    def _write(self, one: PluginPlan, write: Write | Verdict | None) -> KubeObject | None:
        latest: KubeObject | None = None
        for left in reversed(range(MOST_TRIES)):
            if isinstance(write, Verdict):
                raise _rejected(one, write)
            if write is None:
                return latest
            try:
                return self._send(write)
            except StatusError as error:
                if error.code != _CONFLICT or write.on_conflict is None or not left:
                    raise _PlanFailed(_said(one, write.doing, str(error))) from error
            resource = _RESOURCES[write.kind]
            namespace, name = _place(write)
            item = self._cluster.api.store.get(resource, namespace, name)
            if item is None:
                raise _PlanFailed(_said(one, write.doing, "the object is gone"))
            latest = write.kind.from_json(item.body)
            write = _ask(one, legal_write, write.on_conflict, latest)
        raise AssertionError("the last turn of the loop returns or raises")

    def _send(self, write: Write) -> KubeObject | None:
        api = self._cluster.api
        resource = _RESOURCES[write.kind]
        namespace, name = _place(write)
        body = msgspec.json.encode(write.body)
        if write.verb == "delete":
            api.delete(resource, namespace, name, dict(write.body))
            self._written.add((write.kind, write.key, ""))
            return None
        if write.verb == "create":
            obj = msgspec.json.decode(body)
            obj.setdefault("apiVersion", resource.api_version)
            obj.setdefault("kind", resource.kind)
            item = api.create(resource, obj, namespace)
        else:
            patch = Patch(STRATEGIC if write.patch_type == "strategic" else MERGE, body)
            item, _ = api.patch(resource, namespace, name, patch, subresource=write.subresource)
        answer = write.kind.from_json(item.body)
        self._written.add((write.kind, answer.key, answer.resource_version))
        return answer


class _PlanFailed(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    def __init__(self, message: str, *, rejected: bool = False) -> None:
        super().__init__(message)
        self.rejected = rejected


def _ask(
    one: PluginPlan, legal: Callable[..., Any], function: Callable[..., object], *args: object
) -> Any:
    try:
        return foreign.call(legal, foreign.call(function, *args))
    except Exception as error:
        raise _PlanFailed(_said(one, foreign.tell(error).text)) from error


def _failed(effect: Bind, failed: _PlanFailed) -> BindFailed:
    return BindFailed(effect.pod, effect.binding.node_name, str(failed), failed.rejected)


def _rejected(one: PluginPlan, verdict: Verdict) -> _PlanFailed:
    reasons = ", ".join(verdict.reasons)
    if verdict.error:
        return _PlanFailed(_said(one, reasons))
    return _PlanFailed(reasons, rejected=True)


def _said(one: PluginPlan, *texts: str) -> str:
    # parity v1.36.4: framework/runtime/framework.go RunPreBindPlugins
    said = (f'running PreBind plugin "{one.plugin}"', one.plan.doing, *texts)
    return ": ".join(text for text in said if text)


def _version_of(change: Change[Any]) -> str:
    return "" if isinstance(change, Gone) else str(change.object.resource_version)


def _place(write: Write) -> tuple[str, str]:
    namespace, _, name = write.key.rpartition("/")
    if not write.kind.namespaced:
        return "", name
    return namespace or write.key.partition("/")[0], name if namespace else ""
