"""The cluster's objects of one kind, kept up to date and told as changes.

`live` and `extender` run one `Informer` a resource. It calls one plain function with `Put` and
`Gone`, in the order things happened, on the event loop's thread; it never calls it twice for the
same version of an object.

    starting ──list_done──> synced ──watch_opened──> connected <──> stale (tries again)
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from mooring.errors import ApiError, ConfigError, KubeError
from mooring.kube.listwatch import ListWatch
from mooring.kube.watch_protocol import Counters, Item
from mooring.model.change import Change, Gone, Put

T = TypeVar("T")

logger = logging.getLogger("mooring.kube")

_REFUSALS = frozenset({401, 403})


class Informer(Generic[T]):
    """Knows all objects of one resource.

    Args:
        source: what to list and watch.
        on_changes: called with everything that arrived together; it must return at once, and an
            exception from it ends `run`.
        clock: seconds that only grow.

    Attributes:
        synced: set when the first complete list was handed on.
        connected: a watch is open now.
        stale_since: the clock's time at which the watch was lost; None while connected.
        last_contact: the clock's time of the API server's last word; None before the first.
        error: why lists or watches fail now; None while a watch is open.
    """

    def __init__(
        self,
        source: ListWatch[T],
        on_changes: Callable[[list[Change[T]]], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.synced = asyncio.Event()
        self.connected = False
        self.stale_since: float | None = clock()
        self.last_contact: float | None = None
        self.error: KubeError | None = None
        self._on_changes = on_changes
        self._clock = clock
        self._known: dict[str, T] = {}
        self._present: set[str] = set()
        self._logged: set[str] = set()
        self._refusal: KubeError | None = None
        self._decided = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    @property
    def known(self) -> Mapping[str, T]:
        """The objects by ``namespace/name`` (``/name`` without a namespace); do not keep it."""
        return MappingProxyType(self._known)

    @property
    def counters(self) -> Counters:
        """What happened so far, for metrics."""
        return self.source.counters

    async def run(self) -> None:
        """List and watch until cancelled or stopped."""
        if self._stopping.is_set():
            return
        task: asyncio.Task[None] = asyncio.create_task(self.source.run(self))
        self._task = task
        try:
            await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if not self._stopping.is_set() or (current is not None and current.cancelling()):
                raise
        finally:
            task.cancel()
            self._task = None
            self._decided.set()

    def stop(self) -> None:
        """Let `run` return soon; what is known stays known."""
        self._stopping.set()
        if self._task is not None:
            self._task.cancel()

    async def wait_synced(self) -> None:
        """Wait for the first complete list.

        Raises:
            KubeError: the API server refuses it (401, 403), the credentials cannot be had, or
                `run` ended. A refused informer goes on trying; ``synced.wait()`` waits on.
        """
        await self._decided.wait()
        if not self.synced.is_set():
            if self._refusal is not None:
                raise self._refusal
            raise KubeError(
                f"The informer of {self.source.query.path} stopped before its first list."
            )

    def list_started(self) -> None:
        """A list begins; forget what an unfinished one had."""
        self._present.clear()

    def page(self, items: list[Item[T]]) -> None:
        """Some of the objects that exist."""
        self._contact()
        self._present.update(item.identity.key for item in items)
        self._tell(items)

    def list_done(self) -> None:
        """The list is complete: what it did not have is gone."""
        vanished = self._known.keys() - self._present
        self._present.clear()
        if vanished:
            self._on_changes([Gone(self._known.pop(key)) for key in sorted(vanished)])
        self.synced.set()
        self._decided.set()

    def watch_opened(self) -> None:
        """The API server accepted a watch: we hear everything again."""
        self._contact()
        if self.error is not None:
            logger.info("Watching %s again.", self.source.query.path)
        self.error = None
        self.connected = True
        self.stale_since = None

    def events(self, items: list[Item[T]]) -> None:
        """Events that came together."""
        self._contact()
        self._logged.clear()
        self._tell(items)

    def watch_closed(self) -> None:
        """The watch ended."""
        self.connected = False
        self.stale_since = self._clock()

    def failed(self, error: KubeError) -> None:
        """A list or a watch failed; each sentence is logged once until all is well again."""
        self.error = error
        refused = isinstance(error, ApiError) and error.status in _REFUSALS
        if not self.synced.is_set() and (refused or isinstance(error, ConfigError)):
            self._refusal = error
            self._decided.set()
        text = str(error)
        if text not in self._logged:
            self._logged.add(text)
            logger.warning("%s (%s; it is tried again)", text, self.source.query.path)

    def _contact(self) -> None:
        self.last_contact = self._clock()

    def _tell(self, items: list[Item[T]]) -> None:
        changes: list[Change[T]] = []
        for item in items:
            change = self._change(item)
            if change is not None:
                changes.append(change)
        if changes:
            self._on_changes(changes)

    def _change(self, item: Item[T]) -> Change[T] | None:
        """What an item changes in what we know; None when we knew it already."""
        key = item.identity.key
        old = self._known.get(key)
        before = self.source.identity(old) if old is not None else None
        if item.object is None or item.deleted:
            if old is None or before is None:
                return None
            # an object that cannot be understood stays as it was, unless it is another one now
            if (before.uid == item.identity.uid) != item.deleted:
                return None
            del self._known[key]
            return Gone(old if item.object is None else item.object)
        if before is not None and before[2:] == item.identity[2:]:
            return None
        self._known[key] = item.object
        return Put(item.object)
