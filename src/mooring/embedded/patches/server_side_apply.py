"""Server-side apply, and who owns which fields after any other write.

`api` calls it. Managed fields are kept only for objects that were applied once: until then all that
is in an object belongs to the one who made it. Whether the object is valid afterwards is for others
to see.
"""

from typing import Final

from mooring.embedded.patches.apply_validation import problems_text, schema_problems
from mooring.embedded.patches.field_sets import FieldSet, Path, set_of
from mooring.embedded.patches.json_values import Malformed, Value, copied
from mooring.embedded.patches.last_applied import applied_by_client, note_last_applied
from mooring.embedded.patches.managed_fields import (
    FieldManager,
    ManagedFields,
    VersionedSet,
    apply_conflict,
    cap_managers,
    decode_managed_fields,
    encode_managed_fields,
    field_manager,
    is_reset,
    keep_timestamps,
    strip_meta,
)
from mooring.embedded.patches.patch_errors import internal_error
from mooring.embedded.patches.structured_merge import (
    MISSING,
    Comparison,
    compared,
    field_set,
    merged,
    with_named_fields,
    without,
)
from mooring.embedded.patches.typed_schema import (
    SchemaMismatch,
    TypeSchema,
    empty_object,
    schema_of,
)
from mooring.embedded.resources import Obj
from mooring.embedded.schema.definitions import Definition
from mooring.embedded.status_errors import bad_request

#: Who owns what was there before anything was applied, where nobody knows who made it.
BEFORE_FIRST_APPLY: Final = "before-first-apply"
_KUBECTL: Final = "kubectl"

# What a write does not change, whatever it says. parity v1.36.4: registry/*/strategy.go
# GetResetFields
_STATUS: Final = set_of(("f:status",))
_SPEC: Final = set_of(("f:spec",))
_KEPT_BY_STATUS: Final = {
    "Deployment": _SPEC | set_of(("f:metadata", "f:labels")),
    "Pod": _SPEC
    | set_of(("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
    "ResourceClaim": _SPEC | set_of(("f:metadata",)),
    "VolumeAttachment": _SPEC | set_of(("f:metadata",)),
}


class _ApplyConflicts(Exception):  # noqa: N818 - reads as the sentence it is raised with
    """Others own what is to be changed."""

    def __init__(self, conflicts: list[tuple[FieldManager, Path]]) -> None:
        super().__init__()
        self.conflicts = conflicts


def apply(
    live: Obj | None,
    config: Obj,
    kind: Definition,
    *,
    manager: str,
    force: bool,
    time: str,
    api_version: str,
    subresource: str = "",
    creator: str = BEFORE_FIRST_APPLY,
) -> Obj:
    """The object after somebody has applied what it should be like.

    An apply that changes nothing returns what is equal to the given object. The given ones are not
    changed.

    Args:
        live: the object; None if it does not exist yet.
        config: what the manager wants; fields that it wanted earlier and does not name any more are
            removed, unless somebody else owns them, too.
        kind: the definition of the object.
        manager: who applies.
        force: take fields from those who own them.
        time: now.
        api_version: the version of the config and of the object.
        subresource: through which subresource it is applied, if any.
        creator: who owns what is in an object that has no managed fields.

    Raises:
        StatusError: the config does not match the schema of its kind, or others own what it would
            change.
    """
    try:
        return _apply(
            live, config, kind, manager=manager, force=force, time=time, api_version=api_version,
            subresource=subresource, creator=creator,
        )  # fmt: skip
    except SchemaMismatch as problem:
        where = _described(live or config)
        raise internal_error(f"failed to create typed live object ({where}): {problem}") from None


def _apply(
    live: Obj | None,
    config: Obj,
    kind: Definition,
    *,
    manager: str,
    force: bool,
    time: str,
    api_version: str,
    subresource: str,
    creator: str,
) -> Obj:
    _check(config, kind, api_version)
    before = live or {}
    ignored = _ignored(kind, subresource)
    schema = schema_of(kind.name)
    managed = _managed_of(before)
    if not managed and before:
        first = field_manager(creator, "Update", api_version, "")
        since = time
        if creator != BEFORE_FIRST_APPLY:
            since = (before.get("metadata") or {}).get("creationTimestamp") or time
        change = compared(empty_object(kind), before, schema).without_trees(ignored)
        managed[first] = VersionedSet(change.modified | change.added, api_version, since)
        strip_meta(managed, first)
    problems = schema_problems(config, schema)
    if problems:
        where = _described(config)
        raise internal_error(
            f"failed to create typed patch object ({where}): {problems_text(problems)}"
        )
    owner = field_manager(manager, "Apply", api_version, subresource)
    wanted = VersionedSet(field_set(config, schema).without_trees(ignored), api_version, "")
    try:
        made, after = _applied(before, config, schema, managed, owner, wanted, ignored, force=force)
    except _ApplyConflicts as error:
        conflicts = error.conflicts
        if manager == _KUBECTL:
            allowed = applied_by_client(before, schema, api_version)
            conflicts = [one for one in conflicts if not allowed.has(one[1])]
        if conflicts:
            raise apply_conflict(conflicts) from None
        made, after = _applied(before, config, schema, managed, owner, wanted, ignored, force=True)
    if owner in after:
        since = managed[owner].time if owner in managed else ""
        changed = made is not before
        after[owner] = after[owner]._replace(time=time if changed else since)
        strip_meta(after, owner)
    result: Obj = _without_nulls(made, schema)
    metadata = result.setdefault("metadata", {})
    encode_managed_fields(metadata, after)
    if manager == _KUBECTL:
        note_last_applied(metadata, config)
    keep_timestamps(before, result)
    return result


def track_update(
    old: Obj,
    new: Obj,
    kind: Definition,
    *,
    manager: str,
    time: str,
    api_version: str,
    subresource: str = "",
) -> None:
    """Note in an object, in place, who owns what after a write that was no apply.

    What changed belongs to the writer, and to nobody else any more. An object whose fields nobody
    owns, or of which a client wants that to be forgotten, has no managed fields afterwards.

    Args:
        old: the object before.
        new: the object that is to be stored.
        kind: the definition of the object.
        manager: who writes.
        time: now.
        api_version: the version of the objects.
        subresource: through which subresource it is written, if any.
    """
    # parity v1.36.4: apimachinery/pkg/util/managedfields/internal/fieldmanager.go
    managed = _managed_after_request(old, new, subresource)
    metadata = new["metadata"]
    metadata.pop("managedFields", None)
    if not managed:
        return
    try:
        change = compared(old, new, schema_of(kind.name)).without_trees(_ignored(kind, subresource))
    except SchemaMismatch:
        return  # as the real one does: nobody owns anything then
    managed = _lose(managed, change, None)
    writer = field_manager(manager, "Update", api_version, subresource)
    # Who scales has an entry without a time.
    # parity v1.36.4: apimachinery/pkg/util/managedfields/scalehandler.go
    since = "" if subresource == "scale" else time
    mine: ManagedFields = {writer: VersionedSet(change.modified | change.added, api_version, since)}
    strip_meta(mine, writer)
    if writer in mine:
        if writer in managed:
            mine[writer] = mine[writer]._replace(
                fields=mine[writer].fields | managed[writer].fields
            )
        managed |= mine
    cap_managers(managed)
    encode_managed_fields(metadata, managed)


def _managed_after_request(old: Obj, new: Obj, subresource: str) -> ManagedFields:
    """The owners that a client says there are, or else those that there were."""
    entries = (new.get("metadata") or {}).get("managedFields")
    if not subresource:
        if is_reset(entries):
            return {}
        try:
            managed = decode_managed_fields(entries or [])
        except Malformed:
            managed = {}
        if managed:
            return managed
    try:
        return decode_managed_fields((old.get("metadata") or {}).get("managedFields") or [])
    except Malformed:
        return {}


def _managed_of(live: Obj) -> ManagedFields:
    try:
        return decode_managed_fields((live.get("metadata") or {}).get("managedFields") or [])
    except Malformed as error:
        raise internal_error(f"failed to decode managed fields: {error}") from None


def _applied(
    live: Obj,
    config: Obj,
    schema: TypeSchema,
    managed: ManagedFields,
    owner: FieldManager,
    wanted: VersionedSet,
    ignored: FieldSet,
    *,
    force: bool,
) -> tuple[Obj, ManagedFields]:
    """The object with the config in it, and the owners; the very same object if it is equal."""
    # parity v1.36.4: structured-merge-diff/v6 merge/update.go
    made = merged(live, config, schema)
    made = {} if made is MISSING else made
    after = {**managed, owner: wanted}
    if owner in managed and managed[owner].fields:
        everyone = FieldSet()
        for owned in after.values():
            everyone |= owned.fields
        made = _pruned(made, managed[owner].fields, everyone, schema)
    change = compared(live, made, schema).without_trees(ignored)
    if not force:
        touched = change.modified | change.added
        conflicts = [
            (other, path)
            for other in sorted(managed, key=lambda one: one.identity)
            if other != owner
            for path in (managed[other].fields & touched).paths()
        ]
        if conflicts:
            raise _ApplyConflicts(conflicts)
    after = _lose(after, change, owner)
    return (live if made == live else made), after


def _lose(managed: ManagedFields, change: Comparison, but: FieldManager | None) -> ManagedFields:
    """The owners, without what was changed or removed; who owns nothing is gone."""
    gone = change.modified | change.added | change.removed
    left = {
        owner: owned if owner == but else owned._replace(fields=owned.fields - gone)
        for owner, owned in managed.items()
    }
    return {owner: owned for owner, owned in left.items() if owned.fields}


def _pruned(made: Obj, last: FieldSet, everyone: FieldSet, schema: TypeSchema) -> Obj:
    """An object without what its manager applied the last time and nobody wants any more."""
    last = with_named_fields(last, schema)
    there = with_named_fields(field_set(made, schema), schema)

    def left(gone: FieldSet) -> Value:
        return without(made, gone, schema) or {}

    def fields_left(gone: FieldSet) -> FieldSet:
        return with_named_fields(field_set(left(gone), schema), schema)

    unowned = there - (fields_left(last) | with_named_fields(everyone, schema))
    # What nobody owns is not removed, unless it was this manager's.
    pruned: Obj = left((there - fields_left(unowned)) & last)
    return pruned


def _check(config: Obj, kind: Definition, api_version: str) -> None:
    if (config.get("apiVersion"), config.get("kind")) != (api_version, kind.kind):
        raise bad_request(f"invalid object type: {_kind_text(config)}")
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")


def _described(config: Obj) -> str:
    metadata = config.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    place = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    return f"{place}; {_kind_text(config)}"


def _kind_text(config: Obj) -> str:
    group, slash, version = str(config.get("apiVersion") or "").rpartition("/")
    return f"{group}{slash or '/'}{version}, Kind={config.get('kind') or ''}"


def _ignored(kind: Definition, subresource: str) -> FieldSet:
    if subresource == "status":
        return _KEPT_BY_STATUS.get(kind.kind, _SPEC)
    return _STATUS


def _without_nulls(value: Value, schema: TypeSchema) -> Value:
    """A copy without fields that are null; in a map of texts, null is an empty one."""
    if schema.base in ("struct", "map") and isinstance(value, dict):
        text = schema.base == "map" and schema.element.base == "string"
        made = {}
        for name, one in value.items():
            child = schema.child(name)
            if one is not None and child is not None:
                made[name] = _without_nulls(one, child)
            elif text:
                made[name] = ""
        return made
    if schema.base == "list" and isinstance(value, list):
        return [_without_nulls(one, schema.element) for one in value]
    return copied(value)
