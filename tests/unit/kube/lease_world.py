"""A Lease on an API server with moods, and those who want to lead, in a time that tests move."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from mooring.errors import ApiError, KubeError
from mooring.kube.leader import LeaderElector
from mooring.kube.lease import LeaseSettings
from tests.unit.kube.virtual_time import VirtualTime

T = TypeVar("T")

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
COLLECTION = PATH.rpartition("/")[0]
HOLD = LeaseSettings().hold_seconds


class DownError(KubeError):
    pass


@dataclass
class LeaseServer:
    """One Lease behind a network with moods.

    Attributes:
        lease: what is stored.
        latency: how long a request takes to arrive, and its answer to come back.
        down: every request fails at once.
        mood: what happens to the next request: None, ``lost`` (never arrives), ``unheard`` (is
            done, but the answer is lost), ``hangs`` (never arrives, nobody says so), ``mute``
            (is done, nobody says so); the rest is done as asked.
        requests: methods so far.
    """

    time: VirtualTime
    lease: dict[str, Any] | None = None
    latency: float = 0.0
    down: bool = False
    mood: Callable[[], str | None] = lambda: None
    requests: list[str] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    version: int = 0

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        found: dict[str, Any] = self.lease["spec"]
        return found

    def found(self) -> dict[str, Any]:
        if self.lease is None:
            raise ApiError("not found", status=404, reason="NotFound")
        return self.lease

    def create(self, body: object) -> dict[str, Any]:
        if self.lease is not None:
            raise ApiError("exists", status=409, reason="AlreadyExists")
        return self._store(body)

    def replace(self, body: object) -> dict[str, Any]:
        new = msgspec.to_builtins(body)
        if new["metadata"].get("resourceVersion") != self.found()["metadata"]["resourceVersion"]:
            raise ApiError("changed", status=409, reason="Conflict")
        return self._store(body)

    def _store(self, body: object) -> dict[str, Any]:
        self.version += 1
        new: dict[str, Any] = msgspec.to_builtins(body)
        assert new["apiVersion"] == "coordination.k8s.io/v1"
        assert new["kind"] == "Lease"
        for name in ("acquireTime", "renewTime"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", new["spec"][name])
        new["metadata"]["resourceVersion"] = str(self.version)
        self.lease = new
        return new

    def edit(self, **spec: object) -> None:
        """Somebody changes the Lease by hand."""
        self.version += 1
        assert self.lease is not None
        self.lease = {
            "metadata": {**self.lease["metadata"], "resourceVersion": str(self.version)},
            "spec": {**self.spec, **spec},
        }


@dataclass
class Line:
    """One elector's way to the server, which may be cut while others are not.

    Attributes:
        cut: every request over it hangs.
    """

    server: LeaseServer
    cut: bool = False

    async def get(self, path: str, type_: type[T], *, seconds: float | None = None) -> T:
        assert path == PATH
        return await self._send("GET", self.server.found, type_, seconds)

    async def create(
        self, path: str, body: object, type_: type[T], *, seconds: float | None = None
    ) -> T:
        assert path == COLLECTION
        return await self._send("POST", lambda: self.server.create(body), type_, seconds)

    async def replace(
        self, path: str, body: object, type_: type[T], *, seconds: float | None = None
    ) -> T:
        assert path == PATH
        return await self._send("PUT", lambda: self.server.replace(body), type_, seconds)

    async def _send(
        self,
        method: str,
        act: Callable[[], dict[str, Any]],
        type_: type[T],
        seconds: float | None,
    ) -> T:
        server = self.server
        server.requests.append(method)
        assert seconds is not None
        assert seconds > 0
        server.limits.append(seconds)
        if server.down:
            raise DownError("The API server cannot be reached.")
        mood = server.mood()
        if mood == "hangs" or self.cut:
            await asyncio.Event().wait()
        if server.latency:
            await server.time.sleep(server.latency)
        if mood == "lost":
            raise DownError("The connection broke.")
        answer = msgspec.json.encode(act())
        if mood == "mute":
            await asyncio.Event().wait()
        if server.latency:
            await server.time.sleep(server.latency)
        if mood == "unheard":
            raise DownError("The connection broke.")
        return msgspec.json.decode(answer, type=type_)


@dataclass
class World:
    """Electors on one Lease, and the rule that never may two lead."""

    time: VirtualTime = field(default_factory=VirtualTime)
    electors: list[LeaderElector] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    lines: dict[str, Line] = field(default_factory=dict)
    server: LeaseServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = LeaseServer(self.time)
        self.time.on_step = self.check

    def check(self) -> None:
        assert sum(one.leading for one in self.electors) <= 1
        for one in self.electors:
            assert not (one.leading and one.lost.is_set())

    def elector(self, identity: str, **clock: Any) -> LeaderElector:
        line = self.lines[identity] = Line(self.server)
        made = LeaderElector(
            line,
            LeaseSettings(),
            identity,
            on_new_leader=lambda leader: self.seen.append(f"{identity} sees {leader}"),
            pacing=self.time.pacing(**clock),
            now_ns=lambda: self.time.now_ns() + int(clock.get("offset", 0) * 1e9),
        )
        self.electors.append(made)
        return made

    def start(self, identity: str, **clock: Any) -> LeaderElector:
        made = self.elector(identity, **clock)
        self.tasks.append(asyncio.create_task(made.acquire()))
        return made

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        for one in self.electors:
            one._stop()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.sleep(0)


def leads(one: LeaderElector) -> bool:
    return one.leading


def run(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        world = World()
        try:
            await story(world)
        finally:
            await world.end()

    asyncio.run(main())
