"""Listing a resource and then watching it for ever, as client-go's reflector does.

No change is lost or repeated. `informer` calls it. It talks to the API server through `client` and
follows `watch_protocol`; it keeps no objects, and what an object is, the caller's `make` decides.
It never gives up: every failure is handed to the sink and tried again after a pause.

A watch of a resource that nobody changes is silent, and so is one whose connection is dead: after a
while it is replaced by another one, which costs little and brings what the dead one kept back. A
watch is silent, too, when the API server has yet to reach the version it began from, because etcd
was restored from a backup; so a silent one is followed by a look at where the API server stands.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

import msgspec

from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client
from mooring.kube.list_stream import ListSplitter
from mooring.kube.stalls import SILENCE_SECONDS, Stalled, ends_when_silent
from mooring.kube.status import api_error, decode_status
from mooring.kube.watch_protocol import (
    BRIEF_SECONDS,
    RELIST_STATUSES,
    LineSplitter,
    ListPage,
    ObjectIdentity,
    ReceivedObject,
    ReflectorCounters,
    ReflectorSink,
    WatchState,
    bare_identity,
    decode_line,
    decode_page,
)

T = TypeVar("T")

logger = logging.getLogger("mooring.kube")

WATCH_SECONDS = 300  # the API server ends a watch after one to two times this
LIST_SECONDS = 90.0  # for a page, or the next bytes; the API server itself gives up after 60 s
MEMORY_SECONDS = 0.3  # an API server that waits longer has not asked etcd how far it is
_LOOK_OBJECTS = 100  # at first; most collections have no more
_FEW_OBJECTS = 5000  # come in pages sooner than an API server whose memory is behind begins
_SLICE_OBJECTS = 100  # of a list are decoded and handed on at a time: a few milliseconds
_COMPLAINTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorQuery:
    """What to list and watch.

    Attributes:
        path: the collection, such as ``/api/v1/pods``.
        field_selector: such as ``spec.nodeName=``.
        label_selector: such as ``app=web``.
        page_size: at most so many objects in one answer; 0 for all.
    """

    path: str
    field_selector: str = ""
    label_selector: str = ""
    page_size: int = 500

    def params(self) -> dict[str, str | int]:
        """The selectors as a query."""
        selectors = {"fieldSelector": self.field_selector, "labelSelector": self.label_selector}
        return {name: value for name, value in selectors.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """Where time and chance come from; tests pass their own.

    Attributes:
        sleep: waits before something is tried again.
        idle: waits beside an open watch, to see whether anything comes.
        clock: seconds that only grow.
        random: a number from 0 to 1.
    """

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    idle: Callable[[float], Awaitable[object]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random


REAL_TIME = Pacing()


class Reflector(Generic[T]):
    """Lists and watches one resource.

    Args:
        client: where.
        query: what.
        make: makes an object of its JSON; when it raises, the object is skipped.
        identity: says which object it is.
        pacing: where time and chance come from.
    """

    def __init__(
        self,
        client: Client,
        query: ReflectorQuery,
        make: Callable[[bytes], T],
        identity: Callable[[T], ObjectIdentity],
        *,
        pacing: Pacing = REAL_TIME,
    ) -> None:
        self.query = query
        self.identity = identity
        self.counters = ReflectorCounters()
        self._client = client
        self._make = make
        self._pacing = pacing
        self._state = WatchState(pacing.random)
        self._complaints: set[str] = set()
        # whether the API server sends bookmarks, and whether it may stand behind our version
        self._bookmarks = False
        self._doubtful = False
        self._listed_before = False

    async def run(self, sink: ReflectorSink[T]) -> NoReturn:
        """List and watch until cancelled."""
        state = self._state
        while True:
            opened_at = self._pacing.clock()
            try:
                if self._doubtful and state.resource_version:
                    await self._look_back()
                if not state.resource_version:
                    await self._list(sink)
                opened_at = self._pacing.clock()
                silent = await self._watch(sink)
                lasted = self._pacing.clock() - opened_at
                self._doubtful = self._doubtful or (silent and lasted >= BRIEF_SECONDS)
                pause = state.ended(lasted, silent=silent)
            except KubeError as error:
                self.counters.errors += 1
                if isinstance(error, ApiError) and error.status in RELIST_STATUSES:
                    pause = state.expired()
                else:
                    pause = state.failed(self._pacing.clock() - opened_at)
                # the first expiry is everyday life and mended at once
                if pause:
                    sink.failed(error)
            if pause:
                await self._pacing.sleep(pause)

    async def _list(self, sink: ReflectorSink[T]) -> None:
        """List everything: the first time from the API server's memory, afterwards in pages."""
        pages = self._pages(sink) if self._listed_before else self._first_pages(sink)
        self._listed_before = True
        sink.list_started()
        version = ""
        async with aclosing(pages):
            async for page in pages:
                if page.metadata.resource_version != version:
                    version = page.metadata.resource_version
                    self._check_age(version)
                await self._hand_on(page.items or [], sink)
        if not version:
            raise KubeError(f"The list {self.query.path} has no resourceVersion to watch from.")
        self.counters.lists += 1
        self._state.listed(version)
        sink.list_done(version)

    async def _first_pages(self, sink: ReflectorSink[T]) -> AsyncGenerator[ListPage]:
        """The whole list as it arrives, from memory that is as new as etcd was just now.

        In pages if it is short, or the memory is behind: an API server with an old etcd does not
        hear of it when only other resources change, waits for three seconds and answers with an
        error.
        """
        limit = min(_LOOK_OBJECTS, self.query.page_size or _LOOK_OBJECTS)
        first = await self._page(self.query.params() | {"limit": limit})
        remaining = first.metadata.remaining
        if not first.metadata.continue_ or (remaining is not None and remaining <= _FEW_OBJECTS):
            async with aclosing(self._pages(sink, first)) as pages:
                async for one in pages:
                    yield one
            return
        newest = first.metadata.resource_version
        known = {"resourceVersion": newest, "resourceVersionMatch": "NotOlderThan"}
        params, splitter = self.query.params() | (known if newest else {}), ListSplitter()
        try:
            async with (
                asyncio.timeout(MEMORY_SECONDS) as patience,
                self._client.stream(
                    self.query.path, params, silence_seconds=LIST_SECONDS
                ) as chunks,
            ):
                patience.reschedule(None)
                async for chunk in chunks:
                    if (found := splitter.feed(chunk)) is not None:
                        yield found
            yield splitter.end()
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._not_a_list(error) from error
        except TimeoutError:
            if not patience.expired():
                raise
            async with aclosing(self._pages(sink, first)) as pages:
                async for page in pages:
                    yield page

    async def _pages(
        self, sink: ReflectorSink[T], first: ListPage | None = None
    ) -> AsyncGenerator[ListPage]:
        """The list in pages; the API server prepares the next while one is worked through.

        Args:
            sink: is told if it begins again.
            first: the first page, if it is there already.
        """
        params = self.query.params()
        if self.query.page_size:
            params["limit"] = self.query.page_size
        coming: asyncio.Task[ListPage] | None = None
        try:
            while True:
                try:
                    page = first or await (self._page(params) if coming is None else coming)
                    first = None
                except ApiError as error:
                    if error.status in RELIST_STATUSES and "continue" in params:
                        # the pages' version expired under us: all at once cannot expire
                        params, coming = self.query.params(), None
                        sink.list_started()
                        continue
                    raise
                if page.metadata.continue_:
                    params["continue"] = page.metadata.continue_
                    coming = asyncio.create_task(self._page(params))
                yield page
                if not page.metadata.continue_:
                    return
        finally:
            if coming is not None:
                coming.cancel()

    async def _hand_on(self, raws: list[msgspec.Raw], sink: ReflectorSink[T]) -> None:
        """Hand on what a page has, in slices: whoever else has something to do has a turn."""
        for first in range(0, len(raws), _SLICE_OBJECTS):
            await asyncio.sleep(0)
            items = (self._item(raw, deleted=False) for raw in raws[first : first + _SLICE_OBJECTS])
            sink.page([item for item in items if item is not None])

    def _check_age(self, resource_version: str) -> None:
        """Reject a list that is older than what was seen, unless the API server insists."""
        state = self._state
        before = state.newest
        older = state.is_older(resource_version)
        if not state.may_list(resource_version):
            raise KubeError(
                f"The API server answered {self.query.path} with an older state than it had shown "
                f"before (resourceVersion {resource_version} after {before})."
            )
        if older:
            logger.error(
                "The resourceVersion of %s went back from %d to %s: etcd was restored from a "
                "backup, or another cluster is answering. The new list is used.",
                self.query.path,
                before,
                resource_version,
            )

    async def _look_back(self) -> None:
        """List again if the API server stands behind the version to watch from."""
        page = await self._newest()
        self._doubtful = False
        if self._state.is_older(page.metadata.resource_version):
            self._state.must_list()

    async def _newest(self) -> ListPage:
        """One object, with the version that etcd has now."""
        # as quick as any request: until it is answered, nobody knows that something is wrong
        return await self._page(self.query.params() | {"limit": 1}, seconds=None)

    async def _page(
        self, params: dict[str, str | int], seconds: float | None = LIST_SECONDS
    ) -> ListPage:
        body = await self._client.request("GET", self.query.path, params=params, seconds=seconds)
        try:
            return decode_page(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._not_a_list(error) from error

    def _not_a_list(self, error: Exception) -> KubeError:
        return KubeError(f"The response to {self.query.path} is not a list: {error}.")

    async def _watch(self, sink: ReflectorSink[T]) -> bool:
        """Watch until the stream ends; say whether nothing new came."""
        params = self.query.params() | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._state.resource_version,
            "timeoutSeconds": int(WATCH_SECONDS * (1 + self._pacing.random())),
        }
        splitter = LineSplitter()
        silent, heard, stalled = True, False, False
        async with self._client.stream(self.query.path, params) as chunks:
            self.counters.watches += 1
            sink.watch_opened()
            clock, heard_at = self._pacing.clock, self._pacing.clock()
            try:
                async with ends_when_silent(lambda: heard_at, clock, self._pacing.idle):
                    async for chunk in chunks:
                        heard_at = clock()
                        if lines := splitter.feed(chunk):
                            heard = True
                            silent = not self._on_lines(lines, sink) and silent
            except Stalled:
                stalled = True
                self.counters.stalls += 1
                # without a word from the beginning, nothing may have changed since
                if heard and self._bookmarks:
                    raise KubeError(
                        f"No data was received for {self.query.path} for "
                        f"{SILENCE_SECONDS:.0f}s, not "
                        "even the bookmark that the API server sends every minute: the connection "
                        "seems to be dead."
                    ) from None
            finally:
                sink.watch_closed(stalled=stalled)
        return silent

    def _on_lines(self, lines: list[bytes], sink: ReflectorSink[T]) -> bool:
        """Hand on what the lines say; those before a broken one count. Says whether it is news."""
        items: list[ReceivedObject[T]] = []
        before = self._state.resource_version
        for number, line in enumerate(lines):
            try:
                item = self._event(line)
            except KubeError:
                if number:
                    sink.events(items)
                raise
            if item is not None:
                items.append(item)
        sink.events(items)
        return self._state.resource_version != before

    def _event(self, line: bytes) -> ReceivedObject[T] | None:
        try:
            event = decode_line(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            # an event may be lost, so watch again from the last version
            raise KubeError(
                f"The watch of {self.query.path} sent an invalid event: {error}."
            ) from error
        if event.type == "ERROR":
            status = decode_status(event.object)
            raise api_error(self._client.config, status.code or 500, bytes(event.object))
        if event.type == "BOOKMARK":
            self._bookmark(event.object)
            return None
        self.counters.events += 1
        item = self._item(event.object, deleted=event.type == "DELETED")
        if item is not None:
            self._state.seen(item.identity.resource_version)
        return item

    def _bookmark(self, raw: msgspec.Raw) -> None:
        self._bookmarks = True
        bare = bare_identity(raw)
        version = bare.resource_version if bare is not None else ""
        if not self._state.seen(version):
            self._doubtful = True
            raise KubeError(
                f"The watch of {self.query.path} is behind the version it started from "
                f"(resourceVersion {version} after {self._state.newest})."
            )

    def _item(self, raw: msgspec.Raw, *, deleted: bool) -> ReceivedObject[T] | None:
        try:
            made = self._make(bytes(raw))
            return ReceivedObject(self.identity(made), made, deleted)
        except Exception as error:  # noqa: BLE001 - one bad object must not stop the others
            identity = bare_identity(raw)
            self.counters.skipped += 1
            name = identity.key if identity is not None else "an object without a name"
            if name not in self._complaints and len(self._complaints) < _COMPLAINTS:
                self._complaints.add(name)
                logger.warning(
                    "%s of %s cannot be parsed and is skipped: %s",
                    name,
                    self.query.path,
                    error,
                )
            return ReceivedObject(identity, None, deleted) if identity is not None else None
