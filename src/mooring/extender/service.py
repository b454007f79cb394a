"""One policy in service: the thread that decides, the node cache that feeds it, readiness.

Exactly one thread, the decision thread, asks the policy and changes the cluster's state. The event
loop only hands it questions and changes, so a policy's functions never run at the same time and see
one state of the cluster from beginning to end. Called by `app`; knows nothing of HTTP.

    informers ──changes──> pending ──┐
                                     ├──> decision thread: apply changes, then answer
    app ──────────question───────────┘
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, ParamSpec, TypeVar

from mooring.errors import ApiError, InputError, KubeError, MooringError
from mooring.extender.answers import Answers
from mooring.extender.decision_thread import DecisionThread
from mooring.extender.metrics import Metrics
from mooring.framework.binding import Binding
from mooring.framework.policy import Policy
from mooring.framework.verdict import Verdict
from mooring.kube.client import Client, api_path
from mooring.kube.cluster import ClusterConfig
from mooring.kube.informer import Informer
from mooring.kube.resources import UNFINISHED_PODS, list_watch
from mooring.model.kinds import BY_NAME
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.extender")
P = ParamSpec("P")
R = TypeVar("R")


class Late(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    """A request waited so long for its turn that the caller has given up."""


class Service:
    """Runs one policy.

    Args:
        policy: the policy to ask.
        config: the cluster to bind in and to watch; None if there is none.
        node_cache: whether to watch the cluster's nodes and pods.
        timeout: the caller's ``httpTimeout`` in seconds; what waited longer is not answered.
    """

    def __init__(
        self,
        policy: Policy,
        config: ClusterConfig | None = None,
        *,
        node_cache: bool = True,
        timeout: float = 5.0,
    ) -> None:
        self.metrics = Metrics()
        self.timeout = timeout
        self.draining = False
        self._config = config
        cached = config is not None and node_cache
        self._cluster = Cluster(has_pods=policy.needs_pods) if cached else None
        self._client: Client | None = None
        self._informers: list[Informer[Any]] = []
        self._pending: deque[list[Any]] = deque()
        self._applying = False
        self._synced = False
        self._busy_since: float | None = None
        self._thread = DecisionThread()
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
        return ""

    def stuck(self, limit: float) -> bool:
        """Whether one question has kept the decision thread for longer than the limit."""
        since = self._busy_since
        return since is not None and time.monotonic() - since > limit

    async def __aenter__(self) -> "Service":
        if self._config is not None:
            client = await self._stack.enter_async_context(Client(self._config))
            self._client = client
            if self._cluster is None:
                return self
            tasks = [asyncio.create_task(one.run()) for one in self._make_informers(client)]
            tasks.append(asyncio.create_task(self._wait_synced()))
            for task in tasks:
                task.add_done_callback(_report)
            self._stack.push_async_callback(_cancel, tasks)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        self._thread.shutdown()

    def replace_policy(self, policy: Policy) -> None:
        """Serve another policy from the next question on; the node cache stays."""
        if self._cluster is not None and policy.needs_pods and len(self._informers) < 2:
            log.warning("the new policy reads pods, which are not watched; restart the server")
        self.answers = self._make_answers(policy)

    async def decide(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function on the decision thread, after all changes known now.

        Raises:
            Late: it waited for its turn longer than the caller waits for the answer.
        """
        asked = time.monotonic()

        def turn() -> R:
            start = time.monotonic()
            if start - asked > self.timeout:
                raise Late(
                    f"the request waited {start - asked:.1f} s for its turn, longer than the "
                    f"caller's timeout of {self.timeout:g} s"
                )
            self._busy_since = start
            try:
                self._apply()
                return function(*args, **kwargs)
            finally:
                self._busy_since = None

        return await asyncio.get_running_loop().run_in_executor(self._thread, turn)

    async def bind(self, body: bytes) -> str:
        """Bind a pod as asked; the sentence why not, empty when it is bound.

        Raises:
            InputError: the request is unreadable or incomplete.
            PolicyError: the policy's function raised or returned something illegal.
        """
        answers = self.answers
        prepared = await self.decide(lambda: answers.prepare(answers.binding(body)))
        if isinstance(prepared, Verdict):
            return prepared.reason
        bound = False
        try:
            problem = await self._finish(answers, prepared)
            bound = not problem
        finally:
            if not bound:
                await self._forget(answers, prepared)
        return problem

    async def _finish(self, answers: Answers, binding: Binding) -> str:
        """Bind a pod that is counted on its node already."""
        prepared = await answers.prepare_async(binding)
        if isinstance(prepared, Verdict):
            return prepared.reason
        if prepared is not binding:
            await self.decide(answers.assume, prepared)
        if self._client is None:
            return (
                "this server has no cluster to bind in: "
                "start it with --kubeconfig FILE or inside the cluster"
            )
        try:
            await self._create_binding(self._client, prepared)
        except KubeError as error:
            self.metrics.errors.labels("bind", "cluster").inc()
            return str(error)
        log.info("bound pod %s to node %s", prepared.key, prepared.node_name)
        return ""

    async def _forget(self, answers: Answers, binding: Binding) -> None:
        # Not through `decide`: taking an assumption back must happen however late it is.
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, answers.forget, binding)

    async def _create_binding(self, client: Client, binding: Binding) -> None:
        try:
            await client.bind(
                binding.namespace,
                binding.name,
                binding.uid or None,
                binding.node_name,
                dict(binding.annotations),
            )
        except ApiError as error:
            # A caller that timed out asks again for what already happened.
            if error.status != 409 or not await self._is_bound(client, binding):
                raise

    async def _is_bound(self, client: Client, binding: Binding) -> bool:
        path = api_path("api", "v1", "namespaces", binding.namespace, "pods", binding.name)
        pod = await client.get(path, Pod)
        return pod.node_name == binding.node_name and binding.uid in ("", pod.uid)

    def _make_answers(self, policy: Policy) -> Answers:
        return Answers(policy, self._cluster, clock=time.perf_counter, observer=self.metrics)

    def _make_informers(self, client: Client) -> list[Informer[Any]]:
        nodes = list_watch(client, BY_NAME["Node"], Node.from_json)
        self._informers = [Informer(nodes, self._take)]
        if self.policy.needs_pods:
            pods = list_watch(client, BY_NAME["Pod"], _slim_pod, field_selector=UNFINISHED_PODS)
            self._informers.append(Informer(pods, self._take))
        return self._informers

    async def _wait_synced(self) -> None:
        for informer in self._informers:
            await informer.synced.wait()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._apply)
        self._synced = True
        cluster = self._cluster
        if cluster is not None:
            log.info("node cache synced: %d nodes, %d pods", len(cluster.nodes), cluster.pods)

    def _take(self, changes: list[Any]) -> None:
        """Called by informers on the event loop: hand changes over to the decision thread."""
        self._pending.append(changes)
        if not self._applying:
            self._applying = True
            self._thread.submit(self._apply)

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

    def update_gauges(self) -> None:
        """Bring the node cache's gauges up to date; called before metrics are read."""
        cluster = self._cluster
        if cluster is not None:
            self.metrics.cache_nodes.set(len(cluster.nodes))
            self.metrics.cache_pods.set(cluster.pods)
            self.metrics.cache_synced.set(int(self._synced))
            self.metrics.cache_errors.set(sum(one.counters.errors for one in self._informers))


def _report(task: asyncio.Task[None]) -> None:
    """A task of the node cache should end only when it is cancelled."""
    if not task.cancelled() and task.exception() is not None:
        log.error("the node cache stopped", exc_info=task.exception())


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _slim_pod(data: bytes) -> Pod:
    # A cluster has many pods; their full bytes would be most of the memory.
    return Pod.from_json(data, keep_source=False)
