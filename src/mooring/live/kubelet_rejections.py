"""Pods of ours that a kubelet rejected, such as with ``OutOfcpu``.

That happens when two schedulers use the same nodes, or a node has less room than it says. The pods'
informer leaves finished pods out, so the failed ones have a watch of their own; only those that
fail from now on are looked at, and none is kept.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Final, NoReturn

import msgspec

from mooring.errors import KubeError
from mooring.kube.client import Client
from mooring.kube.reflector import REAL_TIME, WATCH_SECONDS, Pacing
from mooring.kube.watch_protocol import LineSplitter, WatchState, decode_line, decode_page

log = logging.getLogger("mooring.live")

_PATH: Final = "/api/v1/pods"
_FAILED: Final = "status.phase=Failed"
#: What a kubelet's message begins with.
# parity v1.36.4: pkg/kubelet/kubelet.go rejectPod
_REJECTED: Final = "Pod was rejected"
#: So many pods are remembered, to count each once however often it changes.
_REMEMBERED: Final = 10_000


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    scheduler_name: str = ""
    node_name: str = ""


class _Status(msgspec.Struct):
    reason: str = ""
    message: str = ""


class FailedPod(msgspec.Struct):
    """What is read of a pod that failed."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def rejected(self) -> bool:
        """Whether a kubelet rejected it."""
        return self.status.message.startswith(_REJECTED)


_decode = msgspec.json.Decoder(FailedPod).decode


class KubeletRejections:
    """Watches for pods that kubelets reject.

    Args:
        client: the API server.
        schedulers: the scheduler names of our profiles.
        rejected: called with the kubelet's reason, once for each pod.
        pacing: where time and chance come from.
    """

    def __init__(
        self,
        client: Client,
        schedulers: Collection[str],
        rejected: Callable[[str], None],
        *,
        pacing: Pacing = REAL_TIME,
    ) -> None:
        self._client = client
        self._schedulers = schedulers
        self._rejected = rejected
        self._pacing = pacing
        self._state = WatchState(pacing.random)
        self._seen: OrderedDict[str, None] = OrderedDict()

    async def run(self) -> NoReturn:
        """Watch until cancelled; what goes wrong is tried again and costs only the count."""
        while True:
            began = self._pacing.clock()
            try:
                if not self._state.resource_version:
                    await self._begin()
                silent = await self._watch()
                pause = self._state.ended(self._pacing.clock() - began, silent=silent)
            except (KubeError, msgspec.MsgspecError, UnicodeDecodeError) as error:
                log.debug("watching failed pods failed, retrying: %s", error)
                # A version that cannot be watched from, or something that is not understood.
                self._state.resource_version = ""
                pause = self._state.failed(self._pacing.clock() - began)
            if pause:
                await self._pacing.sleep(pause)

    async def _begin(self) -> None:
        """Learn from which version to watch; the pods that failed before do not matter."""
        params: dict[str, str | int] = {"fieldSelector": _FAILED, "limit": 1}
        page = decode_page(await self._client.request("GET", _PATH, params=params))
        self._state.listed(page.metadata.resource_version)

    async def _watch(self) -> bool:
        params: dict[str, str | int] = {
            "fieldSelector": _FAILED,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._state.resource_version,
            "timeoutSeconds": int(WATCH_SECONDS * (1 + self._pacing.random())),
        }
        splitter = LineSplitter()
        silent = True
        async with self._client.stream(_PATH, params) as chunks:
            async for chunk in chunks:
                for line in splitter.feed(chunk):
                    silent = False
                    self._on_event(line)
        return silent

    def _on_event(self, line: bytes) -> None:
        event = decode_line(line)
        if event.type == "ERROR":
            raise KubeError("The watch of failed pods ended.")
        pod = _decode(event.object)
        self._state.seen(pod.metadata.resource_version)
        if event.type not in ("ADDED", "MODIFIED") or not pod.rejected:
            return
        if pod.spec.scheduler_name not in self._schedulers or pod.metadata.uid in self._seen:
            return
        self._seen[pod.metadata.uid] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        self._rejected(pod.status.reason)
        log.warning(
            "the kubelet of node %s rejected pod %s/%s: %s",
            pod.spec.node_name, pod.metadata.namespace, pod.metadata.name, pod.status.reason,
        )  # fmt: skip
