"""Checks of ResourceClaims and ResourceClaimTemplates: what a claim asks for."""

# parity v1.36.4: pkg/apis/resource/validation/validation.go
from functools import lru_cache, partial
from typing import Any, Final

import msgspec

from mooring.cel.device_selector import compile_selector
from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.devices.device_names import (
    RequestNames,
    by_name,
    check_driver_name,
    check_fully_qualified_name,
    check_label,
    check_list,
    check_request_reference,
    check_set,
    request_names,
)
from mooring.embedded.validation.devices.printed_claims import printed_claim_spec
from mooring.embedded.validation.field_errors import (
    IMMUTABLE,
    POSITIVE,
    ErrorList,
    invalid,
    not_supported,
    required,
    texts,
    too_long,
)
from mooring.embedded.validation.object_meta import (
    check_annotations,
    check_labels,
    check_meta,
    check_meta_update,
)
from mooring.embedded.validation.semantic_equality import same

REQUESTS_LIMIT: Final = 32
CONFIGS_LIMIT: Final = 32
_CONSTRAINTS_LIMIT: Final = 32
_SELECTORS_LIMIT: Final = 32
_CHOICES_LIMIT: Final = 8
_EXPRESSION_LENGTH: Final = 10 * 1024
_PARAMETERS_LENGTH: Final = 10 * 1024
_MODES: Final = ("All", "ExactCount")
_OPERATORS: Final = ("Equal", "Exists")
EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_ONE_OF_TWO: Final = "exactly one of `exactly` or `firstAvailable` is required"
# The API server says this of a constraint without an attribute, too.
_ONE_ATTRIBUTE: Final = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are '
    "set"
)


def check_claim(obj: Obj, errors: ErrorList) -> None:
    """Check a new ResourceClaim."""
    check_meta(obj, names.subdomain, errors)
    _check_devices(_devices(obj.get("spec")), "spec.devices", errors)


def check_claim_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ResourceClaim: its spec stays as it is."""
    check_meta(obj, names.subdomain, errors)
    check_meta_update(obj, old, errors)
    if not same(obj.get("spec"), old.get("spec")):
        errors.append(invalid("spec", printed_claim_spec(obj.get("spec") or {}), IMMUTABLE))


def check_claim_template(obj: Obj, errors: ErrorList) -> None:
    """Check a new ResourceClaimTemplate."""
    check_meta(obj, names.subdomain, errors)
    spec = obj.get("spec") or {}
    metadata = spec.get("metadata") or {}
    check_annotations(metadata.get("annotations") or {}, "spec.metadata.annotations", errors)
    check_labels(metadata.get("labels") or {}, "spec.metadata.labels", errors)
    _check_devices(_devices(spec.get("spec")), "spec.spec.devices", errors)


def check_claim_template_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ResourceClaimTemplate: its spec stays as it is."""
    check_claim_template(obj, errors)
    check_meta_update(obj, old, errors)
    spec = obj.get("spec") or {}
    if not same(spec, old.get("spec")):
        metadata = spec.get("metadata") or {}
        value = {**metadata, "Spec": printed_claim_spec(spec.get("spec") or {})}
        errors.append(invalid("spec", value, IMMUTABLE))


def _devices(spec: Obj | None) -> Obj:
    devices: Obj = (spec or {}).get("devices") or {}
    return devices


def _check_devices(devices: Obj, path: str, errors: ErrorList) -> None:
    known = request_names(devices)
    check_set(
        devices.get("requests") or (), REQUESTS_LIMIT, _check_request, f"{path}.requests", errors,
        key=by_name,
    )  # fmt: skip
    check_list(
        devices.get("constraints") or (),
        _CONSTRAINTS_LIMIT,
        partial(_check_constraint, known=known),
        f"{path}.constraints",
        errors,
    )
    check_list(
        devices.get("config") or (),
        CONFIGS_LIMIT,
        partial(check_claim_config, known=known),
        f"{path}.config",
        errors,
    )


def _check_request(request: Obj, path: str, errors: ErrorList) -> None:
    check_label(request.get("name", ""), f"{path}.name", errors)
    choices, exactly = request.get("firstAvailable") or (), request.get("exactly")
    if not choices and exactly is None:
        errors.append(required(path, _ONE_OF_TWO))
    elif choices and exactly is not None:
        errors.append(invalid(path, None, f"{_ONE_OF_TWO}, but multiple fields are set"))
    elif choices:
        check_set(
            choices, _CHOICES_LIMIT, _check_choice, f"{path}.firstAvailable", errors, key=by_name
        )
    else:
        _check_exact(exactly, f"{path}.exactly", errors)


def _check_choice(choice: Obj, path: str, errors: ErrorList) -> None:
    check_label(choice.get("name", ""), f"{path}.name", errors)
    _check_exact(choice, path, errors)


def _check_exact(request: Any, path: str, errors: ErrorList) -> None:
    """Check what a request, or one of its choices, asks for."""
    class_name = request.get("deviceClassName", "")
    if not class_name:
        errors.append(required(f"{path}.deviceClassName"))
    else:
        texts(errors, f"{path}.deviceClassName", class_name, names.subdomain(class_name))
    check_selectors(request.get("selectors") or (), f"{path}.selectors", errors)
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == "All":
        if count:
            text = f"must not be specified when allocationMode is '{mode}'"
            errors.append(invalid(f"{path}.count", count, text))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(invalid(f"{path}.count", count, POSITIVE))
    else:
        errors.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    for number, one in enumerate(request.get("tolerations") or ()):
        _check_toleration(one, f"{path}.tolerations[{number}]", errors)


def check_selectors(selectors: Any, path: str, errors: ErrorList) -> None:
    """Check the selectors of a request or of a class."""
    check_list(selectors, _SELECTORS_LIMIT, _check_selector, path, errors)


def _check_selector(selector: Obj, path: str, errors: ErrorList) -> None:
    cel = selector.get("cel")
    if cel is None:
        errors.append(required(f"{path}.cel"))
        return
    expression = cel.get("expression", "")
    if len(expression.encode()) > _EXPRESSION_LENGTH:
        errors.append(too_long(f"{path}.cel.expression", _EXPRESSION_LENGTH))
    elif problem := _expression_problem(expression):
        errors.append(invalid(f"{path}.cel.expression", expression, problem))


@lru_cache(maxsize=256)
def _expression_problem(expression: str) -> str | None:
    """Why an expression does not compile; the claims of a workload have few different ones."""
    return compile_selector(expression).error


def _check_toleration(toleration: Obj, path: str, errors: ErrorList) -> None:
    key, value = toleration.get("key", ""), toleration.get("value", "")
    operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
    if key:
        texts(errors, f"{path}.key", key, names.label_key(key))
    if operator == "Exists":
        if value:
            text = "must be empty for operator `Exists`"
            errors.append(invalid(f"{path}.value", value, text))
    elif operator == "Equal":
        texts(errors, f"{path}.value", value, names.label_value(value))
    elif not operator:
        errors.append(required(f"{path}.operator"))
    else:
        errors.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if effect and effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, EFFECTS))


def _check_constraint(
    constraint: Obj, path: str, errors: ErrorList, *, known: RequestNames
) -> None:
    _check_references(constraint, path, errors, known)
    match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
    if match is not None:
        check_fully_qualified_name(match, f"{path}.matchAttribute", errors)
    elif distinct is not None:
        check_fully_qualified_name(distinct, f"{path}.distinctAttribute", errors)
    else:
        errors.append(required(path, _ONE_ATTRIBUTE))


def check_claim_config(config: Obj, path: str, errors: ErrorList, *, known: RequestNames) -> None:
    """Check configuration that is for some or all requests of a claim."""
    _check_references(config, path, errors, known)
    check_config(config, path, errors)


def check_config(config: Obj, path: str, errors: ErrorList) -> None:
    """Check configuration that only a driver understands."""
    opaque = config.get("opaque")
    if opaque is None:
        errors.append(required(f"{path}.opaque"))
        return
    check_driver_name(opaque.get("driver", ""), f"{path}.opaque.driver", errors)
    check_raw(opaque.get("parameters"), f"{path}.opaque.parameters", errors)


def check_raw(value: Any, path: str, errors: ErrorList) -> None:
    """Check JSON of any content: it must be an object, and not too large."""
    if value is None:
        errors.append(required(path))
    elif len(msgspec.json.encode(value)) > _PARAMETERS_LENGTH:
        errors.append(too_long(path, _PARAMETERS_LENGTH))
    elif not isinstance(value, dict):
        errors.append(invalid(path, "<value omitted>", "must be a valid JSON object"))


def _check_references(part: Obj, path: str, errors: ErrorList, known: RequestNames) -> None:
    check_set(
        part.get("requests") or (), REQUESTS_LIMIT, partial(check_request_reference, known=known),
        f"{path}.requests", errors, key=str,
    )  # fmt: skip
