"""One policy in service: who is decided next, the node cache that feeds it, health.

Exactly one thread, the decision thread, asks the policy and changes the cluster's state. The event
loop only hands it questions and changes, so a policy's functions never run at the same time and see
one state of the cluster from beginning to end. Called by `app`; knows nothing of HTTP.

    informers ──changes──> pending ───────┐
                                          ├──> decision thread: apply changes, then answer
    app ──────question──> turns ──────────┘
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from mooring.errors import InputError
from mooring.extender.answers import Answers
from mooring.extender.async_functions import AsyncFunctions
from mooring.extender.bindings import Bindings
from mooring.extender.decision_thread import DecisionQueue, DecisionThread
from mooring.extender.decision_turn import WaitingCaller
from mooring.extender.decision_turns import TimeLimit, Turns
from mooring.extender.in_progress import InProgress
from mooring.extender.metrics import ExtenderMetrics
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.device_reads import reads_devices
from mooring.kube.client import Client
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.informer import Informer
from mooring.kube.resources import UNFINISHED_PODS, collection_path, reflector_for
from mooring.model.kinds import BY_NAME, KINDS
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.state.devices.cluster_devices import DEVICE_KINDS
from mooring.wording import counted

log = logging.getLogger("mooring.extender")
R = TypeVar("R")

#: How often within the caller's timeout is looked who has waited too long.
_LOOKS: Final = 50
_MOST_SECONDS: Final = 0.1


class ServiceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What is done at once at most, and how long.

    Attributes:
        timeout: the caller's ``httpTimeout`` in seconds; every request is answered before.
        waiting: requests that wait for their turn.
    """

    timeout: float = 5.0
    waiting: int = 256


class ExtenderService:
    """Runs one policy.

    Args:
        policy: the policy to ask.
        config: the cluster to bind in and to watch; None if there is none.
        node_cache: whether to watch the cluster's nodes and pods.
        limits: what is done at once at most, and how long.
        decisions: the decision thread, which whoever made it stops; None makes one, on which no
            function can be interrupted.
        interrupt: what interrupts functions on the decision thread.
    """

    def __init__(
        self,
        policy: Policy,
        config: ClusterConfig | None = None,
        *,
        node_cache: bool = True,
        limits: ServiceLimits | None = None,
        decisions: DecisionQueue | None = None,
        interrupt: TimeLimit | None = None,
    ) -> None:
        limits = limits if limits is not None else ServiceLimits()
        self.metrics = ExtenderMetrics()
        self.timeout = limits.timeout
        self.draining = False
        self._config = config
        cached = config is not None and node_cache
        self._reads_devices = cached and reads_devices(policy)
        self._cluster = (
            Cluster(has_pods=policy.needs_pods, has_devices=self._reads_devices) if cached else None
        )
        self._informers: list[Informer[Any]] = []
        self._pending: deque[list[Any]] = deque()
        self._applying = False
        self._synced = False
        self._decisions = decisions if decisions is not None else DecisionThread()
        self._owns_decisions = decisions is None
        self.turns = Turns(
            self._decisions,
            timeout=limits.timeout,
            limit=limits.waiting,
            before=self._apply,
            clock=_now,
            interrupt=interrupt,
        )
        self.turns.on_stuck = self._on_stuck
        self._functions = AsyncFunctions(_now, limits.timeout)
        self._bindings = Bindings(self.turns, self._functions, self.metrics)
        self._stack = AsyncExitStack()
        self.answers = self._make_answers(policy)

    @property
    def policy(self) -> Policy:
        """The policy in service."""
        return self.answers.policy

    @property
    def stateless(self) -> bool:
        """Whether there is no node cache."""
        return self._cluster is None

    @property
    def synced(self) -> bool:
        """Whether nodes and pods are known; always true without a node cache."""
        return self._cluster is None or self._synced

    def not_ready(self) -> str:
        """Why requests should not come here now; empty when they may."""
        if self.draining:
            return "shutting down"
        if not self.synced:
            problem = next((one.error for one in self._informers if one.error is not None), None)
            return f"the node cache is not synced yet{f': {problem}' if problem else ''}"
        return self.stuck()

    def stuck(self) -> str:
        """Why nothing is decided although it should be; empty when all is well."""
        return self.turns.why_stuck() or self._functions.why_stuck()

    def stuck_for(self) -> float:
        """For how long nothing has been decided; 0 when all is well."""
        return max(self.turns.stuck_for(), self._functions.stuck_for())

    async def __aenter__(self) -> "ExtenderService":
        tasks = [asyncio.create_task(self._keep_looking())]
        if self._config is not None:
            client = await self._stack.enter_async_context(Client(self._config))
            self._bindings.client = client
            self._stack.push_async_callback(self._bindings.stop)
            if self._cluster is not None:
                tasks += [asyncio.create_task(one.run()) for one in self._make_informers(client)]
                tasks.append(asyncio.create_task(self._wait_synced()))
        for task in tasks:
            task.add_done_callback(_report)
        # Before the client is closed that they use.
        self._stack.push_async_callback(_cancel, tasks)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        self._functions.stop()
        if self._owns_decisions:
            self._decisions.stop()

    def replace_policy(self, policy: Policy) -> None:
        """Serve another policy from the next question on; the node cache stays."""
        watched = {one.source.query.path for one in self._informers}
        for name, needed in (("Pod", policy.needs_pods), ("ResourceSlice", reads_devices(policy))):
            kind = BY_NAME[name]
            if self._cluster is not None and needed and collection_path(kind) not in watched:
                what = "pods" if name == "Pod" else "devices"
                log.warning(
                    "the new policy reads %s, which this server does not watch; restart it", what
                )
        self.answers = self._make_answers(policy)

    async def decide(self, work: Callable[[], R], caller: WaitingCaller | None = None) -> R:
        """Do a piece of work on the decision thread, after all changes known now.

        Raises:
            NotDecided: too many wait, it waited too long, or its caller hung up.
        """
        return await self.turns.run(caller if caller is not None else WaitingCaller(_now()), work)

    async def bind(self, body: bytes, caller: WaitingCaller | None = None) -> str:
        """Bind a pod as asked; the sentence why not, empty when it is bound.

        Raises:
            InputError: the request is unreadable or incomplete.
            PolicyError: the policy's function raised, did not return or returned something invalid.
            NotDecided: its turn did not come in time.
        """
        caller = caller if caller is not None else WaitingCaller(_now())
        return await self._bindings.bind(self.answers, body, caller)

    def _make_answers(self, policy: Policy) -> Answers:
        return Answers(
            policy,
            self._cluster,
            clock=time.perf_counter,
            observer=self.metrics,
            is_blamed=self.turns.is_blamed,
        )

    def _on_stuck(self, found: InProgress) -> None:
        self.metrics.failed(found.rule)
        self.metrics.hung(found.rule)

    def _make_informers(self, client: Client) -> list[Informer[Any]]:
        nodes = reflector_for(client, BY_NAME["Node"], Node.from_json)
        self._informers = [Informer(nodes, self._on_changes)]
        if self.policy.needs_pods:
            pods = reflector_for(client, BY_NAME["Pod"], _slim_pod, field_selector=UNFINISHED_PODS)
            self._informers.append(Informer(pods, self._on_changes))
        if self._reads_devices:
            for kind in (one for one in KINDS if one.type in DEVICE_KINDS):
                decode = partial(kind.type.from_json, keep_source=False)
                source = reflector_for(client, kind, decode)
                self._informers.append(Informer(source, self._on_changes, optional=kind.optional))
        return self._informers

    async def _wait_synced(self) -> None:
        for informer in self._informers:
            await informer.synced.wait()
        loop, applied = asyncio.get_running_loop(), asyncio.Event()
        self._decisions.put(self._apply)
        self._decisions.put(partial(_set_event, loop, applied))
        await applied.wait()
        self._synced = True
        cluster = self._cluster
        if cluster is not None:
            nodes, pods = counted(len(cluster.nodes), "node"), counted(cluster.pods, "pod")
            log.info("node cache synced: %s, %s", nodes, pods)

    def _on_changes(self, changes: list[Any]) -> None:
        """Called by informers on the event loop: hand changes over to the decision thread."""
        self._pending.append(changes)
        if not self._applying:
            self._applying = True
            self._decisions.put(self._apply)

    def _apply(self) -> None:
        """On the decision thread: apply what informers have seen so far."""
        self._applying = False
        cluster = self._cluster
        if cluster is None:
            return
        while self._pending:
            for change in self._pending.popleft():
                try:
                    cluster.apply((change,))
                except InputError as error:
                    log.warning("skipped %r: %s", change.object, error)
                except Exception:  # the changes after it are good all the same
                    log.exception("skipped %r: internal error", change.object)

    async def _keep_looking(self) -> None:
        """Answer in time for those whose turn does not come."""
        seconds = min(self.timeout / _LOOKS, _MOST_SECONDS)
        while True:
            await asyncio.sleep(seconds)
            self.turns.check_timeouts()
            self._functions.check_blocked()

    def update_gauges(self) -> None:
        """Bring gauges up to date; called before metrics are read."""
        self.metrics.waiting.set(self.turns.waiting)
        cluster = self._cluster
        if cluster is not None:
            self.metrics.cache_nodes.set(len(cluster.nodes))
            self.metrics.cache_pods.set(cluster.pods)
            self.metrics.cache_synced.set(int(self._synced))
            self.metrics.cache_errors.set(sum(one.counters.errors for one in self._informers))


def _set_event(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    loop.call_soon_threadsafe(event.set)


def _now() -> float:
    return time.monotonic()


def _report(task: asyncio.Task[None]) -> None:
    """A task of ours should end only when it is cancelled."""
    if not task.cancelled() and task.exception() is not None:
        log.error("a task of the server ended unexpectedly", exc_info=task.exception())


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _slim_pod(data: bytes) -> Pod:
    # A cluster has many pods; their full bytes would be most of the memory.
    return Pod.from_json(data, keep_source=False)
