"""Checks of environment variables, and of the references to fields that volumes have too."""

# parity v1.36.4: core/validation/validation.go ValidateEnv, validateObjectFieldSelector
import re
from collections.abc import Sequence
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    invalid,
    not_supported,
    required,
    texts,
)
from mooring.embedded.validation.resource_amounts import nano

_ENV_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
# What a field reference can name at all, before it is asked what suits the place.
_KNOWN_FIELDS: Final = frozenset(
    (*_ENV_FIELDS, "metadata.labels", "metadata.annotations", "spec.restartPolicy",
     "spec.schedulerName", "status.phase")
)  # fmt: skip
_RESOURCE_FIELDS: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
    "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_HUGE: Final = ("requests.hugepages-", "limits.hugepages-")
_SUBSCRIPT: Final = re.compile(r"(.*)\['(.*)'\]", re.DOTALL)
_SIZES: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SOURCES: Final = (
    "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef",
)  # fmt: skip


def check_env(variables: list[Obj], path: str, errors: ErrorList) -> None:
    """Check the environment variables of a container."""
    for number, one in enumerate(variables):
        name = one.get("name", "")
        if not name:
            errors.append(required(f"{path}[{number}].name"))
        elif problems := names.variable_name(name):
            texts(errors, f"{path}[{number}].name", name, problems)
        source = one.get("valueFrom")
        if source is not None:
            _check_value_from(one, source, f"{path}[{number}].valueFrom", errors)


def _check_value_from(variable: Obj, source: Obj, path: str, errors: ErrorList) -> None:
    given = [name for name in _SOURCES if source.get(name) is not None]
    for name in given:
        ref, at = source[name], f"{path}.{name}"
        if name == "fieldRef":
            check_field_ref(ref, _ENV_FIELDS, at, errors)
        elif name == "resourceFieldRef":
            check_resource_ref(ref, at, errors)
        elif name == "fileKeyRef":
            _check_file_key(ref, at, errors)
        else:
            _check_key(ref, at, errors)
    if not given:
        text = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
            "`secretKeyRef` or `fileKeyRef`"
        )
        errors.append(invalid(path, "", text))
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        text = "may not have more than one field specified at a time"
        errors.append(invalid(path, "", text))


def _check_key(ref: Obj, path: str, errors: ErrorList) -> None:
    name, key = ref.get("name", ""), ref.get("key", "")
    texts(errors, f"{path}.name", name, names.subdomain(name))
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        texts(errors, f"{path}.key", key, names.config_key(key))


def _check_file_key(ref: Obj, path: str, errors: ErrorList) -> None:
    key, volume, place = ref.get("key", ""), ref.get("volumeName", ""), ref.get("path", "")
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        texts(errors, f"{path}.key", key, names.variable_name(key))
    if not volume:
        errors.append(required(f"{path}.volumeName"))
    else:
        texts(errors, f"{path}.volumeName", volume, names.dns_label(volume))
    if not place:
        errors.append(required(f"{path}.path"))
    elif ".." in place.split("/"):
        errors.append(invalid(f"{path}.path", place, "must not contain '..'"))


def check_field_ref(ref: Obj, fields: Sequence[str], path: str, errors: ErrorList) -> None:
    """Check a reference to a field of the pod; `fields` can be named here."""
    version, place = ref.get("apiVersion", ""), ref.get("fieldPath", "")
    if not version:
        errors.append(required(f"{path}.apiVersion"))
        return
    if not place:
        errors.append(required(f"{path}.fieldPath"))
        return
    subscript = _SUBSCRIPT.fullmatch(place)
    if problem := _unreadable(version, place, subscript[1] if subscript else None):
        text = f"error converting fieldPath: {problem}"
        errors.append(invalid(f"{path}.fieldPath", place, text))
    elif subscript is not None:
        # Keys of annotations may have capital letters anywhere.
        annotation = subscript[1] == "metadata.annotations"
        key = subscript[2].lower() if annotation else subscript[2]
        texts(errors, path, key, names.label_key(key))
    elif (place := "spec.nodeName" if place == "spec.host" else place) not in fields:
        errors.append(not_supported(f"{path}.fieldPath", place, fields))


def _unreadable(version: str, place: str, subscripted: str | None) -> str:
    # parity v1.36.4: core/pods/helpers.go ConvertDownwardAPIFieldLabel
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted is not None:
        if subscripted in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {place}"
    if place in _KNOWN_FIELDS or place == "spec.host":
        return ""
    return f"field label not supported: {place}"


def check_resource_ref(ref: Obj, path: str, errors: ErrorList, *, volume: bool = False) -> None:
    """Check a reference to an amount of a container."""
    resource = ref.get("resource", "")
    if volume and not ref.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCE_FIELDS and not resource.startswith(_HUGE):
        errors.append(not_supported(f"{path}.resource", resource, _RESOURCE_FIELDS))
    _check_divisor(resource, ref.get("divisor", "0"), path, errors)


def _check_divisor(resource: str, divisor: str | int | float, path: str, errors: ErrorList) -> None:
    if not nano(divisor):
        return
    kind = resource.partition(".")[2]
    if kind == "cpu":
        if str(divisor) not in ("1m", "1"):
            text = "only divisor's values 1m and 1 are supported with the cpu resource"
            errors.append(invalid(f"{path}.divisor", resource, text))
        return
    divided = "hugepages" if resource.startswith(_HUGE) else _DIVIDED.get(kind)
    if divided and str(divisor) not in _SIZES:
        text = (
            f"only divisor's values {', '.join(_SIZES)} are supported with the {divided} resource"
        )
        errors.append(invalid(f"{path}.divisor", resource, text))


_DIVIDED: Final = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}


def check_env_from(sources: list[Obj], path: str, errors: ErrorList) -> None:
    """Check where whole sets of variables come from."""
    for number, one in enumerate(sources):
        at = f"{path}[{number}]"
        prefix = one.get("prefix", "")
        if prefix:
            texts(errors, f"{at}.prefix", prefix, names.variable_name(prefix))
        given = [name for name in ("configMapRef", "secretRef") if one.get(name) is not None]
        for kind in given:
            name = one[kind].get("name", "")
            if not name:
                errors.append(required(f"{at}.{kind}.name"))
            else:
                problems = names.beginning(names.subdomain)(name)
                texts(errors, f"{at}.{kind}.name", name, problems)
        if not given:
            text = "must specify one of: `configMapRef` or `secretRef`"
            errors.append(invalid(path, "", text))
        elif len(given) > 1:
            text = "may not have more than one field specified at a time"
            errors.append(invalid(path, "", text))
