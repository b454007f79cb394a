"""The cluster's objects of one kind, kept up to date and handed on as changes.

`live` and `extender` run one `Informer` a resource. It calls one plain function with `Put` and
`Gone`, in the order things happened, on the event loop's thread; it never calls it twice for the
same version of an object, and never goes back to an older one, whatever a connection repeats. Only
a complete list may turn time back, as after restoring etcd; an object that it shows in an older
version is first gone and then put, because nothing that was concluded from it holds any more.

    starting ──list_done──> synced ──watch_opened──> connected <──> stale (tries again)
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from mooring.errors import ApiError, ConfigError, KubeError
from mooring.kube.reflector import Reflector
from mooring.kube.versions import SeenVersions, version_number
from mooring.kube.watch_protocol import ObjectIdentity, ReceivedObject, ReflectorCounters
from mooring.model.change import Change, Gone, Put

T = TypeVar("T")

logger = logging.getLogger("mooring.kube")

_REJECTIONS = frozenset({401, 403})
#: How an API server answers that has no such resource, or does not let us read it.
_ABSENT = frozenset({403, 404})


class Informer(Generic[T]):
    """Knows all objects of one resource.

    Args:
        source: what to list and watch.
        on_changes: called with everything that arrived together; it must return at once, and an
            exception from it ends `run`.
        clock: seconds that only grow.
        optional: not every API server has this resource, and not every role may read it; as long as
            that is so, there are no objects.

    Attributes:
        synced: set when the first complete list was handed on.
        connected: a watch is open now.
        stale_since: the clock's time at which the watch was lost or, if it stalled, of its last
            word; None while connected.
        last_contact: the clock's time of the API server's last word; None before the first.
        error: why lists or watches fail now; None while a watch is open.
        absent: the resource is optional and cannot be read; it is asked for again and again.
    """

    def __init__(
        self,
        source: Reflector[T],
        on_changes: Callable[[list[Change[T]]], object],
        *,
        clock: Callable[[], float] = time.monotonic,
        optional: bool = False,
    ) -> None:
        self.source = source
        self.synced = asyncio.Event()
        self.connected = False
        self.stale_since: float | None = clock()
        self._lost_since: float | None = self.stale_since
        self.last_contact: float | None = None
        self.error: KubeError | None = None
        self.absent = False
        self._optional = optional
        self._on_changes = on_changes
        self._clock = clock
        self._known: dict[str, T] = {}
        self._versions = SeenVersions()
        self._present: set[str] = set()
        self._logged: set[str] = set()
        self._rejection: KubeError | None = None
        self._decided = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    @property
    def known(self) -> Mapping[str, T]:
        """The objects by ``namespace/name`` (``/name`` without a namespace); do not keep it."""
        return MappingProxyType(self._known)

    @property
    def counters(self) -> ReflectorCounters:
        """What happened so far, for metrics."""
        return self.source.counters

    @property
    def stale_seconds(self) -> float:
        """For how long the cluster may have changed without our hearing of it; 0 if we hear it.

        What is absent cannot be stale.

        A watch that has just stalled still counts as heard; it is noticed after
        `stalls.SILENCE_SECONDS`, and then counts from its last word.
        """
        if self.absent or self.stale_since is None:
            return 0.0
        return max(self._clock() - self.stale_since, 0.0)

    @property
    def lost_seconds(self) -> float:
        """For how long there has been no watch; 0 if there is one, however silent."""
        if self.absent or self._lost_since is None:
            return 0.0
        return max(self._clock() - self._lost_since, 0.0)

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
            KubeError: the API server rejects it (401, 403), the credentials cannot be had, or
                `run` ended. A rejected informer goes on trying; ``synced.wait()`` waits on.
        """
        await self._decided.wait()
        if not self.synced.is_set():
            if self._rejection is not None:
                raise self._rejection
            raise KubeError(
                f"The informer of {self.source.query.path} stopped before its first list."
            )

    def list_started(self) -> None:
        """A list begins; forget what an unfinished one had."""
        self._present.clear()

    def page(self, items: list[ReceivedObject[T]]) -> None:
        """Some of the objects that exist."""
        self._contact()
        self._present.update(item.identity.key for item in items)
        self._notify(items, self._listed)

    def list_done(self, resource_version: str) -> None:
        """The list is complete: what it did not have is gone."""
        vanished = self._known.keys() - self._present
        self._present.clear()
        self._versions.listed(resource_version)
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
        self.absent = False
        self.connected = True
        self.stale_since = self._lost_since = None

    def events(self, items: list[ReceivedObject[T]]) -> None:
        """Events that came together."""
        self._contact()
        self._logged.clear()
        self._notify(items, self._on_event)

    def watch_closed(self, *, stalled: bool) -> None:
        """The watch ended."""
        self.connected = False
        self._lost_since = self._clock()
        self.stale_since = self.last_contact if stalled else self._lost_since

    def failed(self, error: KubeError) -> None:
        """A list or a watch failed; each sentence is logged once until all is well again."""
        self.error = error
        status = error.status if isinstance(error, ApiError) else 0
        rejected = status in _REJECTIONS
        if self._optional and status in _ABSENT and not self._known:
            self.absent = True
            self.synced.set()
            self._decided.set()
        if not self.synced.is_set() and (rejected or isinstance(error, ConfigError)):
            self._rejection = error
            self._decided.set()
        text = str(error)
        if text not in self._logged:
            self._logged.add(text)
            why = "it is treated as empty; retrying" if self.absent else "retrying"
            logger.warning("%s (%s; %s)", text, self.source.query.path, why)

    def _contact(self) -> None:
        self.last_contact = self._clock()

    def _notify(
        self,
        items: list[ReceivedObject[T]],
        changes_of: Callable[[ReceivedObject[T]], list[Change[T]]],
    ) -> None:
        changes = [change for item in items for change in changes_of(item)]
        if changes:
            self._on_changes(changes)

    def _listed(self, item: ReceivedObject[T]) -> list[Change[T]]:
        """What an object of a list changes: the list shows how things are now."""
        old = self._known.get(item.identity.key)
        before = self.source.identity(old) if old is not None else None
        change = self._change(item, old, before)
        if change is None:
            return []
        if old is not None and isinstance(change, Put) and self._went_back(old, item.identity):
            return [Gone(old), change]
        return [change]

    def _went_back(self, old: T, identity: ObjectIdentity) -> bool:
        before = self.source.identity(old)
        number = version_number(identity.resource_version)
        return before.uid == identity.uid and 0 < number < version_number(before.resource_version)

    def _on_event(self, item: ReceivedObject[T]) -> list[Change[T]]:
        """What an event changes: nothing if it is about the past."""
        identity = item.identity
        key = identity.key
        known = self._known.get(key)
        before = self.source.identity(known) if known is not None else None
        version = before.resource_version if before is not None else ""
        # who does not count a deletion as a change deletes the very version that is known
        last = item.deleted and before is not None and before[2:] == identity[2:]
        if not last and self._versions.is_old(key, identity.resource_version, version):
            self.counters.replayed += 1
            return []
        if item.deleted:
            self._versions.gone(key, identity.resource_version)
        change = self._change(item, known, before)
        return [change] if change is not None else []

    def _change(
        self, item: ReceivedObject[T], old: T | None, before: ObjectIdentity | None
    ) -> Change[T] | None:
        """What an item that is not old changes in what we know; None when we knew it already."""
        identity = item.identity
        key = identity.key
        if item.object is None or item.deleted:
            if old is None or before is None:
                return None
            same = before.uid == identity.uid
            if item.deleted and not same and not version_number(identity.resource_version):
                return None  # an older one of this name, as far as anybody can say
            if not item.deleted and same:
                return None  # an object that cannot be understood stays as it was
            del self._known[key]
            self._versions.gone(key, identity.resource_version)
            return Gone(old if item.object is None or not same else item.object)
        if before is not None and before[2:] == identity[2:]:
            return None
        self._known[key] = item.object
        self._versions.put(key)
        return Put(item.object)
