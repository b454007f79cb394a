"""A ``coordination.k8s.io/v1`` Lease: its fields, its rules, and how to read and write it.

`leader` calls it. Nothing here decides who leads.
"""

import socket
import uuid
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from mooring.errors import InputError
from mooring.kube.client import api_path

T = TypeVar("T")

# parity v1.36.4: client-go/tools/leaderelection/leaderelection.go
JITTER = 1.2
_LEAST_REQUEST_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """Which Lease, and how long everything about it takes; the defaults are kube-scheduler's.

    Attributes:
        namespace: the Lease's.
        name: the Lease's.
        lease_seconds: others wait so long after the last renewal they saw, then they take it.
        renew_seconds: the leader tries so long to renew before it gives up.
        retry_seconds: the pause between two tries.
        release_on_stop: give the Lease up at the end, so that another need not wait.
    """

    namespace: str = "kube-system"
    name: str = "kube-scheduler"
    lease_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0
    release_on_stop: bool = True

    def __post_init__(self) -> None:
        """Reject times with which two could lead at once, or a leader could never renew.

        Raises:
            InputError: which time is wrong.
        """
        if self.retry_seconds <= 0:
            raise InputError(f"retryPeriod is {self.retry_seconds:g}s; it must be greater than 0s.")
        if self.renew_seconds <= JITTER * self.retry_seconds:
            raise InputError(
                f"renewDeadline is {self.renew_seconds:g}s; it must be greater than {JITTER} "
                f"times retryPeriod, which is {self.retry_seconds:g}s."
            )
        if self.stored_seconds <= self.renew_seconds:
            raise InputError(
                f"leaseDuration is {self.stored_seconds}s; it must be greater than "
                f"renewDeadline, which is {self.renew_seconds:g}s."
            )

    @property
    def stored_seconds(self) -> int:
        """The lease's duration as others read it: whole seconds."""
        return int(self.lease_seconds)

    @property
    def hold_seconds(self) -> float:
        """How long after sending a renewal the leader may still call itself one.

        client-go retries for `renew_seconds` from its next try on, a pause after the last answer.
        Here the time counts from when the renewal was sent, so that a slow answer does not make
        it longer, and always ends well before others may take over.
        """
        return min(
            self.renew_seconds + self.retry_seconds, (self.renew_seconds + self.stored_seconds) / 2
        )

    @property
    def request_seconds(self) -> float:
        """The time limit of one request: one that hangs must not cost the leadership."""
        # parity v1.36.4: resourcelock/interface.go NewFromKubeconfig
        return max(self.renew_seconds / 2, _LEAST_REQUEST_SECONDS)


def make_identity() -> str:
    """A name that no other process has, beginning with this machine's."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """Who holds a Lease since when; times are as the API server writes them."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None

    @property
    def holder(self) -> str:
        """Who holds it; empty if nobody does."""
        return self.holder_identity or ""


class Lease(msgspec.Struct, frozen=True, rename="camel"):
    """A Lease; its metadata is kept as it is, so that writing it loses no label."""

    metadata: dict[str, object]
    spec: LeaseSpec = LeaseSpec()
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"


class LeaseClient(Protocol):
    """The part of `client.Client` that a Lease needs."""

    async def get(self, path: str, type_: type[T], *, seconds: float | None = None) -> T:
        """Read one object."""
        ...

    async def create(
        self, path: str, body: object, type_: type[T], *, seconds: float | None = None
    ) -> T:
        """Create an object in a collection."""
        ...

    async def replace(
        self, path: str, body: object, type_: type[T], *, seconds: float | None = None
    ) -> T:
        """Replace an object, if it has not changed since."""
        ...


class LeaseLock:
    """Reads and writes one Lease.

    Errors are those of `client.Client`: `ApiError` with 404 if there is none, 409 if another was
    faster.
    """

    def __init__(self, client: LeaseClient, namespace: str, name: str) -> None:
        self._client = client
        self._metadata: dict[str, object] = {"name": name, "namespace": namespace}
        self._collection = api_path(
            "apis", "coordination.k8s.io", "v1", "namespaces", namespace, "leases"
        )
        self._path = self._collection + api_path(name)

    async def get(self, seconds: float) -> Lease:
        """Read it."""
        return await self._client.get(self._path, Lease, seconds=seconds)

    async def create(self, spec: LeaseSpec, seconds: float) -> Lease:
        """Create it."""
        body = Lease(metadata=self._metadata, spec=spec)
        return await self._client.create(self._collection, body, Lease, seconds=seconds)

    async def update(self, lease: Lease, spec: LeaseSpec, seconds: float) -> Lease:
        """Write another spec to it, if nobody wrote since it was read."""
        metadata = {key: value for key, value in lease.metadata.items() if key != "managedFields"}
        body = Lease(metadata=metadata, spec=spec)
        return await self._client.replace(self._path, body, Lease, seconds=seconds)
