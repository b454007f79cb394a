"""What controllers need of an API: the part of `Api` through which `controller_client` works.

Another implementation lets controllers run on a mirror of a real cluster; see
`mooring.testing.resource_claim_controllers`.
"""

from typing import Protocol

from mooring.embedded.api import DEFAULT_WRITE, WriteOptions
from mooring.embedded.patches.patch import Patch
from mooring.embedded.resources import Obj, Resource
from mooring.embedded.store import Store
from mooring.embedded.stored_object import StoredObject


class ControllerApi(Protocol):
    """What controllers need of an API; the methods are those of `Api`.

    Attributes:
        store: everything there is, as far as is known; to read.
    """

    store: Store

    def get(self, resource: Resource, namespace: str, name: str) -> StoredObject:
        """One object as it is now, even if the store does not have it yet."""

    def create(
        self, resource: Resource, obj: Obj, namespace: str = "", write: WriteOptions = DEFAULT_WRITE
    ) -> StoredObject:
        """Create an object."""

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

    def delete(
        self, resource: Resource, namespace: str, name: str, options: Obj | None = None
    ) -> tuple[StoredObject, bool]:
        """Delete an object."""
