"""Who looks at which object when: the queue in front of all controllers.

Owns what was heard, what has to be looked at and when it is due again. `life` calls `Work.run` over
and over; controllers never call each other. Changes are only noted while the store is being
written, and heard right before the next object is looked at: a controller's indexes always include
what it wrote itself a moment ago, so that no controller needs to remember what it expects to see.
"""

import heapq
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from mooring.embedded.controllers.pod_index import PodIndex, SeenPod
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import PODS, Resource
from mooring.embedded.store import Entry, Store

#: Namespace and name of an object.
Key = tuple[str, str]
Heard = Callable[[Entry], Iterable[Key]]

log: Final = logging.getLogger(__name__)

_FIRST_RETRY: Final = 0.005
_LAST_RETRY: Final = 30.0
_CONFLICT: Final = 409


class Controller(Protocol):
    """Brings objects of one kind to what they should be."""

    @property
    def name(self) -> str:
        """For the log, and for events."""

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """For each resource beside pods: which objects to look at after a change of one."""

    def pod_changed(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:  # noqa: ARG002
        """Which objects to look at after a pod came, changed or went."""
        return ()

    def reconcile(self, key: Key, now: float) -> float | None:
        """Look at one object; it may be gone.

        Args:
            key: which one.
            now: seconds since 1970.

        Returns:
            In how many seconds to look again without being told, 0 for at once but after all
            others; None for not at all.

        Raises:
            Refused: the API refused something; the object is looked at again after a while.
        """
        ...


def own_key(entry: Entry) -> tuple[Key, ...]:
    """The changed object itself is to be looked at."""
    return ((entry.item.namespace, entry.item.name),)


class Work:
    """Everything that is to be done by a number of controllers.

    Args:
        store: what they listen to. Objects that are there already count as new.
        controllers: who works.
        pods: the pods, indexed; it is kept up to date here.
        noted: called when something was noted while nothing was; must be quick.
    """

    def __init__(
        self,
        store: Store,
        controllers: Sequence[Controller],
        pods: PodIndex,
        noted: Callable[[], None] = lambda: None,
    ) -> None:
        self._controllers = controllers
        self._pods = pods
        self._on_noted = noted
        self._noted: deque[tuple[Resource, Entry]] = deque()
        self._queue: deque[tuple[int, Key]] = deque()
        self._queued: set[tuple[int, Key]] = set()
        self._heap: list[tuple[float, tuple[int, Key]]] = []
        self._due: dict[tuple[int, Key], float] = {}
        self._failures: dict[tuple[int, Key], int] = {}
        self._heard: dict[Resource, list[tuple[int, Heard]]] = {}
        self._pod_heard = [
            (number, one.pod_changed)
            for number, one in enumerate(controllers)
            if type(one).pod_changed is not Controller.pod_changed
        ]
        for number, controller in enumerate(controllers):
            for resource, heard in controller.listens.items():
                self._heard.setdefault(resource, []).append((number, heard))
        for resource in dict.fromkeys((*self._heard, PODS)):
            store.listen(resource, partial(self._note, resource))
            for item in store.all(resource):
                self._note(resource, Entry("ADDED", item, None))

    def next_due(self) -> float | None:
        """When there is something to do: 0 for now, None for not until something changes."""
        if self._noted or self._queue:
            return 0.0
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # it was looked at earlier, and is due at another time
        return self._heap[0][0] if self._heap else None

    def run(self, now: float, limit: int) -> int:
        """Look at objects that are due.

        Args:
            now: seconds since 1970.
            limit: at how many objects at most.

        Returns:
            At how many it looked; fewer than the limit if there was no more to do.
        """
        for done in range(limit):
            self._hear()
            self._wake(now)
            if not self._queue:
                return done
            job = self._queue.popleft()
            self._queued.discard(job)
            self._due.pop(job, None)
            self._look(job, now)
        return limit

    def _look(self, job: tuple[int, Key], now: float) -> None:
        number, key = job
        controller = self._controllers[number]
        try:
            again = controller.reconcile(key, now)
        except Refused as refused:
            level = logging.DEBUG if refused.code == _CONFLICT else logging.WARNING
            log.log(level, "%s: %s: %s", controller.name, "/".join(filter(None, key)), refused)
            self._retry(job, now)
        except Exception:
            # One odd object must not stop the life of the whole cluster.
            log.exception("%s: %s could not be looked at", controller.name, "/".join(key))
            self._retry(job, now)
        else:
            self._failures.pop(job, None)
            if again is None:
                return
            if again <= 0:
                self._enqueue(job)
            else:
                self._later(job, now + again)

    def _retry(self, job: tuple[int, Key], now: float) -> None:
        failures = self._failures.get(job, 0)
        self._failures[job] = min(failures + 1, 32)
        self._later(job, now + min(_FIRST_RETRY * 2**failures, _LAST_RETRY))

    def _later(self, job: tuple[int, Key], due: float) -> None:
        self._due[job] = due
        heapq.heappush(self._heap, (due, job))

    def _enqueue(self, job: tuple[int, Key]) -> None:
        if job not in self._queued:
            self._queued.add(job)
            self._queue.append(job)

    def _wake(self, now: float) -> None:
        heap = self._heap
        while heap and heap[0][0] <= now:
            due, job = heapq.heappop(heap)
            if self._due.get(job) == due:
                del self._due[job]
                self._enqueue(job)

    def _note(self, resource: Resource, entry: Entry) -> None:
        self._noted.append((resource, entry))
        if len(self._noted) == 1:
            self._on_noted()

    def _hear(self) -> None:
        while self._noted:
            resource, entry = self._noted.popleft()
            if resource is PODS:
                old, new = self._pods.apply(entry)
                for number, pod_heard in self._pod_heard:
                    for key in pod_heard(old, new):
                        self._enqueue((number, key))
            for number, heard in self._heard.get(resource, ()):
                for key in heard(entry):
                    self._enqueue((number, key))
