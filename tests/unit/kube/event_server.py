"""A server of events, and who records events there, in a time that the test moves."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mooring.errors import ApiError, KubeError
from mooring.kube.event_body import (
    ObjectReference,
    reference,
)
from mooring.kube.event_queue import EventLimits
from mooring.kube.events import EventRecorder
from mooring.model.pod import Pod
from tests.unit.kube.virtual_time import VirtualTime

POD = Pod.from_dict(
    {"metadata": {"name": "web-0", "namespace": "shop", "uid": "u-1", "resourceVersion": "42"}}
)
WEB = reference(POD)
EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"


@dataclass
class EventServer:
    """Keeps events, and answers the next requests as told.

    Attributes:
        answers: for each of the next requests an error, None to do as asked, or ``unheard`` to do
            it and break the connection.
        gate: requests wait for it.
        busy: how many wait now; most: how many ever did at once.
    """

    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    answers: list[KubeError | str | None] = field(default_factory=list)
    always: KubeError | None = None
    gate: asyncio.Event | None = None
    busy: int = 0
    most: int = 0

    async def request(
        self, method: str, path: str, *, body: object = None, content_type: str = "application/json"
    ) -> bytes:
        assert isinstance(body, bytes)
        content = msgspec.json.decode(body)
        self.requests.append((method, path, content))
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            if self.gate is not None:
                await self.gate.wait()
            return self._answer(method, path, content, content_type)
        finally:
            self.busy -= 1

    def _answer(self, method: str, path: str, content: dict[str, Any], content_type: str) -> bytes:
        answer = self.answers.pop(0) if self.answers else self.always
        if isinstance(answer, KubeError):
            raise answer
        if method == "POST":
            assert content_type == "application/json"
            name = f"{path}/{content['metadata']['name']}"
            if name in self.events:
                raise ApiError("exists", status=409, reason="AlreadyExists")
            self.events[name] = content
        else:
            assert content_type == "application/strategic-merge-patch+json"
            if path not in self.events:
                raise ApiError("not found", status=404, reason="NotFound")
            self.events[path] |= content
        if answer == "unheard":
            raise KubeError("The connection broke.")
        return b"{}"

    @property
    def methods(self) -> list[str]:
        return [method for method, _, _ in self.requests]


@dataclass
class Desk:
    """A recorder at work."""

    server: EventServer
    time: VirtualTime
    recorder: EventRecorder

    def fail(self, note: str = "0/3 nodes are available.", about: ObjectReference = WEB) -> None:
        self.recorder.record(about, None, "Warning", "FailedScheduling", "Scheduling", note)

    @property
    def event(self) -> dict[str, Any]:
        (one,) = self.server.events.values()
        return one


def run(story: Callable[[Desk], Coroutine[Any, Any, None]], **limits: int) -> None:
    async def main() -> None:
        server, time = EventServer(), VirtualTime(now=1_700_000_000.25)
        recorder = EventRecorder(
            server,
            "my-scheduler",
            "my-scheduler-host",
            limits=EventLimits(**limits),
            pacing=time.pacing(),
            now_ns=time.now_ns,
        )
        async with recorder:
            await story(Desk(server, time, recorder))

    asyncio.run(main())
