"""What all controllers share: the objects they reconcile, and which changes concern them.

A controller names the resource that it reconciles and the changes that concern its objects; the
`workqueue` calls it. `Controller.reconcile` reads the object and hands it to `sync`, or says to
`sync_deleted` that it is gone.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final

from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.resources import Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent

#: Which objects to reconcile after a change.
EventHandler = Callable[[WatchEvent], Iterable[Key]]

#: An owner of more pods than this is not reconciled for each of their changes.
_MANY: Final = 200
_SECONDS_FOR_EACH: Final = 0.0001


class Controller:
    """Brings objects of one resource to what their specs say.

    Args:
        client: reads and writes objects.
        pods: all pods.

    Attributes:
        resource: what it reconciles.
        throttled: whether owners of many pods wait between two reconciliations.
    """

    resource: Resource
    throttled: ClassVar[bool] = False

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        self._client = client
        self._pods = pods
        self._throttle = OwnerThrottle()

    @property
    def name(self) -> str:
        """For the log, and for events."""
        return self._client.component

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """For each resource beside pods: which objects to reconcile after a change of one."""
        return {self.resource: own_key}

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:  # noqa: ARG002
        """Which objects to reconcile after a pod came, changed or went."""
        return ()

    def reconcile(self, key: Key, now: float) -> float | None:
        """Reconcile one object; it may be gone.

        Args:
            key: which one.
            now: seconds since 1970.

        Returns:
            In how many seconds to reconcile it again without a change, 0 for at once but after all
            others; None for not at all.

        Raises:
            StatusError: the API rejected something; the object is reconciled again after a while.
        """
        item = self._client.store.get(self.resource, *key)
        if item is None:
            return self.sync_deleted(key, now)
        if self.throttled:
            wait = self._throttle.wait(key, now)
            if wait is not None:
                return wait
        return self.sync(key, item, now)

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Bring an object nearer to what its spec says; returns the same as `reconcile`."""
        raise NotImplementedError

    def sync_deleted(self, key: Key, now: float) -> float | None:  # noqa: ARG002
        """Clean up after an object that is gone; returns the same as `reconcile`."""
        return None

    def _controlling(self, pod: PodSummary | None) -> tuple[Key, ...]:
        """The object that controls a pod, if it is one of this controller's."""
        if pod is None or pod.owner is None or pod.owner.kind != self.resource.kind:
            return ()
        return ((pod.key[0], pod.owner.name),)


class OwnerThrottle:
    """Keeps owners of thousands of pods from being reconciled after each change of one pod."""

    def __init__(self) -> None:
        self._until: dict[Key, float] = {}

    def wait(self, key: Key, now: float) -> float | None:
        """In how many seconds to reconcile the owner; None for now."""
        until = self._until.get(key)
        if until is None or until <= now:
            self._until.pop(key, None)
            return None
        return until - now

    def synced(self, key: Key, count: int, now: float) -> None:
        """The owner was reconciled, and nothing is left to do until one of its pods changes."""
        if count > _MANY:
            self._until[key] = now + count * _SECONDS_FOR_EACH


def own_key(event: WatchEvent) -> tuple[Key, ...]:
    """The changed object itself is to be reconciled."""
    return ((event.item.namespace, event.item.name),)
