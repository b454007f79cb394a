"""Server-side apply, and who owns which fields after any other write.

`api` calls it. Managed fields are kept only for objects that were applied once: until then all that
is in an object belongs to the one who made it. Whether the object is valid afterwards is for others
to see.
"""

from typing import Final

from mooring.embedded.patches.config_checking import form_problems, told
from mooring.embedded.patches.field_sets import FieldSet, Path, set_of
from mooring.embedded.patches.forms import Form, NotInForm, empty_object, form_of
from mooring.embedded.patches.json_values import Malformed, Value, copied
from mooring.embedded.patches.last_applied import applied_by_client, note_last_applied
from mooring.embedded.patches.managed_fields import (
    Managed,
    Owned,
    Owner,
    apply_conflict,
    cap_updaters,
    is_reset,
    keep_times,
    owner_of,
    read_managed,
    without_nobodys,
    write_managed,
)
from mooring.embedded.patches.merging_values import (
    MISSING,
    Comparison,
    compared,
    field_set,
    merged,
    with_named_fields,
    without,
)
from mooring.embedded.patches.patch_refusals import failed
from mooring.embedded.refusals import bad_request
from mooring.embedded.resources import Obj
from mooring.embedded.schema.definitions import Definition

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


class _Conflicts(Exception):  # noqa: N818 - reads as the sentence it is raised with
    """Others own what is to be changed."""

    def __init__(self, conflicts: list[tuple[Owner, Path]]) -> None:
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
        Refused: the config has not the form of its kind, or others own what it would change.
    """
    try:
        return _apply(
            live, config, kind, manager=manager, force=force, time=time, api_version=api_version,
            subresource=subresource, creator=creator,
        )  # fmt: skip
    except NotInForm as problem:
        where = _described(live or config)
        raise failed(f"failed to create typed live object ({where}): {problem}") from None


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
    form = form_of(kind.name)
    managed = _managed_of(before)
    if not managed and before:
        first = owner_of(creator, "Update", api_version, "")
        since = time
        if creator != BEFORE_FIRST_APPLY:
            since = (before.get("metadata") or {}).get("creationTimestamp") or time
        change = compared(empty_object(kind), before, form).without_trees(ignored)
        managed[first] = Owned(change.modified | change.added, api_version, since)
        without_nobodys(managed, first)
    problems = form_problems(config, form)
    if problems:
        where = _described(config)
        raise failed(f"failed to create typed patch object ({where}): {told(problems)}")
    owner = owner_of(manager, "Apply", api_version, subresource)
    wanted = Owned(field_set(config, form).without_trees(ignored), api_version, "")
    try:
        made, after = _applied(before, config, form, managed, owner, wanted, ignored, force=force)
    except _Conflicts as refused:
        conflicts = refused.conflicts
        if manager == _KUBECTL:
            allowed = applied_by_client(before, form, api_version)
            conflicts = [one for one in conflicts if not allowed.has(one[1])]
        if conflicts:
            raise apply_conflict(conflicts) from None
        made, after = _applied(before, config, form, managed, owner, wanted, ignored, force=True)
    if owner in after:
        since = managed[owner].time if owner in managed else ""
        changed = made is not before
        after[owner] = after[owner]._replace(time=time if changed else since)
        without_nobodys(after, owner)
    result: Obj = _without_nulls(made, form)
    metadata = result.setdefault("metadata", {})
    write_managed(metadata, after)
    if manager == _KUBECTL:
        note_last_applied(metadata, config)
    keep_times(before, result)
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
        change = compared(old, new, form_of(kind.name)).without_trees(_ignored(kind, subresource))
    except NotInForm:
        return  # as the real one does: nobody owns anything then
    managed = _lose(managed, change, None)
    writer = owner_of(manager, "Update", api_version, subresource)
    # Who scales has an entry without a time.
    # parity v1.36.4: apimachinery/pkg/util/managedfields/scalehandler.go
    since = "" if subresource == "scale" else time
    mine: Managed = {writer: Owned(change.modified | change.added, api_version, since)}
    without_nobodys(mine, writer)
    if writer in mine:
        if writer in managed:
            mine[writer] = mine[writer]._replace(
                fields=mine[writer].fields | managed[writer].fields
            )
        managed |= mine
    cap_updaters(managed)
    write_managed(metadata, managed)


def _managed_after_request(old: Obj, new: Obj, subresource: str) -> Managed:
    """The owners that a client says there are, or else those that there were."""
    entries = (new.get("metadata") or {}).get("managedFields")
    if not subresource:
        if is_reset(entries):
            return {}
        try:
            managed = read_managed(entries or [])
        except Malformed:
            managed = {}
        if managed:
            return managed
    try:
        return read_managed((old.get("metadata") or {}).get("managedFields") or [])
    except Malformed:
        return {}


def _managed_of(live: Obj) -> Managed:
    try:
        return read_managed((live.get("metadata") or {}).get("managedFields") or [])
    except Malformed as error:
        raise failed(f"failed to decode managed fields: {error}") from None


def _applied(
    live: Obj,
    config: Obj,
    form: Form,
    managed: Managed,
    owner: Owner,
    wanted: Owned,
    ignored: FieldSet,
    *,
    force: bool,
) -> tuple[Obj, Managed]:
    """The object with the config in it, and the owners; the very same object if it is equal."""
    # parity v1.36.4: structured-merge-diff/v6 merge/update.go
    made = merged(live, config, form)
    made = {} if made is MISSING else made
    after = {**managed, owner: wanted}
    if owner in managed and managed[owner].fields:
        everyone = FieldSet()
        for owned in after.values():
            everyone |= owned.fields
        made = _pruned(made, managed[owner].fields, everyone, form)
    change = compared(live, made, form).without_trees(ignored)
    if not force:
        touched = change.modified | change.added
        conflicts = [
            (other, path)
            for other in sorted(managed, key=lambda one: one.identity)
            if other != owner
            for path in (managed[other].fields & touched).paths()
        ]
        if conflicts:
            raise _Conflicts(conflicts)
    after = _lose(after, change, owner)
    return (live if made == live else made), after


def _lose(managed: Managed, change: Comparison, but: Owner | None) -> Managed:
    """The owners, without what was changed or removed; who owns nothing is gone."""
    gone = change.modified | change.added | change.removed
    left = {
        owner: owned if owner == but else owned._replace(fields=owned.fields - gone)
        for owner, owned in managed.items()
    }
    return {owner: owned for owner, owned in left.items() if owned.fields}


def _pruned(made: Obj, last: FieldSet, everyone: FieldSet, form: Form) -> Obj:
    """An object without what its manager applied the last time and nobody wants any more."""
    last = with_named_fields(last, form)
    there = with_named_fields(field_set(made, form), form)

    def left(gone: FieldSet) -> Value:
        return without(made, gone, form) or {}

    def fields_left(gone: FieldSet) -> FieldSet:
        return with_named_fields(field_set(left(gone), form), form)

    unowned = there - (fields_left(last) | with_named_fields(everyone, form))
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


def _without_nulls(value: Value, form: Form) -> Value:
    """A copy without fields that are null; in a map of texts, null is an empty one."""
    if form.base in ("struct", "map") and isinstance(value, dict):
        text = form.base == "map" and form.element.base == "string"
        made = {}
        for name, one in value.items():
            child = form.child(name)
            if one is not None and child is not None:
                made[name] = _without_nulls(one, child)
            elif text:
                made[name] = ""
        return made
    if form.base == "list" and isinstance(value, list):
        return [_without_nulls(one, form.element) for one in value]
    return copied(value)
