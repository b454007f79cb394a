"""What the tests here share: a thing to watch, somebody who listens, a time that flies."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from mooring.kube.client import Client
from mooring.kube.informer import Informer
from mooring.kube.reflector import Pacing, Reflector, ReflectorQuery
from mooring.kube.watch_protocol import ObjectIdentity
from mooring.model.change import Change, Put
from tests.unit.kube.fake_api import PATH, FakeApi


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str
    uid: str
    resource_version: str


class Thing(msgspec.Struct, frozen=True):
    metadata: Meta
    value: int = 0


make = msgspec.json.Decoder(Thing).decode


def identity(thing: Thing) -> ObjectIdentity:
    meta = thing.metadata
    return ObjectIdentity(meta.namespace, meta.name, meta.uid, meta.resource_version)


@dataclass
class Listener:
    """Takes an informer's changes, and checks them as they come.

    Attributes:
        view: the objects, as the changes alone say.
        batches: the changes of each call.
        pauses: the back-off's pauses; nobody really waits for them.
        forgives: an object that is gone may come back in an older version, as from a backup.
    """

    bell: asyncio.Event
    view: dict[str, Thing] = field(default_factory=dict)
    batches: list[list[Change[Thing]]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    time: float = 0.0
    forgives: bool = False
    versions: dict[str, int] = field(default_factory=dict)
    idlers: list[tuple[float, asyncio.Future[None]]] = field(default_factory=list)

    def on_changes(self, changes: list[Change[Thing]]) -> None:
        assert changes
        self.batches.append(changes)
        for change in changes:
            name = change.object.metadata.name
            if isinstance(change, Put):
                version = int(change.object.metadata.resource_version)
                assert version > self.versions.get(name, 0), "told twice, or going back in time"
                self.versions[name] = version
                self.view[name] = change.object
            else:
                del self.view[name]
                if self.forgives:
                    del self.versions[name]
        self.bell.set()

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds
        self.bell.set()
        await asyncio.sleep(0)

    async def idle(self, seconds: float) -> None:
        """Wait beside a watch until the time comes, which `pass_by` brings."""
        waker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = (self.time + seconds, waker)
        self.idlers.append(waiting)
        self.bell.set()
        try:
            await waker
        finally:  # the watch may have ended meanwhile
            self.idlers.remove(waiting)

    async def pass_by(self, seconds: float) -> None:
        """Let time pass for those who wait beside a watch; one of them waits already, or soon."""
        end = self.time + seconds
        await self.until(lambda: any(not waker.done() for _, waker in self.idlers))
        while due := [one for one in self.idlers if one[0] <= end and not one[1].done()]:
            at, waker = min(due, key=lambda one: one[0])
            self.time = max(self.time, at)
            waker.set_result(None)
            for _ in range(5):  # it looks, and waits on or gives up
                await asyncio.sleep(0)
        self.time = end

    def clock(self) -> float:
        self.bell.set()  # the informer asks whenever something happened
        return self.time

    @property
    def pacing(self) -> Pacing:
        return Pacing(sleep=self.sleep, idle=self.idle, clock=self.clock, random=lambda: 1.0)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that a change, a pause, a request or an answer brings about."""
        async with asyncio.timeout(300):
            while not condition():
                self.bell.clear()
                await self.bell.wait()

    @property
    def puts(self) -> list[str]:
        return [
            change.object.metadata.name
            for batch in self.batches
            for change in batch
            if isinstance(change, Put)
        ]


@asynccontextmanager
async def watching(
    api: FakeApi, *, client: Client | None = None, page_size: int = 500, optional: bool = False
) -> AsyncIterator[tuple[Informer[Thing], Listener]]:
    """Run an informer of the fake API server for the length of a block."""
    listener = Listener(api.bell)
    async with client or Client(api.config) as opened:
        source = Reflector(
            opened,
            ReflectorQuery(path=PATH, page_size=page_size),
            make,
            identity,
            pacing=listener.pacing,
        )
        informer = Informer(source, listener.on_changes, clock=listener.clock, optional=optional)
        async with asyncio.TaskGroup() as group:
            group.create_task(informer.run())
            yield informer, listener
            informer.stop()
