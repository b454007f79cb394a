"""A plugin and a policy that go wrong once for each pod, where and how the pod's labels say."""

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mooring as mr
from mooring import hook
from mooring.framework.arrays import Amounts
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate, Filtering, Preemption
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdicts
from mooring.model.node import Node
from mooring.model.pod import Pod

#: What goes wrong, whatever the hook.
FAILURES = (
    "raises", "spins", "sleeps", "cancels", "exits", "interrupts", "recurses",
    "wrong", "too-much", "huge", "hostile", "broken-text", "endless-text", "odd-text",
    "cancels-itself", "plugin-error", "foreign-parts", "hostile-error",
    "hostile-part", "hostile-class", "hostile-name", "closes",
)  # fmt: skip
HUGE = "x" * 300_000
_NORMAL: Any = object()


class OopsError(Exception):
    """What a plugin raises."""


class BrokenTextError(Exception):
    """Says nothing of itself."""

    def __str__(self) -> str:  # noqa: PLE0307 - it never does
        sys.exit(4)


class EndlessTextError(Exception):
    """Never comes to an end when it tells what happened."""

    def __str__(self) -> str:  # noqa: PLE0307 - it never does
        while True:
            pass


class BrokenPluginError(mr.PluginError):
    """One of mooring's own errors, which says nothing of itself."""

    def __str__(self) -> str:  # noqa: PLE0307 - it never does
        sys.exit(7)


class HostileError(BaseException):
    """Does harm whoever looks at it."""

    def _harm(self, *_: object) -> Any:
        sys.exit(8)

    __class__ = __cause__ = __context__ = __traceback__ = property(_harm)
    __str__ = __repr__ = _harm


class OddText(str):
    """A text that cannot be sent, and harms who compares it."""

    __slots__ = ()

    def __hash__(self) -> int:  # noqa: PLE0309 - it never does
        sys.exit(6)


class Hostile:
    """An answer that does harm whoever looks at it."""

    def _harm(self, *_: object) -> Any:
        sys.exit(5)

    __class__ = property(_harm)
    __repr__ = __str__ = __iter__ = __len__ = __bool__ = __eq__ = __array__ = __getitem__ = _harm
    __hash__ = None  # type: ignore[assignment]


class HostileClassError(BaseException):
    """Does harm whoever asks what it is."""

    __class__ = property(lambda _: sys.exit(7))


class Nameless(type):
    """A class of classes that do harm when they are named."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        sys.exit(8)


class HostileNameError(Exception, metaclass=Nameless):
    """Has such a class."""


def hostile_verdict() -> mr.Verdict:
    """An answer whose part does harm."""
    return mr.Verdict(accepted=Hostile(), reason="x")  # type: ignore[arg-type]


class Wild(
    hook.PreEnqueue,
    hook.Requeues,
    hook.WhatIf,
    hook.FilterNodes,
    hook.PostFilter,
    hook.PreScore,
    hook.ScoreNodes,
    hook.Normalize,
    hook.Reserve,
    hook.Permit,
    hook.Preempt,
    hook.PreBind,
    hook.Bind,
    hook.PostBind,
):
    """Every hook at once; a pod's label ``hook`` says where it fails, ``failure`` how."""

    name = "Wild"

    def __init__(self) -> None:
        self.handle: hook.Handle
        #: The unique ids of pods that had their failure, with the hook.
        self.failed: dict[str, str] = {}
        #: What each pod's permit said: the first time no, for those about `unreserve`.
        self.rejected: set[str] = set()

    def attach(self, handle: hook.Handle) -> None:
        self.handle = handle

    def _goes_wrong(self, at: str, pod: Pod | None) -> str:
        """How it fails here and now; empty if it does not."""
        if pod is None or pod.labels.get("hook") != at or pod.uid in self.failed:
            return ""
        self.failed[pod.uid] = at
        return pod.labels["failure"]

    def act(
        self,
        at: str,
        pod: Pod | None,
        *,
        much: object = None,
        wrong: object = 42,
        part: Callable[[], object] = hostile_verdict,
        read: Callable[[], object] = lambda: None,
    ) -> Any:
        """Fail, or return the answer of a failure; otherwise `_NORMAL`."""
        failure = self._goes_wrong(at, pod)
        if failure == "hostile":
            return Hostile()
        if failure == "hostile-part":
            return part()
        if failure in ("wrong", "too-much", "huge"):
            return {"wrong": wrong, "too-much": much, "huge": HUGE}[failure]
        if failure == "recurses":
            _recurse(read)
        if failure:
            fail(failure)
        return _NORMAL

    async def wait(self, at: str, pod: Pod | None, *, much: object = None) -> Any:
        """The same for hooks that may wait."""
        failure = self._goes_wrong(at, pod)
        if failure == "sleeps":
            await asyncio.get_running_loop().create_future()
        if failure == "cancels":
            task = asyncio.create_task(asyncio.sleep(3600))
            task.cancel()
            await task
        if failure == "hostile":
            return Hostile()
        if failure == "hostile-part":
            return hostile_verdict()
        if failure in ("wrong", "too-much", "huge"):
            return {"wrong": 42, "too-much": much, "huge": HUGE}[failure]
        if failure:
            fail(failure)
        return _NORMAL

    def pre_enqueue(self, pod: Pod) -> Any:
        return _or_none(self.act("pre_enqueue", pod))

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        return [hook.RequeueHint(mr.Node, hook.Action.ANY, self._helps)]

    def _helps(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        answer = self.act("helps", pod)
        return answer if answer is not _NORMAL else True

    def pre_filter(self, cycle: Cycle) -> Any:
        much = [f"no-such-node-{number}" for number in range(1000)]
        answer = self.act("pre_filter", cycle.pod, much=much, wrong=[1, 2])
        if answer is HUGE:
            return mr.reject(HUGE)
        return _or_none(answer)

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        self.act("add_pod", cycle.pod)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        self.act("remove_pod", cycle.pod)

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Any:
        table = (mr.reject(HUGE),)
        much = Verdicts(np.full(len(nodes), 7, np.int32), table)
        part = lambda: Verdicts(Hostile(), (mr.accept(),))  # type: ignore[arg-type]  # noqa: E731
        answer = self.act("filter_nodes", pod, much=much, part=part)
        if answer is HUGE:
            return [mr.reject(HUGE + node.name) for node in nodes]
        if answer is _NORMAL and pod.labels.get("hook") == "helps" and pod.uid not in self.failed:
            return [mr.reject("not yet")] * len(nodes)
        return _or_none(answer)

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Any:
        victim = mr.Pod.from_dict({"metadata": {"name": "nobody"}})
        made = {"nowhere": Candidate("nowhere", (victim, 3))}  # type: ignore[arg-type]
        much = Preemption(mr.accept(), eligible=True, candidates=made)
        if cycle.pod.labels.get("hook") == "post_filter" and cycle.pod.uid not in self.failed:
            self._forget_a_what_if(cycle)
        answer = self.act("post_filter", cycle.pod, much=much, part=lambda: _strangers(cycle))
        if answer is HUGE:
            return mr.reject(HUGE)
        return mr.reject("not by me") if answer is _NORMAL else answer

    def _forget_a_what_if(self, cycle: Cycle) -> None:
        """Take pods off their node in thought, and never put them back."""
        row = cycle.cluster.columns.row_of[cycle.pod.name]
        for pod in cycle.cluster.pods_on(row):
            self.handle.remove_pod(cycle, pod, row)

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> Any:
        return _or_none(self.act("pre_score", cycle.pod))

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Any:
        part = lambda: [Hostile()] * len(nodes)  # noqa: E731
        answer = self.act("score_nodes", pod, much=np.full(len(nodes) + 1, 7), part=part)
        return np.zeros(len(nodes), np.int64) if answer is _NORMAL else answer

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Any:
        part = lambda: [Hostile()] * len(nodes)  # noqa: E731
        answer = self.act("normalize", cycle.pod, much=np.full(len(nodes), 10**9), part=part)
        return scores if answer is _NORMAL else answer

    def reserve(self, cycle: Cycle, node: Node) -> Any:
        pod, at = cycle.pod, cycle.pod.labels.get("hook")
        if at == "plan":
            much = hook.Plan(
                writes=(hook.Write(verb="patch", kind=mr.Node, key="a", body={}),) * 1001
            )
            part = lambda: hook.Plan(doing=Hostile())  # type: ignore[arg-type]  # noqa: E731
            wrong = hook.Plan(seconds="soon")  # type: ignore[arg-type]
            answer = self.act("plan", pod, much=much, wrong=wrong, part=part)
            return hook.Plan(doing=HUGE) if answer is HUGE else _or_none(answer)
        if at in ("plan.ready", "plan.writes"):
            return hook.Plan(writes=(self._step(pod),), ready=self._ready(pod))
        return _or_none(self.act("reserve", pod, much=[None] * 1000))

    def _step(self, pod: Pod) -> Any:
        wrong = hook.Write(verb="replace", kind=mr.Node, key="a", body={})  # type: ignore[arg-type]
        part = lambda: hook.Write(verb="patch", kind=mr.Node, key="a", body=Hostile())  # type: ignore[arg-type]  # noqa: E731
        return lambda _: _or_none(self.act("plan.writes", pod, wrong=wrong, much=42, part=part))

    def _ready(self, pod: Pod) -> Any:
        def ready(cluster: object) -> Any:
            answer = self.act("plan.ready", pod, much=[True])
            return True if answer is _NORMAL else answer

        return ready

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        self.act("unreserve", cycle.pod)

    def permit(self, cycle: Cycle, node: Node) -> Any:
        pod = cycle.pod
        if pod.labels.get("hook") == "unreserve" and pod.uid not in self.rejected:
            self.rejected.add(pod.uid)
            return "not the first time"
        much = hook.Wait("for ever")  # type: ignore[arg-type]
        part = lambda: hook.Wait(Hostile())  # type: ignore[arg-type]  # noqa: E731
        return _or_none(self.act("permit", pod, much=much, part=part))

    def preempt(self, pod: Pod, node: Node, victims: Sequence[Pod]) -> Any:
        bystander = mr.Pod.from_dict({"metadata": {"name": "bystander", "uid": "b"}})
        answer = self.act("preempt", pod, much=[*victims, bystander], wrong=[1, 2])
        return _or_none(answer)

    def pre_bind_check(self, cycle: Cycle, node: Node) -> Any:
        return _or_none(self.act("pre_bind_check", cycle.pod, much=[hook.SKIP]))

    async def pre_bind(self, binding: mr.Binding) -> Any:
        much = binding.annotate({"x": object()})  # type: ignore[dict-item]
        return _or_none(await self.wait("pre_bind", binding.pod, much=much))

    async def bind(self, binding: mr.Binding) -> Any:
        much = mr.Binding(namespace="other", name="pod", uid="u", node_name="nowhere")
        return _or_none(await self.wait("bind", binding.pod, much=much))

    async def post_bind(self, binding: mr.Binding) -> None:
        await self.wait("post_bind", binding.pod)


class WildSort(hook.QueueSort):
    """Orders the queue, except for pods about ``sort_key``."""

    name = "WildSort"

    def __init__(self, wild: Wild) -> None:
        self._wild = wild

    def sort_key(self, pod: Pod, since: float) -> Any:
        much = (float("nan"),) * 1000
        answer = self._wild.act("sort_key", pod, much=much, part=lambda: (Hostile(),))
        return (-pod.priority, since) if answer is _NORMAL else answer


def wild_policy(wild: Wild) -> mr.Policy:
    """A policy whose plain functions fail in the same way."""
    policy = mr.Policy("wild-policy")

    @policy.filter
    def one_filter(pod: mr.Pod, node: mr.Node) -> Any:
        # Where the stack ends, the state is being read.
        read = lambda: (node.free["example.com/rare"], node.pods)  # noqa: E731
        return _or_none(wild.act("filter.function", pod, much=[True] * 1000, read=read))

    @policy.filter_nodes
    def all_filter(pod: mr.Pod, nodes: mr.Nodes) -> Any:
        read = lambda: (nodes.free["example.com/rare"], nodes.used["cpu"])  # noqa: E731
        part = lambda: [hostile_verdict()] * len(nodes)  # noqa: E731
        answer = wild.act("filter_nodes.function", pod, much=[True] * 1000, part=part, read=read)
        return np.ones(len(nodes), np.bool_) if answer is _NORMAL else answer

    @policy.score
    def one_score(pod: mr.Pod, node: mr.Node) -> Any:
        answer = wild.act("score.function", pod, much=10**9, wrong="good")
        return 0 if answer is _NORMAL else answer

    @policy.score_nodes
    def all_score(pod: mr.Pod, nodes: mr.Nodes) -> Any:
        part = lambda: [Hostile()] * len(nodes)  # noqa: E731
        answer = wild.act("score_nodes.function", pod, much=np.full(1000, 1.0), part=part)
        return np.zeros(len(nodes)) if answer is _NORMAL else answer

    @policy.preempt
    def keep(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> Any:
        bystander = mr.Pod.from_dict({"metadata": {"name": "bystander", "uid": "b"}})
        return _or_none(wild.act("preempt.function", pod, much=[*victims, bystander], wrong=[1]))

    @policy.bind
    def note(binding: mr.Binding) -> Any:
        much = binding.annotate({"x": object()})  # type: ignore[dict-item]
        return _or_none(wild.act("bind.function", binding.pod, much=much))

    policy.add(wild)
    policy.add(WildSort(wild))
    return policy


def _strangers(cycle: Cycle) -> Preemption:
    """Every pod of the cluster as a victim on the pod's own node."""
    rows = range(len(cycle.cluster.columns))
    pods = tuple(pod for row in rows for pod in cycle.cluster.pods_on(row))
    found = {cycle.pod.name: Candidate(cycle.pod.name, pods, Hostile())}  # type: ignore[arg-type]
    return Preemption(mr.accept(), eligible=True, candidates=found)


def _or_none(answer: Any) -> Any:
    return None if answer is _NORMAL else answer


def fail(failure: str) -> None:
    """Go wrong in a way that needs no return."""
    FAILING[failure]()


def _raise() -> None:
    raise OopsError("oops")


def _broken_text() -> None:
    raise BrokenTextError


def _endless_text() -> None:
    raise EndlessTextError


def _plugin_error() -> None:
    raise BrokenPluginError("no", plugin="Wild", hook="x", pod="")


def _foreign_parts() -> None:
    text: Any = EndlessTextError()
    raise mr.PluginError(text, plugin="Wild", hook="x", pod="")


def _hostile_error() -> None:
    raise HostileError


def _odd_text() -> None:
    raise OopsError(OddText("odd \ud800"))


def _hostile_class() -> None:
    raise HostileClassError("oops")


def _hostile_name() -> None:
    raise HostileNameError("oops")


def _close() -> None:
    raise GeneratorExit


def _cancel_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    raise OopsError("oops")


def _spin() -> None:
    while True:
        pass


def _cancel() -> None:
    raise asyncio.CancelledError


def _interrupt() -> None:
    raise KeyboardInterrupt


def _recurse(read: Callable[[], object] = lambda: None) -> None:
    # A collection at the limit would fail in the callbacks that other tests gave the collector.
    gc.disable()
    try:
        _deeper(read)
    finally:
        gc.enable()


def _deeper(read: Callable[[], object]) -> None:
    read()
    _deeper(read)


FAILING: dict[str, Callable[[], object]] = {
    "raises": _raise,
    "broken-text": _broken_text,
    "endless-text": _endless_text,
    "odd-text": _odd_text,
    "cancels-itself": _cancel_itself,
    "plugin-error": _plugin_error,
    "foreign-parts": _foreign_parts,
    "hostile-error": _hostile_error,
    "hostile-class": _hostile_class,
    "hostile-name": _hostile_name,
    "closes": _close,
    "spins": _spin,
    "sleeps": lambda: time.sleep(3600),
    "cancels": _cancel,
    "exits": lambda: sys.exit(3),
    "interrupts": _interrupt,
    "recurses": _recurse,
}
