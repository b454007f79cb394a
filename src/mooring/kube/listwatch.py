"""Listing a resource and then watching it for ever, without losing or repeating a change.

`informer` calls it. It talks to the API server through `client` and follows `watch_protocol`; it
keeps no objects, and what an object is, the caller's `make` decides. It never gives up: every
failure is told to the sink and tried again after a pause.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

import msgspec

from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client
from mooring.kube.status import api_error, decode_status
from mooring.kube.watch_protocol import (
    RELIST_STATUSES,
    Counters,
    Identity,
    Item,
    LineSplitter,
    ListPage,
    Sink,
    WatchState,
    bare_identity,
    decode_line,
    decode_page,
)

T = TypeVar("T")

logger = logging.getLogger("mooring.kube")

WATCH_SECONDS = 300  # the API server ends a watch after one to two times this
LIST_SECONDS = 300.0
_COMPLAINTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
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
    """Where time and chance come from; tests pass their own."""

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random


REAL_TIME = Pacing()


class ListWatch(Generic[T]):
    """Lists and watches one resource.

    Args:
        client: where.
        query: what.
        make: makes an object of its JSON; when it raises, the object is skipped.
        identity: tells which object it is.
        pacing: where time and chance come from.
    """

    def __init__(
        self,
        client: Client,
        query: Query,
        make: Callable[[bytes], T],
        identity: Callable[[T], Identity],
        *,
        pacing: Pacing = REAL_TIME,
    ) -> None:
        self.query = query
        self.identity = identity
        self.counters = Counters()
        self._client = client
        self._make = make
        self._pacing = pacing
        self._state = WatchState(pacing.random)
        self._complaints: set[str] = set()

    async def run(self, sink: Sink[T]) -> NoReturn:
        """List and watch until cancelled."""
        state = self._state
        while True:
            opened_at = self._pacing.clock()
            try:
                if not state.resource_version:
                    await self._list(sink)
                    opened_at = self._pacing.clock()
                silent = await self._watch(sink)
                pause = state.ended(self._pacing.clock() - opened_at, silent=silent)
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

    async def _list(self, sink: Sink[T]) -> None:
        params = self.query.params()
        if self.query.page_size:
            params["limit"] = self.query.page_size
        sink.list_started()
        while True:
            try:
                page = await self._page(params)
            except ApiError as error:
                if error.status in RELIST_STATUSES and "continue" in params:
                    # the pages' version expired under us: all at once cannot expire
                    params = self.query.params()
                    sink.list_started()
                    continue
                raise
            items = (self._item(raw, deleted=False) for raw in page.items or ())
            sink.page([item for item in items if item is not None])
            if not page.metadata.continue_:
                break
            params["continue"] = page.metadata.continue_
        if not page.metadata.resource_version:
            raise KubeError(f"The list {self.query.path} has no resourceVersion to watch from.")
        self.counters.lists += 1
        self._state.listed(page.metadata.resource_version)
        sink.list_done()

    async def _page(self, params: dict[str, str | int]) -> ListPage:
        body = await self._client.request(
            "GET", self.query.path, params=params, seconds=LIST_SECONDS
        )
        try:
            return decode_page(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise KubeError(f"The answer to {self.query.path} is no list: {error}.") from error

    async def _watch(self, sink: Sink[T]) -> bool:
        """Watch until the stream ends; say whether nothing came."""
        params = self.query.params() | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._state.resource_version,
            "timeoutSeconds": int(WATCH_SECONDS * (1 + self._pacing.random())),
        }
        splitter = LineSplitter()
        silent = True
        async with self._client.stream(self.query.path, params) as chunks:
            self.counters.watches += 1
            sink.watch_opened()
            try:
                async for chunk in chunks:
                    if lines := splitter.feed(chunk):
                        silent = False
                        self._take(lines, sink)
            finally:
                sink.watch_closed()
        return silent

    def _take(self, lines: list[bytes], sink: Sink[T]) -> None:
        """Hand on what the lines say; those before a broken one count."""
        items: list[Item[T]] = []
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

    def _event(self, line: bytes) -> Item[T] | None:
        try:
            event = decode_line(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            # an event may be lost, so watch again from the last version
            raise KubeError(f"The watch of {self.query.path} sent no event: {error}.") from error
        if event.type == "ERROR":
            status = decode_status(event.object)
            raise api_error(self._client.config, status.code or 500, bytes(event.object))
        if event.type == "BOOKMARK":
            bare = bare_identity(event.object)
            self._state.seen(bare.resource_version if bare is not None else "")
            return None
        self.counters.events += 1
        item = self._item(event.object, deleted=event.type == "DELETED")
        if item is not None:
            self._state.seen(item.identity.resource_version)
        return item

    def _item(self, raw: msgspec.Raw, *, deleted: bool) -> Item[T] | None:
        try:
            made = self._make(bytes(raw))
            return Item(self.identity(made), made, deleted)
        except Exception as error:  # noqa: BLE001 - one bad object must not stop the others
            identity = bare_identity(raw)
            self.counters.skipped += 1
            name = identity.key if identity is not None else "an object without a name"
            if name not in self._complaints and len(self._complaints) < _COMPLAINTS:
                self._complaints.add(name)
                logger.warning(
                    "%s of %s cannot be understood and is left out: %s",
                    name,
                    self.query.path,
                    error,
                )
            return Item(identity, None, deleted) if identity is not None else None
