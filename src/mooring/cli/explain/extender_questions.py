"""Asking the configuration's extenders in the middle of a decision that is explained.

``moor explain --ask-extenders`` calls it. The decision is the scheduler's own; it stops where
extenders have to be asked and goes on with their answer, as in ``moor run``.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mooring.config.types import Extender
from mooring.errors import InputError
from mooring.extender.client import ExtenderClients, ExtenderError, open_session
from mooring.framework.decisions.decision import AskExtenders
from mooring.framework.decisions.recording import recording

if TYPE_CHECKING:
    from mooring.explaining.explainer import Decide
    from mooring.framework.decisions.record import Record
    from mooring.framework.runtime import Runtime
    from mooring.model.pod import Pod


def asking(extenders: Sequence[Extender]) -> "Decide":
    """Decides with these extenders.

    Args:
        extenders: as the configuration has them.
    """

    def decide(runtime: "Runtime", pod: "Pod") -> "Record":
        try:
            return asyncio.run(_decide(runtime, pod, extenders))
        except ExtenderError as error:
            raise InputError(f"{error}; omit --ask-extenders to explain without it") from error

    return decide


async def _decide(runtime: "Runtime", pod: "Pod", extenders: Sequence[Extender]) -> "Record":
    async with open_session() as http:
        clients = ExtenderClients(extenders, http)
        cycle = recording(runtime, pod, extended=clients.interested(pod))
        try:
            ask = next(cycle)
            while True:
                ask = cycle.send(await _answer(ask, clients, runtime))
        except StopIteration as stop:
            record: Record = stop.value
            return record


async def _answer(ask: AskExtenders, clients: ExtenderClients, runtime: "Runtime") -> Any:
    nodes = runtime.cluster.nodes
    if ask.verb == "filter":
        return await clients.filter(ask.pod, [nodes[name] for name in ask.nodes])
    if ask.verb == "prioritize":
        return await clients.prioritize(ask.pod, [nodes[name] for name in ask.nodes])
    return await clients.preempt(ask.pod, ask.victims, nodes)
