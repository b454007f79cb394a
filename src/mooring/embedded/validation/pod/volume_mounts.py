"""Checks of what a container does with the volumes of its pod."""

# parity v1.36.4: core/validation/validation.go ValidateVolumeMounts, ValidateVolumeDevices
from collections.abc import Mapping
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.field_errors import (
    ErrorList,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from mooring.embedded.validation.pod.volumes import check_local_path

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")


def check_mounts(container: Obj, volumes: Mapping[str, Obj], path: str, errors: ErrorList) -> None:
    """Check the mounts of a container.

    Args:
        container: the container.
        volumes: the volumes of the pod that are as they should be.
        path: the field of the mounts.
        errors: gets what is wrong.
    """
    devices = container.get("volumeDevices") or ()
    device_names = {one.get("name", "") for one in devices}
    device_paths = {one.get("devicePath", "") for one in devices}
    places: set[str] = set()
    for number, one in enumerate(container["volumeMounts"]):
        name, place = one.get("name", ""), one.get("mountPath", "")
        if not name:
            errors.append(required(f"{path}[{number}].name"))
        if name not in volumes:
            errors.append(not_found(f"{path}[{number}].name", name))
        if not place:
            errors.append(required(f"{path}[{number}].mountPath"))
        if place in places:
            errors.append(invalid(f"{path}[{number}].mountPath", place, "must be unique"))
        places.add(place)
        if name in device_names:
            text = "must not already exist in volumeDevices"
            errors.append(invalid(f"{path}[{number}].name", name, text))
        if place in device_paths:
            text = "must not already exist as a path in volumeDevices"
            errors.append(invalid(f"{path}[{number}].mountPath", place, text))
        _check_details(one, container, f"{path}[{number}]", path, errors)


def _check_details(one: Obj, container: Obj, at: str, path: str, errors: ErrorList) -> None:
    sub, expression = one.get("subPath", ""), one.get("subPathExpr", "")
    # These fields are named without the number of the mount: so does the API server.
    if sub:
        check_local_path(sub, f"{path}.subPath", errors)
    if expression:
        if sub:
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{at}.subPathExpr", expression, text))
        check_local_path(expression, f"{path}.subPathExpr", errors)
    propagation = one.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            errors.append(not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        context = container.get("securityContext") or {}
        if propagation == "Bidirectional" and not context.get("privileged"):
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(f"{path}.mountPropagation", text))
    read_only = one.get("recursiveReadOnly")
    if read_only in ("Enabled", "IfPossible"):
        if not one.get("readOnly"):
            text = "may only be specified when readOnly is true"
            errors.append(forbidden(f"{path}.recursiveReadOnly", text))
        if propagation not in (None, "None"):
            text = "may only be specified when mountPropagation is None or not specified"
            errors.append(forbidden(f"{path}.recursiveReadOnly", text))
    elif read_only not in (None, "Disabled"):
        errors.append(not_supported(f"{path}.recursiveReadOnly", read_only, _READ_ONLY))


def check_devices(container: Obj, volumes: Mapping[str, Obj], path: str, errors: ErrorList) -> None:
    """Check the block devices of a container; arguments as for `check_mounts`."""
    mounts = container.get("volumeMounts") or ()
    mount_names = {one.get("name", "") for one in mounts}
    mount_paths = {one.get("mountPath", "") for one in mounts}
    seen: set[str] = set()
    places: set[str] = set()
    for number, one in enumerate(container["volumeDevices"]):
        at = f"{path}[{number}]"
        name, place = one.get("name", ""), one.get("devicePath", "")
        if not name:
            errors.append(required(f"{at}.name"))
        if name in seen:
            errors.append(invalid(f"{at}.name", name, "must be unique"))
        volume = volumes.get(name)
        if volume is None:
            errors.append(not_found(f"{at}.name", name))
        elif not (volume.get("persistentVolumeClaim") or volume.get("ephemeral")):
            text = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block "
                "mode"
            )
            errors.append(invalid(f"{at}.name", name, text))
        if not place:
            errors.append(required(f"{at}.devicePath"))
        if place in places:
            errors.append(invalid(f"{at}.devicePath", place, "must be unique"))
        if ".." in place.split("/"):
            errors.append(invalid(f"{at}.devicePath", place, "can not contain backsteps ('..')"))
        else:
            places.add(place)
        if name in mount_names:
            text = "must not already exist in volumeMounts"
            errors.append(invalid(f"{at}.name", name, text))
        if place in mount_paths:
            text = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{at}.devicePath", place, text))
        if name:
            seen.add(name)
