"""metadata.managedFields: who owns which fields of an object.

`server_side_apply` reads and writes it. An owner is a program together with the way in which it
writes: server-side apply or anything else, and through which subresource.
"""

from typing import Final, Literal, NamedTuple

from mooring.embedded.patches.field_sets import (
    FieldSet,
    Path,
    from_fields_v1,
    path_text,
    set_of,
    to_fields_v1,
)
from mooring.embedded.patches.json_values import Malformed, encode
from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import StatusError

Operation = Literal["Apply", "Update"]

#: So many managers that do not apply are kept apart; older ones become one.
MOST_MANAGERS: Final = 10
_ANCIENT: Final = "ancient-changes"

#: What nobody owns.
# parity v1.36.4: apimachinery/pkg/util/managedfields/internal/stripmeta.go
STRIPPED_FIELDS: Final = set_of(
    ("f:apiVersion",), ("f:kind",), ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName",
            "generation", "managedFields", "resourceVersion",
        )
    ),
)  # fmt: skip


class FieldManager(NamedTuple):
    """Who writes, and how.

    Attributes:
        manager: the program's name.
        operation: whether it uses server-side apply.
        api_version: what it writes; empty for one that applies, which has one entry only.
        subresource: through which subresource it writes, if any.
    """

    manager: str
    operation: Operation
    api_version: str
    subresource: str

    @property
    def text(self) -> str:
        """The owner as conflicts name it."""
        text = f'"{self.manager}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == "Update" else text

    @property
    def identity(self) -> str:
        """What conflicts are ordered by."""
        parts = {
            "manager": self.manager, "operation": self.operation, "apiVersion": self.api_version,
            "subresource": self.subresource,
        }  # fmt: skip
        return ",".join(f"{name}:{encode(value)}" for name, value in parts.items() if value)


class VersionedSet(NamedTuple):
    """What an owner has.

    Attributes:
        fields: the fields.
        api_version: the version of the object that they are fields of.
        time: when the entry was written last; empty if that is not known.
    """

    fields: FieldSet
    api_version: str
    time: str


#: The owners of an object's fields.
ManagedFields = dict[FieldManager, VersionedSet]


def field_manager(
    manager: str, operation: Operation, api_version: str, subresource: str
) -> FieldManager:
    """The owner that somebody is who writes in this way."""
    version = api_version if operation == "Update" else ""
    return FieldManager(manager or "unknown", operation, version, subresource)


def decode_managed_fields(entries: list[Obj]) -> ManagedFields:
    """The owners that managedFields name.

    Raises:
        Malformed: it makes no sense.
    """
    managed: ManagedFields = {}
    for number, entry in enumerate(entries):
        operation = entry.get("operation")
        if operation not in ("Apply", "Update"):
            raise Malformed("operation must be `Apply` or `Update`")
        version = entry.get("apiVersion") or ""
        if not version:
            raise Malformed("apiVersion must not be empty")
        kind = entry.get("fieldsType") or ""
        if not kind:
            raise Malformed(f"missing fieldsType in managed fields entry {number}")
        if kind != "FieldsV1":
            raise Malformed(f'invalid fieldsType "{kind}" in managed fields entry {number}')
        owner = FieldManager(
            entry.get("manager") or "", operation, version if operation == "Update" else "",
            entry.get("subresource") or "",
        )  # fmt: skip
        fields = from_fields_v1(entry.get("fieldsV1") or {})
        managed[owner] = VersionedSet(fields, version, entry.get("time") or "")
    return managed


def encode_managed_fields(metadata: Obj, managed: ManagedFields) -> None:
    """Put the owners into an object's metadata, in place."""
    entries = [_entry(owner, owned) for owner, owned in sorted(managed.items(), key=_order)]
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


def _entry(owner: FieldManager, owned: VersionedSet) -> Obj:
    return {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owned.api_version,
        **({"time": owned.time} if owned.time else {}),
        "fieldsType": "FieldsV1",
        "fieldsV1": to_fields_v1(owned.fields),
        **({"subresource": owner.subresource} if owner.subresource else {}),
    }


def _order(item: tuple[FieldManager, VersionedSet]) -> tuple[str, str, str, str, str]:
    # Times are all in one form, so that their texts are in the order of time.
    owner, owned = item
    return owner.operation, owned.time, owner.manager, owned.api_version, owner.subresource


def is_reset(entries: object) -> bool:
    """Whether a client wants managedFields to be forgotten: an empty list, or one empty entry."""
    return isinstance(entries, list) and (not entries or entries == [{}])


def strip_meta(managed: ManagedFields, owner: FieldManager) -> None:
    """Take from an owner what nobody owns, in place; an owner of nothing is none."""
    owned = managed.get(owner)
    if owned is not None:
        fields = owned.fields - STRIPPED_FIELDS
        if fields:
            managed[owner] = owned._replace(fields=fields)
        else:
            del managed[owner]


def cap_managers(managed: ManagedFields) -> None:
    """Make the oldest of too many updaters one, in place."""
    # parity v1.36.4: apimachinery/pkg/util/managedfields/internal/capmanagers.go
    updaters = [owner for owner in managed if owner.operation == "Update"]
    updaters.sort(key=lambda owner: (managed[owner].time, owner.identity))
    surplus = len(updaters) - MOST_MANAGERS
    first: dict[str, FieldManager] = {}
    for owner in updaters:
        if surplus <= 0:
            return
        owned = managed[owner]
        version = owned.api_version
        if version not in first:
            first[version] = owner
            continue
        bucket = FieldManager(_ANCIENT, "Update", version, "")
        if owner == bucket:
            continue
        if bucket not in managed:
            managed[bucket] = managed.pop(first[version])
        managed[bucket] = VersionedSet(owned.fields | managed[bucket].fields, version, owned.time)
        del managed[owner]
        surplus -= 1


def apply_conflict(conflicts: list[tuple[FieldManager, Path]]) -> StatusError:
    """Others own what somebody wants to change: 409."""
    # parity v1.36.4: apimachinery/pkg/util/managedfields/internal/conflict.go
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {owner.text}",
            "field": path_text(path),
        }
        for owner, path in conflicts
    ]
    if len(conflicts) == 1:
        message = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = []
        for owner in dict.fromkeys(owner for owner, _ in conflicts):
            lines.append(f"conflicts with {owner.text}:")
            lines += [f"- {path_text(path)}" for other, path in conflicts if other == owner]
        message = f"{len(conflicts)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {message}", {"causes": causes})


def keep_timestamps(old: Obj, new: Obj) -> None:
    """Give managedFields their old times back, in place, if nothing but the times has changed.

    So that a write without effect leaves the object, and its version, as they are.
    """
    # parity v1.36.4: apiserver/pkg/endpoints/handlers/fieldmanager/equality.go
    before, after = old.get("metadata") or {}, new.get("metadata") or {}
    entries, changed = before.get("managedFields") or [], after.get("managedFields") or []
    if not entries or _timeless(entries) != _timeless(changed) or entries == changed:
        return
    if {**old, "metadata": None} != {**new, "metadata": None}:
        return
    if {**before, "managedFields": None} == {**after, "managedFields": None}:
        after["managedFields"] = entries


def _timeless(entries: list[Obj]) -> list[Obj]:
    return [{**entry, "time": ""} for entry in entries]
