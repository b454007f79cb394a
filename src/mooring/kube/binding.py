"""Creating a Binding and finding out what came of it, whatever becomes of the answer.

    Binding ──> yes ─────────────────────────────────────────────────> bound
            ├─> a clear no, or nothing was sent ─────────────────────> not bound
            └─> no answer, 5xx, 408, 409: the pod is read ─┬─> bound here: bound
                until the API server says                  └─> gone, elsewhere, nowhere: not

Whoever binds pods calls it; it counts and reports nothing itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import Final, Protocol

from mooring.errors import ApiError, ConfigError, KubeError
from mooring.kube.client import Client, api_path
from mooring.kube.status import failed_to_connect
from mooring.model.pod import Pod

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
#: A proxy gave up waiting; what it sent on may be under way.
_TIMED_OUT: Final = 408
_SERVER_ERROR: Final = 500
#: A request whose answer did not come has taken effect after so long, if ever; most likely.
_UNDER_WAY_SECONDS: Final = 0.2
#: Pauses between questions to an API server that is away: about a minute in all.
AWAY_SECONDS: Final = (0.2, 0.5, 1.0, *(2.0,) * 30)


class EndlessPauses:
    """The same pauses, and longer ones after them for as long as it takes; each time anew."""

    def __iter__(self) -> Iterator[float]:
        return chain(AWAY_SECONDS, repeat(5.0))


ENDLESS_PAUSES: Final = EndlessPauses()


class PodBinding(Protocol):
    """The pod, and the node it goes to."""

    @property
    def namespace(self) -> str:
        """The pod's."""

    @property
    def name(self) -> str:
        """The pod's."""

    @property
    def uid(self) -> str:
        """The pod's; empty if any pod of that name will do."""

    @property
    def node_name(self) -> str:
        """Where it goes."""

    @property
    def annotations(self) -> Mapping[str, str]:
        """What the pod gets with the binding."""


async def create_binding(
    client: Client,
    wanted: PodBinding,
    *,
    pauses: Iterable[float] = AWAY_SECONDS,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    in_doubt: Callable[[KubeError], None] = lambda _: None,
) -> None:
    """Bind a pod to a node; returns when it is bound there.

    While it is in doubt the pod should keep its place: another pod might be bound to it otherwise.

    Args:
        client: the API server.
        wanted: the pod and the node.
        pauses: how long to wait between questions that nobody answers, in seconds.
        sleep: waits for an API server that is away.
        in_doubt: called with why it is not known yet whether the pod is bound, if that happens.

    Raises:
        KubeError: the pod is not bound to the node; or nobody answered until the pauses ended.
    """
    try:
        await client.bind(
            wanted.namespace,
            wanted.name,
            wanted.uid or None,
            wanted.node_name,
            dict(wanted.annotations),
        )
    except KubeError as error:
        if _is_clear(error):
            raise
        in_doubt(error)
        if not _is_conflict(error):
            # The request may still be under way: who reads at once may see what was before it.
            await sleep(_UNDER_WAY_SECONDS)
        if not await _took_effect(client, wanted, pauses, sleep):
            raise


async def _took_effect(
    client: Client,
    wanted: PodBinding,
    pauses: Iterable[float],
    sleep: Callable[[float], Awaitable[object]],
) -> bool:
    for pause in pauses:
        try:
            return await _is_bound(client, wanted)
        except KubeError:
            # Even a 403 is no answer: an API server that has just begun gives it to everybody.
            await sleep(pause)
    return await _is_bound(client, wanted)


async def _is_bound(client: Client, wanted: PodBinding) -> bool:
    path = api_path("api", "v1", "namespaces", wanted.namespace, "pods", wanted.name)
    try:
        found = await client.get(path, Pod)
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return False
        raise
    return wanted.uid in ("", found.uid) and found.node_name == wanted.node_name


def _is_conflict(error: KubeError) -> bool:
    return isinstance(error, ApiError) and error.status == _CONFLICT


def _is_clear(error: KubeError) -> bool:
    """Whether nothing was bound without doubt: the API server said no, or was never asked."""
    if isinstance(error, ApiError):
        return error.status < _SERVER_ERROR and error.status not in (_CONFLICT, _TIMED_OUT)
    return isinstance(error, ConfigError) or failed_to_connect(error) is not None
