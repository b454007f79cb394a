"""The work queue of all controllers: which objects to reconcile, and when.

Owns the changes that no controller has handled yet, the keys to reconcile and when they are due
again. `controller_manager` calls `WorkQueue.run` over and over; controllers never call each other.
Changes are only noted while the store is being written, and handled right before the next object is
reconciled: a controller's indexes always include what it wrote itself a moment ago, so that no
controller needs expectations.
"""

import heapq
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.pod_index import Key, PodIndex
from mooring.embedded.resources import PODS, Resource
from mooring.embedded.status_errors import StatusError
from mooring.embedded.store import Store
from mooring.embedded.watch_history import WatchEvent

log: Final = logging.getLogger(__name__)

_FIRST_RETRY: Final = 0.005
_LAST_RETRY: Final = 30.0
_CONFLICT: Final = 409


#: A controller, by its number, and the key of one of its objects.
_Request = tuple[int, Key]


class WorkQueue:
    """The objects that a number of controllers have to reconcile.

    Args:
        store: what they listen to. Objects that are there already count as new.
        controllers: who reconciles.
        pods: the pods, indexed; it is kept up to date here.
        on_first: called when a change is noted while no other is; must be quick.
    """

    def __init__(
        self,
        store: Store,
        controllers: Sequence[Controller],
        pods: PodIndex,
        on_first: Callable[[], None] = lambda: None,
    ) -> None:
        self._controllers = controllers
        self._pods = pods
        self._on_first = on_first
        self._changes: deque[tuple[Resource, WatchEvent]] = deque()
        self._queue: deque[_Request] = deque()
        self._queued: set[_Request] = set()
        self._heap: list[tuple[float, _Request]] = []
        self._due: dict[_Request, float] = {}
        self._failures: dict[_Request, int] = {}
        self._handlers: dict[Resource, list[tuple[int, EventHandler]]] = {}
        self._pod_handlers = [
            (number, one.pod_changed)
            for number, one in enumerate(controllers)
            if type(one).pod_changed is not Controller.pod_changed
        ]
        for number, controller in enumerate(controllers):
            for resource, handle in controller.event_handlers.items():
                self._handlers.setdefault(resource, []).append((number, handle))
        for resource in dict.fromkeys((*self._handlers, PODS)):
            store.listen(resource, partial(self._add_change, resource))
            for item in store.all(resource):
                self._add_change(resource, WatchEvent("ADDED", item, None))

    def next_due(self) -> float | None:
        """When there is something to do: 0 for now, None for not until something changes."""
        if self._changes or self._queue:
            return 0.0
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # it was reconciled earlier, and is due at another time
        return self._heap[0][0] if self._heap else None

    def run(self, now: float, limit: int) -> int:
        """Reconcile objects that are due.

        Args:
            now: seconds since 1970.
            limit: how many objects at most.

        Returns:
            How many were reconciled; fewer than the limit if there was no more to do.
        """
        for done in range(limit):
            self._handle_changes()
            self._add_due(now)
            if not self._queue:
                return done
            request = self._queue.popleft()
            self._queued.discard(request)
            self._due.pop(request, None)
            self._process(request, now)
        return limit

    def _process(self, request: _Request, now: float) -> None:
        number, key = request
        controller = self._controllers[number]
        try:
            again = controller.reconcile(key, now)
        except StatusError as error:
            level = logging.DEBUG if error.code == _CONFLICT else logging.WARNING
            log.log(level, "%s: %s: %s", controller.name, "/".join(filter(None, key)), error)
            self._add_rate_limited(request, now)
        except Exception:
            # One odd object must not stop all controllers.
            log.exception("%s: %s could not be reconciled", controller.name, "/".join(key))
            self._add_rate_limited(request, now)
        else:
            self._failures.pop(request, None)
            if again is None:
                return
            if again <= 0:
                self._add(request)
            else:
                self._add_after(request, now + again)

    def _add_rate_limited(self, request: _Request, now: float) -> None:
        failures = self._failures.get(request, 0)
        self._failures[request] = min(failures + 1, 32)
        self._add_after(request, now + min(_FIRST_RETRY * 2**failures, _LAST_RETRY))

    def _add_after(self, request: _Request, due: float) -> None:
        self._due[request] = due
        heapq.heappush(self._heap, (due, request))

    def _add(self, request: _Request) -> None:
        if request not in self._queued:
            self._queued.add(request)
            self._queue.append(request)

    def _add_due(self, now: float) -> None:
        heap = self._heap
        while heap and heap[0][0] <= now:
            due, request = heapq.heappop(heap)
            if self._due.get(request) == due:
                del self._due[request]
                self._add(request)

    def _add_change(self, resource: Resource, event: WatchEvent) -> None:
        self._changes.append((resource, event))
        if len(self._changes) == 1:
            self._on_first()

    def _handle_changes(self) -> None:
        while self._changes:
            resource, event = self._changes.popleft()
            if resource is PODS:
                old, new = self._pods.apply(event)
                for number, handle_pod in self._pod_handlers:
                    for key in handle_pod(old, new):
                        self._add((number, key))
            for number, handle in self._handlers.get(resource, ()):
                for key in handle(event):
                    self._add((number, key))
