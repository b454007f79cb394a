"""How a controller writes: objects it owns, statuses that changed, deletions, events.

Every controller has a `Hand` with its own name. Owns nothing but the recorder of events; all
writing goes through `Api`, in which it is checked like a client's.
"""

from typing import Final

from mooring.embedded.api import Api, Caller, Write
from mooring.embedded.controllers.recorder import Recorder
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import Obj, Resource
from mooring.embedded.store import Item

_GONE: Final = 404
_CONFLICT: Final = 409


class Hand:
    """Writes on behalf of one component.

    Args:
        api: where.
        component: such as ``replicaset-controller``; the source of its events.
        manager: the field manager; the program that the component is part of.
        events: whether to write events at all.

    Attributes:
        store: everything there is, to read.
    """

    def __init__(
        self,
        api: Api,
        component: str,
        *,
        manager: str = "kube-controller-manager",
        events: bool = True,
    ) -> None:
        self._api = api
        user = f"system:serviceaccount:kube-system:{component}"
        self.write: Final = Write(caller=Caller(user=user, manager=manager))
        self.component = component
        self.store = api.store
        self._recorder = Recorder(api, self.write, component) if events else None

    def create(self, resource: Resource, obj: Obj, namespace: str = "") -> Item:
        """Create an object.

        Raises:
            Refused: it exists, or may not exist.
        """
        return self._api.create(resource, obj, namespace, self.write)

    def update(self, resource: Resource, obj: Obj, subresource: str = "") -> Item:
        """Write a changed object back.

        Raises:
            Refused: it changed meanwhile, or may not be so.
        """
        metadata = obj["metadata"]
        return self._api.update(
            resource,
            obj,
            metadata.get("namespace", ""),
            metadata["name"],
            subresource=subresource,
            write=self.write,
        )

    def set_status(self, resource: Resource, item: Item, obj: Obj, status: Obj) -> bool:
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
        except Refused as refused:
            if refused.code == _GONE or (uid and refused.code == _CONFLICT):
                return False
            raise
        return True

    def tell(
        self, obj: Obj, kind: str, reason: str, message: str, now: float, *, host: str = ""
    ) -> None:
        """Write an event about an object.

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


def controller_reference(obj: Obj) -> Obj:
    """The entry of ownerReferences that makes an object controlled by this one."""
    metadata = obj["metadata"]
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_uid(obj: Obj) -> str:
    """The id of the object that controls this one; empty if none does."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner.get("uid", ""))
    return ""
