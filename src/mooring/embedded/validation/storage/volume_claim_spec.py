"""Checks of the spec of persistent volume claims: on their own, in pods and in stateful sets."""

# parity v1.36.4: core/validation/validation.go ValidatePersistentVolumeClaimSpec
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    forbidden,
    invalid,
    not_supported,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import check_annotations, check_labels, check_selector
from mooring.embedded.validation.resource_amounts import check_amount, check_positive

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_ONE_POD: Final = "ReadWriteOncePod"
# What a template may not say of itself, in the order of ObjectMeta's fields.
_NOT_IN_TEMPLATES: Final = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation",
    "deletionTimestamp", "ownerReferences", "finalizers",
)  # fmt: skip


def check_claim_template(template: Obj, path: str, errors: ErrorList) -> None:
    """Check the template of a claim inside a pod."""
    meta = template.get("metadata") or {}
    check_annotations(meta.get("annotations") or {}, f"{path}.metadata.annotations", errors)
    check_labels(meta.get("labels") or {}, f"{path}.metadata.labels", errors)
    for name in _NOT_IN_TEMPLATES:
        if meta.get(name):
            errors.append(forbidden(f"{path}.metadata.{name}", "cannot be set"))
    check_claim_spec(template.get("spec") or {}, f"{path}.spec", errors)


def check_access_modes(modes: list[str], path: str, errors: ErrorList) -> None:
    """Check access modes, of which one excludes the others."""
    for mode in modes:
        if mode not in ACCESS_MODES:
            errors.append(not_supported(path, mode, ACCESS_MODES))
    if _ONE_POD in modes and any(mode in ACCESS_MODES and mode != _ONE_POD for mode in modes):
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))


def check_claim_spec(spec: Obj, path: str, errors: ErrorList, *, groups: bool = True) -> None:
    """Check what a claim asks for; `groups` says whether API groups of sources are checked."""
    modes = spec.get("accessModes") or []
    if not modes:
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    check_selector(spec.get("selector"), f"{path}.selector", errors)
    check_access_modes(modes, f"{path}.accessModes", errors)
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    at = f"{path}.resources[storage]"
    if storage is None:
        errors.append(required(at))
    elif check_positive(storage, at, errors):
        check_amount("storage", storage, at, errors)
    storage_class = spec.get("storageClassName")
    if storage_class:
        problems = names.subdomain(storage_class)
        texts(errors, f"{path}.storageClassName", storage_class, problems)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    _check_sources(spec, path, errors, groups=groups)
    attributes = spec.get("volumeAttributesClassName")
    if attributes:
        problems = names.subdomain(attributes)
        texts(errors, f"{path}.volumeAttributesClassName", attributes, problems)


def _check_sources(spec: Obj, path: str, errors: ErrorList, *, groups: bool) -> None:
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _check_source(source, f"{path}.dataSource", errors, groups=groups)
    if ref is None:
        return
    _check_source(ref, f"{path}.dataSourceRef", errors, groups=groups)
    namespace = ref.get("namespace")
    if namespace:
        problems = names.dns_label(namespace)
        texts(errors, f"{path}.dataSourceRef.namespace", namespace, problems)
    if source is None:
        return
    # The API server prints a path object here, which has nothing to show.
    if namespace:
        text = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(invalid(path, {}, text))
    elif any(source.get(name) != ref.get(name) for name in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, {}, "must match dataSourceRef"))


def _check_source(source: Obj, path: str, errors: ErrorList, *, groups: bool) -> None:
    kind, group = source.get("kind", ""), source.get("apiGroup") or ""
    if not source.get("name"):
        errors.append(required(f"{path}.name"))
    if not kind:
        errors.append(required(f"{path}.kind"))
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, text))
    if group and groups:
        texts(errors, f"{path}.apiGroup", group, names.subdomain(group))
