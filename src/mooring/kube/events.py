"""The recorder of Kubernetes events: `record` returns at once, a few tasks write.

`live` has one and calls `record` from the event loop's thread. Events are for people: they are
left out when there are too many or the API server will not have them, and nothing ever waits for
them but `flush`. While bindings wait for the API server, it holds events back (`hold_back`).

    record ──> event_cache ──new or series──> event_queue, bounded ──> tasks ──> API server
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Protocol, Self

from mooring.errors import ApiError, KubeError
from mooring.kube.client import JSON, STRATEGIC_MERGE_PATCH, api_path
from mooring.kube.event_body import EventKey, EventType, ObjectReference, Reporter, namespace_of
from mooring.kube.event_cache import CachedEvent, EventCache
from mooring.kube.event_queue import DEFAULT_EVENT_LIMITS, EventLimits, EventQueue
from mooring.kube.reflector import REAL_TIME, Pacing

logger = logging.getLogger("mooring.kube")

# parity v1.36.4: client-go/tools/events/event_broadcaster.go
_TRIES = 12
_PAUSE_FIRST_SECONDS = 0.5
_PAUSE_MOST_SECONDS = 10.0
_PAUSE_JITTER = 0.25
_REFRESH_SECONDS = 30 * 60.0  # the API server forgets events after an hour
_FINISH_SECONDS = 60.0
_RETRIABLE = frozenset({408, 429, 500, 502, 503, 504})
_COMPLAINT_NS = 5 * 60 * 1_000_000_000
_NAMESPACES = "/apis/events.k8s.io/v1/namespaces"


class EventClient(Protocol):
    """The part of `client.Client` that events need."""

    def request(
        self, method: str, path: str, *, body: object = None, content_type: str = JSON
    ) -> Awaitable[bytes]:
        """Send one request."""
        ...


@dataclass(slots=True)
class EventCounters:
    """What happened so far.

    Attributes:
        recorded: calls of `record`.
        created: events the API server took.
        patched: counts of series the API server took.
        dropped: events left out because too many waited.
        failed: events the API server rejected, or that could not be sent for too long.
        retried: tries after a failure that may pass.
    """

    recorded: int = 0
    created: int = 0
    patched: int = 0
    dropped: int = 0
    failed: int = 0
    retried: int = 0

    @property
    def written(self) -> int:
        """What the API server took."""
        return self.created + self.patched


class EventRecorder:
    """Writes events to the API server; use it as an async context manager.

    What is recorded before it is entered waits. Leaving it drops what still waits: call `flush`
    before.

    Args:
        client: where.
        reporting_controller: who records the events, if `record` does not say otherwise.
        reporting_instance: which of several processes; see `event_body.reporter_here`.
        limits: how much it takes on.
        pacing: where pauses and chance come from.
        now_ns: nanoseconds since 1970.

    Attributes:
        counters: what happened so far.
    """

    def __init__(
        self,
        client: EventClient,
        reporting_controller: str,
        reporting_instance: str,
        *,
        limits: EventLimits = DEFAULT_EVENT_LIMITS,
        pacing: Pacing = REAL_TIME,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.counters = EventCounters()
        self._client = client
        self._reporter = Reporter(reporting_controller, reporting_instance)
        self._pacing = pacing
        self._now_ns = now_ns
        self._stamp = 0
        self._cache = EventCache(limits.remembered, limits.warnings_remembered)
        self._queue = EventQueue(limits)
        self._empty = asyncio.Event()
        self._empty.set()
        self._complaints: dict[int, int] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: set[asyncio.Task[None]] = set()
        self._writing = 0
        self._entered = False

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(one) for one in (self._finish(), self._refresh())]
        self._entered = True
        self._start_writers()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._entered = False
        tasks = [*self._tasks, *self._writers]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks = []

    def record(
        self,
        regarding: ObjectReference,
        related: ObjectReference | None,
        type_: EventType,
        reason: str,
        action: str,
        note: str,
        *,
        reporter: Reporter | None = None,
    ) -> None:
        """Record an event; returns at once.

        Args:
            regarding: whom it is about; see `event_body.reference`.
            related: the other object it is about.
            type_: ``Normal`` or ``Warning``.
            reason: such as ``Scheduled``.
            action: such as ``Binding``.
            note: the text; it is cut at 1,024 bytes.
            reporter: who records it, if not the recorder's own.
        """
        self.counters.recorded += 1
        now_ns = self._tick()
        key = EventKey(regarding, related, type_, reason, action, reporter or self._reporter)
        self._write_finished(now_ns)
        event = self._cache.observe(key, note, now_ns)
        if event.pending:
            self._enqueue(event)

    def forget_gone(self, is_gone: Callable[[ObjectReference], bool]) -> None:
        """Forget events about objects that are gone: nothing more will happen to them.

        Args:
            is_gone: whether an object does not exist any more.
        """
        for event in self._cache.gone(is_gone):
            self._enqueue(event)

    def hold_back(self, *, while_: bool) -> None:
        """Hold events back while something more important is written; call it again and again.

        They are written as soon as that is over. None waits for ever: see `event_queue`.

        Args:
            while_: whether something more important waits to be written now.
        """
        self._queue.held_back = while_
        if len(self._queue):
            self._start_writers()

    async def flush(self, seconds: float) -> bool:
        """Write what waits and the counts of all series; say whether the time sufficed."""
        for event in list(self._cache.series()):
            if event.count > event.written:
                self._enqueue(event)
        self.hold_back(while_=False)
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    def _tick(self) -> int:
        """The time; it always grows, so that names made of it differ."""
        self._stamp = max(self._now_ns(), self._stamp + 1)
        return self._stamp

    def _enqueue(self, event: CachedEvent) -> None:
        if event.queued:
            return
        if self._queue.put(event, self._pacing.clock()):
            event.queued = True
            self._empty.clear()
            self._start_writers()
        else:
            self.counters.dropped += 1
            if event.written == 0:
                self._cache.forget(event)

    def _write_finished(self, now_ns: int) -> None:
        for event in self._cache.finished(now_ns):
            self._enqueue(event)

    async def _finish(self) -> None:
        """Finish series also when nothing new is recorded."""
        while True:
            await self._pacing.sleep(_FINISH_SECONDS)
            self._write_finished(self._tick())

    async def _refresh(self) -> None:
        """Write series that go on, so that the API server does not forget them."""
        while True:
            await self._pacing.sleep(_REFRESH_SECONDS)
            for event in list(self._cache.series()):
                self._enqueue(event)

    def _start_writers(self) -> None:
        """Have as many tasks as may write now, if there is work for them."""
        if not self._entered:
            return
        more = self._queue.writers(self._pacing.clock()) - self._writing
        for _ in range(min(more, len(self._queue))):
            self._writing += 1
            task = asyncio.create_task(self._write_some())
            self._writers.add(task)
            task.add_done_callback(self._writers.discard)

    async def _write_some(self) -> None:
        """Write what waits, one after the other, as long as there are not too many writers."""
        queue = self._queue
        try:
            while queue.writers(self._pacing.clock()) >= self._writing:
                event = queue.take()
                if event is None:
                    break
                known = event.written
                try:
                    await self._write(event)
                except Exception:
                    logger.exception("An event could not be written.")
                    self._give_up(event)
                finally:
                    event.queued = False
                    queue.done(event)
                    if event.written > known and event.pending:
                        self._enqueue(event)  # it happened again meanwhile
                    if not len(queue):
                        self._empty.set()
        finally:
            self._writing -= 1

    async def _write(self, event: CachedEvent) -> None:
        for number in range(_TRIES):
            try:
                await self._send(event)
            except KubeError as error:
                if isinstance(error, ApiError) and error.status not in _RETRIABLE:
                    self._complain(error)
                    break
                if number + 1 == _TRIES:
                    logger.warning("An event was given up: %s", error)
                    break
                self.counters.retried += 1
                await self._pause(number)
            else:
                return
        self._give_up(event)

    def _give_up(self, event: CachedEvent) -> None:
        self.counters.failed += 1
        if event.written == 0:
            self._cache.forget(event)

    def _complain(self, error: ApiError) -> None:
        """Log a rejection, seldom: every event of a namespace that is being deleted is rejected."""
        before = self._complaints.get(error.status)
        if before is None or self._stamp - before > _COMPLAINT_NS:
            self._complaints[error.status] = self._stamp
            logger.warning("The API server rejected an event: %s", error)

    async def _pause(self, number: int) -> None:
        pause = min(_PAUSE_FIRST_SECONDS * 2.0**number, _PAUSE_MOST_SECONDS)
        await self._pacing.sleep(pause * (1 + _PAUSE_JITTER * self._pacing.random()))

    async def _send(self, event: CachedEvent) -> None:
        """Create the event, or write how often it happened."""
        # parity v1.36.4: event_broadcaster.go recordEvent
        path = f"{_NAMESPACES}{api_path(namespace_of(event.key))}/events"
        count = event.count
        if event.written:
            try:
                await self._client.request(
                    "PATCH",
                    path + api_path(event.name),
                    body=event.patch(),
                    content_type=STRATEGIC_MERGE_PATCH,
                )
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
            else:
                event.written = count
                self.counters.patched += 1
                return
        try:
            await self._client.request("POST", path, body=event.body())
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            # only the answer to an earlier try was lost
            count = 1
        event.written = count
        self.counters.created += 1
