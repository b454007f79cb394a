"""A mirror of some resources of a real API server, in place of the embedded API.

Lets controllers of the embedded cluster work for any API server: they read the mirror's store, and
write over HTTP. `ResourceClaimControllers` fills the store with what watches bring; what is written
is in it at once, so that no controller acts on what it has just changed.
"""

from urllib.parse import urlencode

from mooring.embedded.api import DEFAULT_WRITE, WriteOptions
from mooring.embedded.patches.patch import Patch
from mooring.embedded.resources import Obj, Resource
from mooring.embedded.status_errors import StatusError, not_found
from mooring.embedded.store import Store
from mooring.embedded.stored_object import StoredObject
from mooring.errors import ApiError
from mooring.testing.api_client import ApiClient


class MirroredApi:
    """Implements `ControllerApi`.

    Args:
        client: sends requests to the API server.

    Attributes:
        store: what is known of the cluster.
    """

    def __init__(self, client: ApiClient) -> None:
        self.store = Store()
        self._client = client

    def observe(self, resource: Resource, obj: Obj) -> StoredObject:
        """Put an object of the API server into the store, unless a newer one is there."""
        metadata = obj["metadata"]
        version = int(metadata["resourceVersion"])
        known = self.store.get(resource, metadata.get("namespace", ""), metadata["name"])
        if known is not None and known.version >= version:
            return known
        # The store counts versions itself; here they are the API server's.
        self.store.version = version - 1
        whole = {**obj, "kind": resource.kind, "apiVersion": resource.api_version}
        return self.store.put(resource, whole)

    def forget(self, resource: Resource, obj: Obj) -> None:
        """An object of the API server is gone."""
        metadata = obj["metadata"]
        key = metadata.get("namespace", ""), metadata["name"]
        known = self.store.get(resource, *key)
        if known is not None and known.uid == metadata.get("uid"):
            self.store.remove(resource, *key)

    # -- what controllers call

    def get(self, resource: Resource, namespace: str, name: str) -> StoredObject:
        """One object as the API server has it now."""
        return self._stored(resource, self._send("GET", resource, namespace, name))

    def create(
        self, resource: Resource, obj: Obj, namespace: str = "", write: WriteOptions = DEFAULT_WRITE
    ) -> StoredObject:
        """Create an object."""
        made = self._send("POST", resource, namespace, "", obj, fieldManager=write.field_manager)
        return self.observe(resource, made)

    def update(
        self,
        resource: Resource,
        obj: Obj,
        namespace: str,
        name: str,
        *,
        subresource: str = "",
        write: WriteOptions = DEFAULT_WRITE,
    ) -> StoredObject:
        """Replace an object."""
        part = f"{name}/{subresource}" if subresource else name
        manager = write.field_manager
        changed = self._send("PUT", resource, namespace, part, obj, fieldManager=manager)
        if _is_gone(changed):
            # It was the last finalizer: a watch will say that the object is gone.
            return self._stored(resource, changed)
        return self.observe(resource, changed)

    def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Patch,
        *,
        subresource: str = "",
        write: WriteOptions = DEFAULT_WRITE,
    ) -> tuple[StoredObject, bool]:
        """Change an object by a patch."""
        part = f"{name}/{subresource}" if subresource else name
        query = {"fieldManager": write.field_manager, **({"force": "true"} if write.force else {})}
        changed = self._send(
            "PATCH", resource, namespace, part, patch.document(), content_type=patch.type, **query
        )
        return self.observe(resource, changed), False

    def delete(
        self, resource: Resource, namespace: str, name: str, options: Obj | None = None
    ) -> tuple[StoredObject, bool]:
        """Delete an object; a watch will say when it is gone."""
        known = self.store.get(resource, namespace, name)
        if known is None:
            raise not_found(resource, name)
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **(options or {})}
        self._send("DELETE", resource, namespace, name, body)
        return known, False

    def _stored(self, resource: Resource, obj: Obj) -> StoredObject:
        return StoredObject(resource, obj, int(obj["metadata"]["resourceVersion"]), "")

    def _send(
        self,
        method: str,
        resource: Resource,
        namespace: str,
        name: str,
        body: Obj | None = None,
        *,
        content_type: str = "application/json",
        **query: str,
    ) -> Obj:
        path = self._client.path(
            resource.kind, name, namespace or None, api_version=resource.api_version
        )
        path = f"{path}?{urlencode(query)}" if query else path
        try:
            answer: Obj = self._client.request(method, path, body, content_type=content_type)
        except ApiError as error:
            text = str(error).partition(": ")[2] or str(error)
            raise StatusError(error.status, error.reason, text) from error
        return answer


def _is_gone(obj: Obj) -> bool:
    metadata = obj["metadata"]
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers")
