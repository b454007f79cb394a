"""Binding pods for kube-scheduler: the policy's say, then a Binding for the API server.

A pod is counted on its node from the moment the policy agreed, and no more once it is known that it
was not bound after all, whoever waits for the answer by then. An API server that is slow or away
does not keep the caller waiting: it gets an error in time, and what comes of the Binding is found
out later. Called by `ExtenderService`.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from mooring.errors import EscapeError, KubeError, MooringError, PolicyError
from mooring.extender.answers import Answers
from mooring.extender.async_functions import AsyncFunctions, NotFinished
from mooring.extender.decision_turn import WaitingCaller
from mooring.extender.decision_turns import FUNCTION_PART, Turns
from mooring.extender.metrics import ExtenderMetrics
from mooring.framework.binding import Binding
from mooring.framework.verdict import Verdict
from mooring.kube.binding import ENDLESS_PAUSES, create_binding
from mooring.kube.client import Client
from mooring.wording import counted

log = logging.getLogger("mooring.extender")


class Bindings:
    """Binds pods.

    Args:
        turns: who decides next.
        functions: runs the policy's ``async`` functions.
        metrics: what the server counts.
    """

    def __init__(self, turns: Turns, functions: AsyncFunctions, metrics: ExtenderMetrics) -> None:
        self._turns = turns
        self._functions = functions
        self._metrics = metrics
        self._under_way: set[asyncio.Task[str]] = set()
        #: The cluster to bind in, if there is one.
        self.client: Client | None = None

    async def bind(self, answers: Answers, body: bytes, caller: WaitingCaller) -> str:
        """Bind a pod as asked; the sentence why not, empty when it is bound.

        Raises:
            InputError: the request is unreadable or incomplete.
            PolicyError: the policy's function raised, did not return or returned something invalid.
            NotDecided: its turn did not come in time.
        """

        def take_back(prepared: Binding | Verdict) -> None:
            if not isinstance(prepared, Verdict):
                answers.forget(prepared)

        prepared = await self._turns.run(
            caller, lambda: answers.prepare(answers.binding(body)), undo=take_back
        )
        if isinstance(prepared, Verdict):
            return prepared.reason
        doubts: list[KubeError] = []

        def doubt(error: KubeError) -> None:
            doubts.append(error)
            log.info("is pod %s bound to node %s? %s", prepared.key, prepared.node_name, error)

        task = asyncio.create_task(self._finish(answers, prepared, caller, doubt))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await asyncio.wait((task,), timeout=self._turns.answer_within(caller))
        if task.done():
            return task.result()
        task.add_done_callback(_report_late)
        if doubts:
            return (
                f"it is not known yet whether pod {prepared.key} was bound to node "
                f"{prepared.node_name}: {doubts[0]}"
            )
        return (
            f"the API server did not answer the binding of pod {prepared.key} to node "
            f"{prepared.node_name} in time; it may still be bound"
        )

    async def stop(self) -> None:
        """Find out nothing more; before the client is closed."""
        under_way = list(self._under_way)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _finish(
        self,
        answers: Answers,
        binding: Binding,
        caller: WaitingCaller,
        in_doubt: Callable[[KubeError], None],
    ) -> str:
        """Bind a pod that is counted on its node; count it no more if that fails."""
        settle = answers.forget
        try:
            problem = await self._bind_prepared(answers, binding, caller, in_doubt)
            if not problem:
                settle = answers.confirm
        finally:
            self._turns.run_later(partial(settle, binding))
        return problem

    async def _bind_prepared(
        self,
        answers: Answers,
        binding: Binding,
        caller: WaitingCaller,
        in_doubt: Callable[[KubeError], None],
    ) -> str:
        prepared = await self._wait_for_policy(answers, binding, caller)
        if isinstance(prepared, Verdict):
            return prepared.reason
        if prepared is not binding:
            self._turns.run_later(partial(answers.annotate, prepared))
        if self.client is None:
            return (
                "this server has no cluster to bind pods in: start it with --kubeconfig FILE "
                "or inside the cluster"
            )
        try:
            await create_binding(self.client, prepared, pauses=ENDLESS_PAUSES, in_doubt=in_doubt)
        except KubeError as error:
            self._metrics.errors.labels("bind", "cluster").inc()
            return str(error)
        log.info("bound pod %s to node %s", prepared.key, prepared.node_name)
        return ""

    async def _wait_for_policy(
        self, answers: Answers, binding: Binding, caller: WaitingCaller
    ) -> Binding | Verdict:
        rule = next((one for one in answers.policy.binds if one.is_async), None)
        if rule is None:
            return binding
        left = self._turns.functions_within(caller)
        try:
            prepare = partial(answers.prepare_async, binding)
            return await self._functions.run(binding.key, prepare, left)
        except NotFinished as error:
            self._metrics.hung(rule)
            most = counted(FUNCTION_PART * self._turns.timeout, "second")
            kind = "hung"
            failed = EscapeError(f"it had not finished {most} after the request came")
            failed.__traceback__ = error.where
        except EscapeError as error:
            kind, failed = "", error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            kind, failed = "cancelled", EscapeError("it was cancelled")
        self._metrics.failed(rule)
        try:
            rule.fail(failed, binding.node_name)
        except PolicyError as error:
            error.pod, error.kind = binding.key, kind or error.kind
            raise


def _report_late(task: asyncio.Task[str]) -> None:
    """Whoever asked for this binding has an answer already; the log tells what came of it."""
    if task.cancelled():
        return
    error = task.exception()
    problem = str(error) if isinstance(error, MooringError) else task.result() if not error else ""
    if problem or error is not None:
        log.warning("a binding that took too long failed: %s", problem or repr(error))
