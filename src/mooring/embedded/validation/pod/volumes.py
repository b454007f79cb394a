"""Checks of the volumes of a pod.

Sources that scheduling and ordinary manifests use are checked in full; of the old in-tree ones only
that there is exactly one source and that what names the volume is there.
"""

# parity v1.36.4: core/validation/validation.go ValidateVolumes, validateVolumeSource
from collections.abc import Callable
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    one_of,
    required,
    texts,
    too_long,
)
from mooring.embedded.validation.pod.env import check_field_ref, check_resource_ref
from mooring.embedded.validation.resource_amounts import nano
from mooring.embedded.validation.storage.volume_claim_spec import check_claim_template

Check = Callable[[Obj, str, ErrorList], None]

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_ONE: Final = "may not specify more than 1 volume type"
_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
    "Socket",
)  # fmt: skip
_VOLUME_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
    "metadata.uid",
)  # fmt: skip


def check_volumes(
    volumes: list[Obj], pod: str, path: str, errors: ErrorList, *, is_pod: bool
) -> dict[str, Obj]:
    """Check the volumes of a pod.

    Args:
        volumes: the volumes.
        pod: the pod's name; empty for a template.
        path: the field they are in.
        errors: gets what is wrong.
        is_pod: whether this is a pod and no template.

    Returns:
        Those that are as they should be, by name, for checking who mounts them.
    """
    good: dict[str, Obj] = {}
    claims = {f"{pod}-{one.get('name', '')}" for one in volumes if one.get("ephemeral")}
    for number, one in enumerate(volumes):
        at, before = f"{path}[{number}]", len(errors)
        name = one.get("name", "")
        _check_source(one, at, pod, errors, is_pod=is_pod)
        if not name:
            errors.append(required(f"{at}.name"))
        elif problems := names.dns_label(name):
            texts(errors, f"{at}.name", name, problems)
        if name in good:
            errors.append(duplicate(f"{at}.name", name))
        if len(errors) == before:
            good[name] = one
        claim = (one.get("persistentVolumeClaim") or {}).get("claimName", "")
        if pod and claim and claim in claims:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim, text))
    return good


def _check_source(volume: Obj, path: str, pod: str, errors: ErrorList, *, is_pod: bool) -> None:
    count = 0
    for source, check in SOURCES.items():
        value = volume.get(source)
        if value is None:
            continue
        if count and source != "emptyDir":
            errors.append(forbidden(f"{path}.{_WRITTEN.get(source, source)}", _ONE))
            continue
        count += 1
        check(value, f"{path}.{source}", errors)
        if source == "ephemeral" and pod and volume.get("name"):
            claim = f"{pod}-{volume['name']}"
            for problem in names.subdomain(claim):
                text = f'PVC name "{claim}": {problem}'
                errors.append(invalid(f"{path}.name", volume["name"], text))
        if source == "image" and is_pod and not value.get("reference"):
            errors.append(required(f"{path}.image.reference"))
    if not count:
        errors.append(required(path, "must specify a volume type"))


def _check_empty_dir(source: Obj, path: str, errors: ErrorList) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and nano(limit) < 0:
        text = "SizeLimit field must be a valid resource quantity"
        errors.append(forbidden(f"{path}.sizeLimit", text))


def check_host_path(source: Obj, path: str, errors: ErrorList) -> None:
    """Check a path on the node."""
    place = source.get("path", "")
    if not place:
        errors.append(required(f"{path}.path"))
        return
    check_no_backsteps(place, f"{path}.path", errors)
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))


def check_no_backsteps(place: str, path: str, errors: ErrorList) -> None:
    """Check that a path does not go up."""
    if ".." in place.split("/"):
        errors.append(invalid(path, place, "must not contain '..'"))


def check_local_path(place: str, path: str, errors: ErrorList) -> None:
    """Check that a path stays below where it begins."""
    if place.startswith("/"):
        errors.append(invalid(path, place, "must be a relative path"))
    check_no_backsteps(place, path, errors)


def _check_plain_path(place: str, path: str, errors: ErrorList) -> None:
    check_local_path(place, path, errors)
    if place.startswith("..") and not place.startswith("../"):
        errors.append(invalid(path, place, "must not start with '..'"))


def _check_mode(holder: Obj, name: str, path: str, errors: ErrorList) -> None:
    mode = holder.get(name)
    if mode is not None and not 0 <= mode <= 0o777:
        errors.append(invalid(f"{path}.{name}", mode, _MODE))


def _check_items(source: Obj, path: str, errors: ErrorList) -> None:
    for number, one in enumerate(source.get("items") or ()):
        at = f"{path}.items[{number}]"
        place = one.get("path", "")
        if not one.get("key"):
            errors.append(required(f"{at}.key"))
        if not place:
            errors.append(required(f"{at}.path"))
        _check_plain_path(place, f"{at}.path", errors)
        _check_mode(one, "mode", at, errors)


def _files_of(name: str) -> Check:
    def check(source: Obj, path: str, errors: ErrorList) -> None:
        if not source.get(name):
            errors.append(required(f"{path}.{name}"))
        _check_mode(source, "defaultMode", path, errors)
        _check_items(source, path, errors)

    return check


def _with(*fields: str) -> Check:
    """Check that fields are there."""

    def check(source: Obj, path: str, errors: ErrorList) -> None:
        for name in fields:
            if not source.get(name):
                errors.append(required(f"{path}.{name}"))

    return check


def _check_downward(source: Obj, path: str, errors: ErrorList) -> None:
    _check_mode(source, "defaultMode", path, errors)
    for one in source.get("items") or ():
        _check_downward_file(one, path, errors)


def _check_downward_file(one: Obj, path: str, errors: ErrorList) -> None:
    place = one.get("path", "")
    if not place:
        errors.append(required(f"{path}.path"))
    _check_plain_path(place, f"{path}.path", errors)
    field, resource = one.get("fieldRef"), one.get("resourceFieldRef")
    if field is not None:
        check_field_ref(field, _VOLUME_FIELDS, f"{path}.fieldRef", errors)
        if resource is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", text))
    elif resource is not None:
        check_resource_ref(resource, f"{path}.resourceFieldRef", errors, volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    _check_mode(one, "mode", path, errors)


def _check_projected(source: Obj, path: str, errors: ErrorList) -> None:
    _check_mode(source, "defaultMode", path, errors)
    places: set[str] = set()
    for number, one in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{number}]"
        kinds = [name for name in _PROJECTIONS if one.get(name) is not None]
        for name in kinds:
            _PROJECTIONS[name](one[name], f"{at}.{name}", errors)
            for place, described in _projected_places(name, one[name]):
                if place in places:
                    errors.append(invalid(path, described, "conflicting duplicate paths"))
                places.add(place)
        if len(kinds) > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))


def _projected_places(kind: str, source: Obj) -> list[tuple[str, str]]:
    """Where a projection puts files, and the name by which the API server speaks of it."""
    return [
        (one["path"], one["path"] if kind == "downwardAPI" else source.get("name", ""))
        for one in source.get("items") or ()
        if one.get("path")
    ]


def _check_projected_files(source: Obj, path: str, errors: ErrorList) -> None:
    if not source.get("name"):
        errors.append(required(f"{path}.name"))
    _check_items(source, path, errors)


def _check_projected_downward(source: Obj, path: str, errors: ErrorList) -> None:
    for one in source.get("items") or ():
        _check_downward_file(one, path, errors)


def _check_token(source: Obj, path: str, errors: ErrorList) -> None:
    seconds = source.get("expirationSeconds", 3600)
    if seconds < 600:
        text = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    elif seconds > 1 << 32:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    # The path is said to be one of the volume: the API server's own mistake.
    place, field = source.get("path", ""), f"{path.rpartition('.sources[')[0]}.path"
    if not place:
        errors.append(required(field))
    else:
        _check_plain_path(place, field, errors)


_PROJECTIONS: Final[dict[str, Check]] = {
    "secret": _check_projected_files,
    "configMap": _check_projected_files,
    "downwardAPI": _check_projected_downward,
    "serviceAccountToken": _check_token,
}


def check_driver(name: str, path: str, errors: ErrorList) -> None:
    """Check the name of a CSI driver."""
    if not name:
        errors.append(required(path))
        return
    if len(name.encode()) > 63:
        errors.append(too_long(path, 63))
    texts(errors, path, name, names.subdomain(name.lower()))


def _check_csi(source: Obj, path: str, errors: ErrorList) -> None:
    check_driver(source.get("driver", ""), f"{path}.driver", errors)
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        name = secret.get("name", "")
        if not name:
            errors.append(required(f"{path}.nodePublishSecretRef.name"))
        else:
            texts(errors, f"{path}.name", name, names.subdomain(name))


def _check_ephemeral(source: Obj, path: str, errors: ErrorList) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.append(required(f"{path}.volumeClaimTemplate"))
    else:
        check_claim_template(template, f"{path}.volumeClaimTemplate", errors)


def _check_image(source: Obj, path: str, errors: ErrorList) -> None:
    one_of(errors, f"{path}.pullPolicy", source.get("pullPolicy", ""), PULL_POLICIES)


def check_nfs(source: Obj, path: str, errors: ErrorList) -> None:
    """Check a network file system."""
    if not source.get("server"):
        errors.append(required(f"{path}.server"))
    place = source.get("path", "")
    if not place:
        errors.append(required(f"{path}.path"))
    if not place.startswith("/"):
        errors.append(invalid(f"{path}.path", place, "must be an absolute path"))


#: All sources, in the order in which the API server looks at them.
SOURCES: Final[dict[str, Check]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": check_host_path,
    "gitRepo": _with("repository"),
    "gcePersistentDisk": _with("pdName"),
    "awsElasticBlockStore": _with("volumeID"),
    "secret": _files_of("secretName"),
    "nfs": check_nfs,
    "iscsi": _with("targetPortal", "iqn"),
    "glusterfs": _with("endpoints", "path"),
    "flocker": _with(),
    "persistentVolumeClaim": _with("claimName"),
    "rbd": _with("monitors", "image"),
    "cinder": _with("volumeID"),
    "cephfs": _with("monitors"),
    "quobyte": _with("registry", "volume"),
    "downwardAPI": _check_downward,
    "fc": _with(),
    "flexVolume": _with("driver"),
    "configMap": _files_of("name"),
    "azureFile": _with("secretName", "shareName"),
    "vsphereVolume": _with("volumePath"),
    "photonPersistentDisk": _with("pdID"),
    "portworxVolume": _with("volumeID"),
    "azureDisk": _with("diskName", "diskURI"),
    "storageos": _with(),
    "projected": _check_projected,
    "scaleIO": _with("gateway", "system", "volumeName"),
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
# The API server's own spelling where it complains about a second source.
_WRITTEN: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
