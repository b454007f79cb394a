"""How a controller writes: objects it owns, statuses that changed, deletions, events.

Every controller has a `ControllerClient` with its own name. Owns nothing but the event recorder;
all writes go through `Api`, in which they are checked like any other client's. In its place there
can be another `ControllerApi`, such as one that writes to a real API server.
"""

from typing import Final

import msgspec

from mooring.embedded.api import WriteOptions
from mooring.embedded.controllers.controller_api import ControllerApi
from mooring.embedded.controllers.event_recorder import EventRecorder
from mooring.embedded.patches.patch import APPLY, Patch
from mooring.embedded.resources import Obj, Resource
from mooring.embedded.status_errors import StatusError
from mooring.embedded.stored_object import StoredObject

_GONE: Final = 404
_CONFLICT: Final = 409


class ControllerClient:
    """Reads and writes objects on behalf of one component.

    Args:
        api: where.
        component: such as ``replicaset-controller``; the source of its events.
        manager: the field manager; the program that the component is part of.
        events: whether to record events at all.

    Attributes:
        store: everything there is, to read.
    """

    def __init__(
        self,
        api: ControllerApi,
        component: str,
        *,
        manager: str = "kube-controller-manager",
        events: bool = True,
    ) -> None:
        self._api = api
        self._write: Final = WriteOptions(field_manager=manager)
        self.component = component
        self.store = api.store
        self._recorder = EventRecorder(api, self._write, component) if events else None

    def read(self, resource: Resource, namespace: str, name: str) -> StoredObject | None:
        """One object as it is now, whether or not the store has it; None if there is none."""
        try:
            return self._api.get(resource, namespace, name)
        except StatusError as error:
            if error.code != _GONE:
                raise
            return None

    def create(self, resource: Resource, obj: Obj, namespace: str = "") -> StoredObject:
        """Create an object.

        Raises:
            StatusError: it exists, or may not exist.
        """
        return self._api.create(resource, obj, namespace, self._write)

    def update(self, resource: Resource, obj: Obj, subresource: str = "") -> StoredObject:
        """Write a changed object back.

        Raises:
            StatusError: it changed meanwhile, or may not be so.
        """
        metadata = obj["metadata"]
        return self._api.update(
            resource,
            obj,
            metadata.get("namespace", ""),
            metadata["name"],
            subresource=subresource,
            write=self._write,
        )

    def set_status(self, resource: Resource, item: StoredObject, obj: Obj, status: Obj) -> bool:
        """Write a status unless the stored one is the same; whether it was written.

        Args:
            resource: what the object is.
            item: the object as it is stored.
            obj: the same, decoded; it is changed.
            status: what the status shall be. Fields that are None are left out.
        """
        status = {name: value for name, value in status.items() if value is not None}
        if (item.obj.get("status") or {}) == status:
            return False
        obj["status"] = status
        obj["metadata"]["resourceVersion"] = str(item.version)
        self.update(resource, obj, "status")
        return True

    def apply_status(
        self, resource: Resource, item: StoredObject, status: Obj, manager: str
    ) -> StoredObject:
        """Set some fields of a status by server-side apply, whoever set them before.

        Args:
            resource: what the object is.
            item: the object.
            status: the fields.
            manager: on whose behalf they are set.

        Raises:
            StatusError: the object is gone, or may not be so.
        """
        metadata = {"name": item.name, "uid": item.uid}
        if item.namespace:
            metadata["namespace"] = item.namespace
        body: Obj = {"apiVersion": resource.api_version, "kind": resource.kind}
        patch = Patch(APPLY, msgspec.json.encode({**body, "metadata": metadata, "status": status}))
        applied, _ = self._api.patch(
            resource,
            item.namespace,
            item.name,
            patch,
            subresource="status",
            write=WriteOptions(field_manager=manager, force=True),
        )
        return applied

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        uid: str = "",
        *,
        grace: int | None = None,
        propagation: str = "",
    ) -> bool:
        """Delete an object if it is still there; whether it was.

        Args:
            resource: what it is.
            namespace: where it is.
            name: its name.
            uid: delete it only if it has this id.
            grace: seconds it may take; None for as long as the object itself says.
            propagation: what becomes of the objects it owns.
        """
        options: Obj = {}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if propagation:
            options["propagationPolicy"] = propagation
        try:
            self._api.delete(resource, namespace, name, options)
        except StatusError as error:
            if error.code == _GONE or (uid and error.code == _CONFLICT):
                return False
            raise
        return True

    def record_event(
        self, obj: Obj, kind: str, reason: str, message: str, now: float, *, host: str = ""
    ) -> None:
        """Record an event about an object.

        Args:
            obj: the object, whole.
            kind: ``Normal`` or ``Warning``.
            reason: one word.
            message: a sentence.
            now: seconds since 1970.
            host: the node on which it happened.
        """
        if self._recorder is not None:
            self._recorder.record(obj, kind, reason, message, now, host)
