"""The API without HTTP: what can be done with objects, and what must hold afterwards.

`app` calls it for requests, the kubelet and the controllers call it in process; so everything that
is written is defaulted, admitted, validated, versioned and seen by watches in the same way. It does
no I/O; the clock and the source of ids are passed in.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from mooring.embedded import graceful_deletion, object_meta, scale_subresource
from mooring.embedded.admission.admission import Admission, check_namespace_delete
from mooring.embedded.admission.strategy import prepare_for_create, prepare_for_update
from mooring.embedded.defaults.defaults import set_defaults
from mooring.embedded.event_conversion import to_core_v1, to_events_v1
from mooring.embedded.patches.managed_fields import keep_timestamps
from mooring.embedded.patches.patch import APPLY, Patch, apply_patch
from mooring.embedded.patches.patch_errors import invalid_after_patch
from mooring.embedded.patches.server_side_apply import apply, track_update
from mooring.embedded.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CORE_EVENTS,
    ENDPOINTS,
    EVENTS,
    LEASES,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    RUNTIME_CLASSES,
    SERVICES,
    Obj,
    Resource,
)
from mooring.embedded.schema.field_validation import check_fields, definition_of
from mooring.embedded.status_errors import (
    StatusError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from mooring.embedded.store import Store
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.validation.validation import validate
from mooring.kube.timestamps import second_time

Validation = Literal["Ignore", "Warn", "Strict"]

_encode = msgspec.json.Encoder().encode
_NAMESPACE: Final[Obj] = {"kind": "Namespace", "apiVersion": "v1"}
_KEPT_WHEN_RESTORED: Final = ("deletionTimestamp", "deletionGracePeriodSeconds", "generation")
#: Events are kept for so long, in seconds, as a real API server does.
EVENT_SECONDS: Final = 3600.0
_ATTEMPTS: Final = 8
# parity v1.36.4: registry/*/strategy.go AllowCreateOnUpdate
_CREATED_BY_UPDATE: Final = frozenset(
    {CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, CORE_EVENTS, ENDPOINTS, EVENTS, LEASES, LIMIT_RANGES,
     ROLES, ROLE_BINDINGS, RUNTIME_CLASSES, SERVICES}
)  # fmt: skip


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How something is to be written.

    Attributes:
        field_manager: the program on whose behalf fields are set.
        dry_run: do everything but store it.
        validation: what to do about fields that do not exist.
        force: server-side apply takes fields from other managers.
    """

    field_manager: str = "mooring"
    dry_run: bool = False
    validation: Validation = "Ignore"
    force: bool = False


class AdmissionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which optional admission plugins are enabled.

    Attributes:
        service_accounts: a pod without a service account gets the namespace's default one.
        taint_new_nodes: a new node is not ready until somebody says so.
    """

    service_accounts: bool = False
    taint_new_nodes: bool = False


DEFAULT_WRITE: Final = WriteOptions()
DEFAULT_SETTINGS: Final = AdmissionSettings()


class Api:
    """All verbs for all resources.

    Args:
        store: where objects are kept.
        clock: seconds since 1970.
        new_id: unique ids for objects.
        suffix: five characters for generated names.
        settings: which optional admission plugins are enabled.

    Attributes:
        store: where objects are kept.
        admission: what the cluster allows.
        warnings: for the client, about the last write.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        suffix: Callable[[], str],
        settings: AdmissionSettings = DEFAULT_SETTINGS,
    ) -> None:
        self.store = store
        self.warnings: list[str] = []
        self._clock = clock
        self._new_id = new_id
        self._suffix = suffix
        self.admission = Admission(
            store,
            service_accounts=settings.service_accounts,
            taint_new_nodes=settings.taint_new_nodes,
        )
        self._events: deque[tuple[float, str, str]] = deque()

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock()

    def timestamp(self, seconds: float = 0.0) -> str:
        """The time in so many seconds, as Kubernetes writes it."""
        return second_time(int((self._clock() + seconds) * 1e9))

    # -- reading

    def get(self, resource: Resource, namespace: str, name: str) -> StoredObject:
        """One object.

        Raises:
            StatusError: there is none.
        """
        item = self.store.get(resource, namespace, name)
        if item is None:
            raise not_found(resource, name)
        return item

    # -- writing

    def create(
        self, resource: Resource, obj: Obj, namespace: str = "", write: WriteOptions = DEFAULT_WRITE
    ) -> StoredObject:
        """Create an object; the given one becomes what is stored.

        Raises:
            StatusError: it exists already, or something in it is wrong.
        """
        return self._create(resource, obj, namespace, write, None)

    def _create(
        self,
        resource: Resource,
        obj: Obj,
        namespace: str,
        write: WriteOptions,
        managed: list[Obj] | None,
    ) -> StoredObject:
        obj = self._read(resource, obj, write)
        meta = object_meta.ensure_namespace(resource, obj, namespace)
        stem = "" if meta.get("name") else meta.get("generateName") or ""
        obj = object_meta.fill_system_fields(obj, self._new_id(), self.timestamp())
        for _ in range(_ATTEMPTS):
            if stem:
                meta["name"] = object_meta.generate_name(stem, self._suffix())
            if not meta.get("name") or self.store.get(resource, namespace, meta["name"]) is None:
                break
        set_defaults(resource, obj)
        self.admission.admit(resource, obj, None)
        prepare_for_create(resource, obj)
        self._check(resource, obj, None)
        if self.store.get(resource, namespace, meta["name"]) is not None:
            raise already_exists(resource, meta["name"])
        if managed is not None:
            meta["managedFields"] = managed
        if write.dry_run:
            return StoredObject.unstored(resource, obj)
        if resource is CORE_EVENTS or resource is EVENTS:
            self._expire(namespace, meta["name"])
        return self.store.put(resource, obj, creator=write.field_manager)

    def restore(self, resource: Resource, obj: Obj, *, dry_run: bool = False) -> StoredObject:
        """Store an object as somebody saw it elsewhere: with its status, its node and its id.

        What is missing is filled in; its namespace is created if need be. A dry run does everything
        but store it.

        Raises:
            StatusError: something in it is wrong, or it is here already.
        """
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, **obj}
        given = dict(obj.get("metadata") or {})
        obj["metadata"] = given
        obj = self._read(resource, obj, DEFAULT_WRITE)
        namespace = (given.get("namespace") or "default") if resource.namespaced else ""
        if namespace and self.store.get(NAMESPACES, "", namespace) is None:
            self.create(NAMESPACES, {**_NAMESPACE, "metadata": {"name": namespace}})
        uid, created = given.get("uid"), given.get("creationTimestamp")
        given.pop("resourceVersion", None)
        kept = {name: given[name] for name in _KEPT_WHEN_RESTORED if given.get(name)}
        meta = object_meta.ensure_namespace(resource, obj, namespace)
        obj = object_meta.fill_system_fields(
            obj, uid or self._new_id(), created or self.timestamp()
        )
        meta.update(kept)
        if resource is PODS:
            obj.setdefault("status", {}).setdefault("phase", "Pending")
        if resource is NODES:
            for condition in obj.get("status", {}).get("conditions") or ():
                for name in ("lastHeartbeatTime", "lastTransitionTime"):
                    condition.setdefault(name, self.timestamp())
        set_defaults(resource, obj)
        self.admission.admit(resource, obj, None)
        self._check(resource, obj, None)
        if self.store.get(resource, namespace, meta["name"]) is not None:
            raise already_exists(resource, meta["name"])
        if dry_run:
            return StoredObject.unstored(resource, obj)
        return self.store.put(resource, obj)

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
        """Replace an object, or that part of it that a subresource stands for.

        Raises:
            StatusError: it does not exist, it was changed meanwhile, or something in it is wrong.
        """
        item = self.store.get(resource, namespace, name)
        if item is None:
            if subresource or resource not in _CREATED_BY_UPDATE:
                raise not_found(resource, name)
            return self.create(resource, obj, namespace, write)
        if subresource == "scale":
            return self._rescale(resource, item, obj, write)
        obj = self._read(resource, obj, write)
        meta = object_meta.ensure_namespace(resource, obj, namespace)
        meta.setdefault("name", name)
        _check_name(obj, name)
        return self._replace(resource, item, item.obj, obj, subresource, write)

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
        """Change an object by a patch; the object, and whether it is new.

        Raises:
            StatusError: it does not exist, the patch cannot be applied, or something is wrong then.
        """
        item = self.store.get(resource, namespace, name)
        if patch.type == APPLY:
            return self._apply(resource, namespace, name, item, patch, subresource, write)
        if item is None:
            raise not_found(resource, name)
        old = item.obj
        if subresource == "scale":
            scale = scale_subresource.scale_of(resource, old)
            return self._rescale(resource, item, apply_patch(scale, patch, None), write), False
        seen = to_events_v1(old) if resource is EVENTS else old
        obj = apply_patch(seen, patch, definition_of(resource))
        obj = self._read_patched(resource, obj, write)
        _check_name(obj, name)
        return self._replace(resource, item, item.obj, obj, subresource, write), False

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        options: Obj | None = None,
        *,
        dry_run: bool = False,
    ) -> tuple[StoredObject, bool]:
        """Delete an object, or have it end in its time; the object, and whether it is gone.

        Args:
            resource: what it is.
            namespace: where it is.
            name: its name.
            options: DeleteOptions.
            dry_run: do everything but store it.

        Raises:
            StatusError: it does not exist, or it is not the one that the preconditions name.
        """
        options = options or {}
        item = self.get(resource, namespace, name)
        object_meta.check_preconditions(resource, item, options.get("preconditions") or {})
        if resource is NAMESPACES:
            check_namespace_delete(name)
        dry_run = dry_run or bool(options.get("dryRun"))
        obj = item.obj
        if not graceful_deletion.before_delete(resource, obj, options, self._clock()):
            if dry_run:
                return item, True
            return self.store.remove(resource, namespace, name, obj), True
        if dry_run:
            return item, False
        return self._store_or_remove(resource, item, obj), False

    # -- how

    def _read(self, resource: Resource, obj: Obj, write: WriteOptions) -> Obj:
        """The object with fields of the right types only, in the form in which it is stored."""
        unknown = check_fields(resource, obj)
        self.warnings = unknown if write.validation == "Warn" else []
        if unknown and write.validation == "Strict":
            raise bad_request(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a '
                f"{resource.kind}: strict decoding error: {', '.join(unknown)}"
            )
        return to_core_v1(obj) if resource is EVENTS else obj

    def _read_patched(self, resource: Resource, obj: Obj, write: WriteOptions) -> Obj:
        """The same for what a patch made of an object: the client did not send that itself."""
        shown = _encode(obj)
        try:
            return self._read(resource, obj, write)
        except StatusError as error:
            if "strict decoding error" in str(error):
                raise
            raise invalid_after_patch(shown.decode(), str(error)) from error

    def _replace(
        self,
        resource: Resource,
        item: StoredObject,
        old: Obj,
        obj: Obj,
        subresource: str,
        write: WriteOptions,
        *,
        applied: bool = False,
        through: str = "",
    ) -> StoredObject:
        obj = object_meta.before_update(resource, obj, item, old)
        set_defaults(resource, obj)
        self.admission.admit(resource, obj, old, subresource)
        prepare_for_update(resource, obj, old, subresource, self.timestamp())
        self._check(resource, obj, old, subresource)
        if applied:
            keep_timestamps(old, obj)
        elif "managedFields" in old["metadata"] or "managedFields" in obj["metadata"]:
            track_update(
                old, obj, definition_of(resource), manager=write.field_manager,
                time=self.timestamp(), api_version=resource.api_version,
                subresource=through or subresource,
            )  # fmt: skip
        if write.dry_run:
            return StoredObject(resource, obj, item.version, item.creator)
        return self._store_or_remove(resource, item, obj)

    def _store_or_remove(self, resource: Resource, item: StoredObject, obj: Obj) -> StoredObject:
        """Store a changed object, unless nothing changed or nothing holds it any more."""
        if graceful_deletion.is_removable(resource, obj):
            return self.store.remove(resource, item.namespace, item.name, obj)
        if obj == item.obj:
            return item
        return self.store.put(resource, obj)

    def _apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        item: StoredObject | None,
        patch: Patch,
        subresource: str,
        write: WriteOptions,
    ) -> tuple[StoredObject, bool]:
        """Server-side apply."""
        config = patch.document()
        config.setdefault("kind", resource.kind)
        meta = object_meta.ensure_namespace(resource, config, namespace)
        meta.setdefault("name", name)
        _check_name(config, name)
        live = item.obj if item is not None else None
        version = object_meta.named_version(meta)
        if item is not None and version and version != str(item.version):
            raise conflict(resource, name, object_meta.MODIFIED)
        merged = apply(
            live, config, definition_of(resource),
            manager=write.field_manager, force=write.force, time=self.timestamp(),
            api_version=resource.api_version, subresource=subresource,
            creator=(item.creator if item is not None else "") or "before-first-apply",
        )  # fmt: skip
        if item is not None and live is not None:
            merged = self._read(resource, merged, write)
            found = self._replace(
                resource, item, item.obj, merged, subresource, write, applied=True
            )
            return found, False
        if subresource:
            raise not_found(resource, name)
        managed = merged["metadata"].pop("managedFields", None)
        return self._create(resource, merged, namespace, write, managed), True

    def _rescale(
        self, resource: Resource, item: StoredObject, scale: Obj, write: WriteOptions
    ) -> StoredObject:
        old = item.obj
        obj = item.obj
        scale_subresource.rescale(obj, scale)
        version = (scale.get("metadata") or {}).get("resourceVersion")
        if version:
            obj["metadata"]["resourceVersion"] = version
        return self._replace(resource, item, old, obj, "", write, through="scale")

    def _check(self, resource: Resource, obj: Obj, old: Obj | None, subresource: str = "") -> None:
        if resource is EVENTS:
            # The newer version has stricter rules, and its own names for what is wrong.
            obj, old = to_events_v1(obj), to_events_v1(old) if old is not None else None
        causes = validate(resource, obj, old, subresource=subresource)
        if causes:
            meta = obj["metadata"]
            name = meta.get("name") or meta.get("generateName") or ""
            raise invalid(resource.kind, resource.group, name, causes)

    def _expire(self, namespace: str, name: str) -> None:
        """Forget events that nobody needs any more; the new one's turn comes later."""
        now = self._clock()
        while self._events and self._events[0][0] < now - EVENT_SECONDS:
            _, place, old = self._events.popleft()
            if self.store.get(CORE_EVENTS, place, old) is not None:
                self.store.remove(CORE_EVENTS, place, old)
        self._events.append((now, namespace, name))


def _check_name(obj: Obj, name: str) -> None:
    """Reject an object that is sent to another one's path."""
    given = (obj.get("metadata") or {}).get("name")
    if given != name:
        raise bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )
