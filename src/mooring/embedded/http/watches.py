"""Watches: which events a client is sent, and when it has to list anew.

A watch has no queue of its own. It remembers how far it has come in the history of its resource and
sends what is new whenever it is woken; its connection alone decides how fast. If it is so slow that
what comes next was compacted, it ends with a 410. So a slow watch costs nobody anything.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

import msgspec

from mooring.embedded.http.lists import Selection, read_version, too_old
from mooring.embedded.http.representations import Representation
from mooring.embedded.http.request_info import QueryParameters
from mooring.embedded.resources import Resource
from mooring.embedded.status_errors import StatusError, bad_request
from mooring.embedded.store import Store
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent

#: A client that wants bookmarks gets one so often, in seconds.
_BOOKMARK_SECONDS: Final = 10.0
#: A watch without a time limit ends after this time; clients then watch on.
_MOST_SECONDS: Final = 3600.0
_PIECE: Final = 1 << 18

_encode = msgspec.json.Encoder().encode


class ChangeSignal:
    """Wakes those who wait for changes of a resource, once for all changes of a moment."""

    def __init__(self, store: Store, resource: Resource) -> None:
        self._waiting: list[asyncio.Future[None]] = []
        self._called = False
        store.listen(resource, self._changed)

    async def wait(self, seconds: float) -> None:
        """Wait for the next change, or for so long."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        handle = future.get_loop().call_later(seconds, _wake, future)
        try:
            await future
        finally:
            handle.cancel()

    def _changed(self, event: WatchEvent) -> None:
        del event
        if self._waiting and not self._called:
            self._called = True
            self._waiting[0].get_loop().call_soon(self._wake_all)

    def _wake_all(self) -> None:
        self._called = False
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            _wake(future)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class ChangeSignals:
    """The signals of all resources."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._signals: dict[Resource, ChangeSignal] = {}

    def of(self, resource: Resource) -> ChangeSignal:
        """The signal of one resource."""
        found = self._signals.get(resource)
        if found is None:
            found = self._signals[resource] = ChangeSignal(self._store, resource)
        return found


class Watch:
    """One watch.

    Args:
        store: what is watched.
        signals: what wakes it.
        selection: which objects.
        query: the request's parameters.
        representation: how the client wants objects.
        clock: seconds that only grow.

    Raises:
        StatusError: the request makes no sense.
    """

    def __init__(
        self,
        store: Store,
        signals: ChangeSignals,
        selection: Selection,
        query: QueryParameters,
        representation: Representation,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._selection = selection
        self._resource = selection.info.resource
        self._history = store.history(self._resource)
        self._signal = signals.of(self._resource)
        self._representation = representation
        self._clock = clock
        self._version = read_version(query.text("resourceVersion"))
        self._from_now = query.text("resourceVersion") in ("", "0")
        self._initial = query.flag("sendInitialEvents")
        self._bookmarks = query.flag("allowWatchBookmarks")
        if query.given("sendInitialEvents"):
            if query.text("resourceVersionMatch") != "NotOlderThan":
                raise bad_request(
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                )
        elif query.text("resourceVersionMatch"):
            raise bad_request(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
        self._given_initial = query.given("sendInitialEvents")
        seconds = query.number("timeoutSeconds") or _MOST_SECONDS
        self._seconds = min(seconds, _MOST_SECONDS)

    async def lines(self) -> AsyncIterator[bytes]:
        """What to send, piece by piece, until the watch's time is over."""
        end = self._clock() + self._seconds
        bookmarked = self._clock()
        position = self._history.end
        if self._initial or (self._from_now and not self._given_initial):
            version, info = self._store.version, self._selection.info
            items = self._selection.of(self._store.all(info.resource, info.namespace))
            for piece in self._initial_events(items):
                yield piece
            if self._initial and self._bookmarks:
                yield self._bookmark(version, initial=True)
        elif not self._from_now:
            found = self._history.number_after(self._version)
            # A version that is yet to come is that of another server: begin anew as well.
            if found is None or self._version > self._store.version:
                yield _error(too_old(self._store, self._resource, self._version))
                return
            position = found
        while True:
            if position < self._history.start:
                oldest = self._history.compacted
                yield _error(StatusError(410, "Expired", f"too old resource version: ({oldest})"))
                return
            piece, position = self._changes_since(position)
            if piece:
                yield piece
            if position < self._history.end:
                continue
            now = self._clock()
            if now >= end:
                return
            if self._bookmarks and now - bookmarked >= _BOOKMARK_SECONDS:
                bookmarked = now
                yield self._bookmark(self._store.version)
                # Sending takes its time, in which something may have happened.
                continue
            await self._signal.wait(min(end - now, _BOOKMARK_SECONDS))

    def _initial_events(self, items: list[StoredObject]) -> Iterator[bytes]:
        """Objects that there are, as if they had just been created, piece by piece."""
        lines: list[bytes] = []
        size = 0
        for item in items:
            line = self._line(b"ADDED", item)
            lines.append(line)
            size += len(line)
            if size > _PIECE:
                yield b"".join(lines)
                lines, size = [], 0
        if lines:
            yield b"".join(lines)

    def _changes_since(self, position: int) -> tuple[bytes, int]:
        """What happened since, up to a certain size, and how far that goes."""
        lines: list[bytes] = []
        size = 0
        for event in self._history.since(position):
            position += 1
            line = self._line_for(event)
            if line:
                lines.append(line)
                size += len(line)
                if size > _PIECE:
                    break
        return b"".join(lines), position

    def _line_for(self, event: WatchEvent) -> bytes:
        """What a change means for this client, which may see only some of the objects."""
        selection, item, old = self._selection, event.item, event.old
        if selection.everything and not selection.info.namespace:
            return self._line(event.type.encode(), item)
        now = event.type != "DELETED" and selection.matches(item)
        before = old is not None and selection.matches(old)
        if now:
            return self._line(b"MODIFIED" if before else b"ADDED", item)
        return self._line(b"DELETED", item) if before else b""

    def _line(self, kind: bytes, item: StoredObject) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (kind, self._representation.encode_watched(item))

    def _bookmark(self, version: int, *, initial: bool = False) -> bytes:
        annotations = {"k8s.io/initial-events-end": "true"}
        metadata = {
            "resourceVersion": str(version),
            "creationTimestamp": None,
            **({"annotations": annotations} if initial else {}),
        }
        resource = self._resource
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        if self._representation.name == "metadata":
            obj = {**obj, "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        return _encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def _error(error: StatusError) -> bytes:
    return _encode({"type": "ERROR", "object": error.status}) + b"\n"
