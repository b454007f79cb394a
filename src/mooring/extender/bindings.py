"""Binding pods for kube-scheduler: the policy's say, then a Binding for the API server.

A pod is counted on its node from the moment the policy agreed, and no more if it was not bound
after all, whoever waits for the answer by then. An API server that is slow does not keep the caller
waiting: it gets an error in time, and what comes of the Binding is taken note of later. Called by
`Service`.
"""

import asyncio
import logging

from mooring.errors import ApiError, KubeError, MooringError, PolicyError
from mooring.extender.answers import Answers
from mooring.extender.metrics import Metrics
from mooring.extender.turn import Caller
from mooring.extender.turns import Turns
from mooring.extender.waiting_functions import WaitingFunctions
from mooring.framework.binding import Binding
from mooring.framework.verdict import Verdict
from mooring.kube.client import Client, api_path
from mooring.model.pod import Pod

log = logging.getLogger("mooring.extender")


class Bindings:
    """Binds pods.

    Args:
        turns: who decides next.
        functions: runs the policy's ``async`` functions.
        metrics: what the server counts.
    """

    def __init__(self, turns: Turns, functions: WaitingFunctions, metrics: Metrics) -> None:
        self._turns = turns
        self._functions = functions
        self._metrics = metrics
        self._under_way: set[asyncio.Task[str]] = set()
        #: The cluster to bind in, if there is one.
        self.client: Client | None = None

    async def bind(self, answers: Answers, body: bytes, caller: Caller) -> str:
        """Bind a pod as asked; the sentence why not, empty when it is bound.

        Raises:
            InputError: the request is unreadable or incomplete.
            PolicyError: the policy's function raised, did not return or returned something illegal.
            NotDecided: its turn did not come in time.
        """

        def take_back(prepared: Binding | Verdict) -> None:
            if not isinstance(prepared, Verdict):
                answers.forget(prepared)

        prepared = await self._turns.take(
            caller, lambda: answers.prepare(answers.binding(body)), undo=take_back
        )
        if isinstance(prepared, Verdict):
            return prepared.reason
        task = asyncio.create_task(self._finish(answers, prepared, caller))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await asyncio.wait((task,), timeout=self._turns.answer_within(caller))
        if task.done():
            return task.result()
        task.add_done_callback(_report_late)
        return (
            f"the API server has not answered the Binding of pod {prepared.key} to node "
            f"{prepared.node_name} in time; it may still be bound"
        )

    async def _finish(self, answers: Answers, binding: Binding, caller: Caller) -> str:
        """Bind a pod that is counted on its node; count it no more if that fails."""
        bound = False
        try:
            problem = await self._bind_prepared(answers, binding, caller)
            bound = not problem
        finally:
            if not bound:
                self._turns.later(lambda: answers.forget(binding))
        return problem

    async def _bind_prepared(self, answers: Answers, binding: Binding, caller: Caller) -> str:
        prepared = await self._wait_for_policy(answers, binding, caller)
        if isinstance(prepared, Verdict):
            return prepared.reason
        if prepared is not binding:
            counted = prepared
            self._turns.later(lambda: answers.assume(counted))
        if self.client is None:
            return (
                "this server has no cluster to bind in: "
                "start it with --kubeconfig FILE or inside the cluster"
            )
        try:
            await _create(self.client, prepared)
        except KubeError as error:
            self._metrics.errors.labels("bind", "cluster").inc()
            return str(error)
        log.info("bound pod %s to node %s", prepared.key, prepared.node_name)
        return ""

    async def _wait_for_policy(
        self, answers: Answers, binding: Binding, caller: Caller
    ) -> Binding | Verdict:
        rule = next((one for one in answers.policy.binds if one.is_async), None)
        if rule is None:
            return binding
        left = self._turns.functions_within(caller)
        try:
            return await self._functions.run(answers.prepare_async(binding), left)
        except TimeoutError:
            self._metrics.hung(rule)
            why = f"it did not return within {left:.3g} seconds"
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            why = "it was cancelled"
        raise PolicyError(
            f"{rule.kind} {rule.name!r} failed on node {binding.node_name}: {why}",
            function=rule.name,
            node=binding.node_name,
        )


async def _create(client: Client, binding: Binding) -> None:
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
        if error.status != 409 or not await _is_bound(client, binding):
            raise


async def _is_bound(client: Client, binding: Binding) -> bool:
    path = api_path("api", "v1", "namespaces", binding.namespace, "pods", binding.name)
    pod = await client.get(path, Pod)
    return pod.node_name == binding.node_name and binding.uid in ("", pod.uid)


def _report_late(task: asyncio.Task[str]) -> None:
    """Whoever asked for this binding has an answer already; the log tells what came of it."""
    if task.cancelled():
        return
    error = task.exception()
    problem = str(error) if isinstance(error, MooringError) else task.result() if not error else ""
    if problem or error is not None:
        log.warning("a Binding that took too long failed: %s", problem or repr(error))
