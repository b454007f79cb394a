"""What the API server wrote down of the replicas' writes, joined with what the proxy saw of them.

The audit log has the author, the result and the times at the API server; the proxy's journal has
the time at which a replica sent the same request, under the same Audit-ID. What the API server had
not written down when it was killed is not here.
"""

from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from tools.soak.replicas import LEASE

_WRITES: Final = ["create", "update", "patch", "delete", "deletecollection"]


def policy(users: list[str]) -> dict[str, Any]:
    """What is written down: all writes of the replicas, with the bodies of Bindings and Leases."""
    rules: list[dict[str, Any]] = [
        {
            "level": "Request",
            "users": users,
            "verbs": _WRITES,
            "resources": [
                {"group": "", "resources": ["pods/binding"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
            ],
        },
        {"level": "Metadata", "users": users, "verbs": _WRITES},
        {"level": "None"},
    ]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": rules,
    }


class Write(NamedTuple):
    """A write that the API server answered.

    Attributes:
        user: whose.
        verb: Kubernetes' word.
        resource: such as ``pods/binding``.
        name: the object's.
        status: of the answer.
        sent: when the replica sent it, as the proxy saw it; when it came, if that is not known.
        came: when it came to the API server, in seconds since 1970.
        went: when it was answered.
        uid: of the pod that a Binding is for.
        node: that a Binding is for.
        holder: of the Lease after the write.
    """

    user: str
    verb: str
    resource: str
    name: str
    status: int
    sent: float
    came: float
    went: float
    uid: str = ""
    node: str = ""
    holder: str = ""

    @property
    def done(self) -> bool:
        """Whether it took effect."""
        return self.status < 300

    @property
    def of_lease(self) -> bool:
        """Whether it is a write of the Lease."""
        return self.resource == "leases" and self.name == LEASE


class _Lines:
    """A file that grows, read a line at a time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._offset = 0

    def new(self) -> list[bytes]:
        """The lines since the last time."""
        if not self._file.exists():
            return []
        with self._file.open("rb") as file:
            file.seek(self._offset)
            content = file.read()
        whole, _, _ = content.rpartition(b"\n")
        self._offset += len(whole) + 1 if whole else 0
        return whole.split(b"\n") if whole else []


class Audit:
    """All writes of the replicas, in the order in which they came to the API server.

    Args:
        audit_file: the API server's.
        journal: the proxy's.
    """

    def __init__(self, audit_file: Path, journal: Path) -> None:
        self._events = _Lines(audit_file)
        self._passed = _Lines(journal)
        self._sent: dict[str, float] = {}
        self._writes: list[Write] = []

    def writes(self) -> list[Write]:
        """All that were answered so far."""
        # The journal first: what it does not have yet, the API server cannot have written down.
        events = self._events.new()
        for line in self._passed.new():
            passed = msgspec.json.decode(line)
            if passed["method"] != "GET":
                self._sent[passed["audit_id"]] = passed["time"]
        self._writes += [self._write(msgspec.json.decode(line)) for line in events]
        self._writes.sort(key=lambda write: write.came)
        return self._writes

    def bindings(self) -> list[Write]:
        """The Bindings among them."""
        return [write for write in self.writes() if write.resource == "pods/binding"]

    def _write(self, event: dict[str, Any]) -> Write:
        target, body = event.get("objectRef") or {}, event.get("requestObject") or {}
        came = _seconds(event["requestReceivedTimestamp"])
        parts = [target.get("resource", ""), target.get("subresource", "")]
        metadata = body.get("metadata") or {}
        return Write(
            user=event["user"]["username"],
            verb=event["verb"],
            resource="/".join(part for part in parts if part),
            name=target.get("name") or metadata.get("name") or "",
            status=(event.get("responseStatus") or {}).get("code", 0),
            sent=self._sent.get(event["auditID"], came),
            came=came,
            went=_seconds(event["stageTimestamp"]),
            uid=metadata.get("uid", ""),
            node=(body.get("target") or {}).get("name", ""),
            holder=(body.get("spec") or {}).get("holderIdentity") or "",
        )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
