"""Checks of what a pod says about where it wants to be: affinity, spread, tolerations, gates.

Called for pods and pod templates; the node selector checks are also used by volumes.
"""

# parity v1.36.4: core/validation/validation.go validateAffinity, validateTopologySpreadConstraints,
# ValidateTolerations, validateSchedulingGates
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    POSITIVE,
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import check_selector

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION: Final = ("Honor", "Ignore")
_NOT_AN_OPERATOR: Final = "not a valid selector operator"


def check_affinity(affinity: Obj, path: str, errors: ErrorList) -> None:
    """Check all affinity rules of a pod."""
    node = affinity.get("nodeAffinity")
    if node:
        _check_node_affinity(node, f"{path}.nodeAffinity", errors)
    for name in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(name)
        if pods:
            _check_pod_affinity(pods, f"{path}.{name}", errors)


def _check_node_affinity(affinity: Obj, path: str, errors: ErrorList) -> None:
    wanted = affinity.get(_REQUIRED)
    if wanted is not None:
        check_node_selector(wanted, f"{path}.{_REQUIRED}", errors)
    for number, one in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{number}]"
        _check_weight(one, at, errors)
        _check_node_term(one.get("preference") or {}, f"{at}.preference", errors, values=False)


def _check_weight(one: Obj, path: str, errors: ErrorList) -> None:
    weight = one.get("weight", 0)
    if not 0 < weight <= 100:
        errors.append(invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def check_node_selector(selector: Obj, path: str, errors: ErrorList) -> None:
    """Check a selector of nodes."""
    terms = selector.get("nodeSelectorTerms")
    path = f"{path}.nodeSelectorTerms"
    if not terms:
        errors.append(required(path, "must have at least one node selector term"))
        return
    for number, term in enumerate(terms):
        _check_node_term(term, f"{path}[{number}]", errors)


def _check_node_term(term: Obj, path: str, errors: ErrorList, *, values: bool = True) -> None:
    for number, one in enumerate(term.get("matchExpressions") or ()):
        _check_node_requirement(one, f"{path}.matchExpressions[{number}]", errors, values=values)
    for number, one in enumerate(term.get("matchFields") or ()):
        _check_field_requirement(one, f"{path}.matchFields[{number}]", errors)


def _check_node_requirement(one: Obj, path: str, errors: ErrorList, *, values: bool) -> None:
    operator, given = one.get("operator", ""), one.get("values") or ()
    if operator in ("In", "NotIn"):
        if not given:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(required(f"{path}.values", text))
    elif operator in ("Exists", "DoesNotExist"):
        if given:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(given) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR))
    key = one.get("key", "")
    if problems := names.label_key(key):
        texts(errors, f"{path}.key", key, problems)
    if values:
        for number, value in enumerate(given):
            if problems := names.label_value(value):
                texts(errors, f"{path}.values[{number}]", value, problems)


def _check_field_requirement(one: Obj, path: str, errors: ErrorList) -> None:
    operator, given = one.get("operator", ""), one.get("values") or ()
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR))
    elif len(given) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    key = one.get("key", "")
    if key != "metadata.name":
        errors.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return
    for number, value in enumerate(given):
        texts(errors, f"{path}.values[{number}]", value, names.subdomain(value))


def _check_pod_affinity(affinity: Obj, path: str, errors: ErrorList) -> None:
    for number, term in enumerate(affinity.get(_REQUIRED) or ()):
        _check_pod_term(term, f"{path}.{_REQUIRED}[{number}]", errors)
    for number, one in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{number}]"
        _check_weight(one, at, errors)
        _check_pod_term(one.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm", errors)


def _check_pod_term(term: Obj, path: str, errors: ErrorList) -> None:
    check_selector(term.get("labelSelector"), f"{path}.labelSelector", errors)
    check_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", errors)
    for name in term.get("namespaces") or ():
        texts(errors, f"{path}.namespace", name, names.dns_label(name))
    _check_label_keys(term, path, errors)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    texts(errors, f"{path}.topologyKey", key, names.label_key(key))


def _check_label_keys(holder: Obj, path: str, errors: ErrorList) -> None:
    """Check matchLabelKeys and mismatchLabelKeys of an affinity term or a spread constraint."""
    match, mismatch = holder.get("matchLabelKeys") or (), holder.get("mismatchLabelKeys") or ()
    if not match and not mismatch:
        return
    selector = holder.get("labelSelector")
    for name, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if not keys:
            continue
        if selector is None:
            text = "must not be specified when labelSelector is not set"
            errors.append(forbidden(f"{path}.{name}", text))
            continue
        for number, key in enumerate(keys):
            texts(errors, f"{path}.{name}[{number}]", key, names.label_key(key))
    if selector is not None:
        # The API server has added the keys themselves to the expressions by now: twice is wrong.
        place = {key: number for number, key in enumerate(match)}
        seen = set(selector.get("matchLabels") or ())
        for one in selector.get("matchExpressions") or ():
            key = one.get("key", "")
            if key in place and key in seen:
                text = "exists in both matchLabelKeys and labelSelector"
                errors.append(invalid(f"{path}[{place[key]}]", key, text))
            seen.add(key)
    for number, key in enumerate(match):
        if key in mismatch:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(f"{path}.matchLabelKeys[{number}]", key, text))


def check_spread(constraints: list[Obj], path: str, errors: ErrorList) -> None:
    """Check topology spread constraints."""
    for number, one in enumerate(constraints):
        at = f"{path}[{number}]"
        skew, action = one.get("maxSkew", 0), one.get("whenUnsatisfiable", "")
        if skew <= 0:
            errors.append(invalid(f"{at}.maxSkew", skew, POSITIVE))
        key = one.get("topologyKey", "")
        if not key:
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            errors.append(not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS))
        for other in constraints[number + 1 :]:
            if (key, action) == (other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")):
                field = f"{at}.{{topologyKey, whenUnsatisfiable}}"
                errors.append(duplicate(field, f"{{{key}, {action}}}"))
                break
        _check_min_domains(one, at, errors)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = one.get(name)
            if policy is not None and policy not in _INCLUSION:
                errors.append(not_supported(f"{at}.{name}", policy, _INCLUSION))
        _check_label_keys(one, at, errors)
        check_selector(one.get("labelSelector"), f"{at}.labelSelector", errors)


def _check_min_domains(one: Obj, path: str, errors: ErrorList) -> None:
    least = one.get("minDomains")
    if least is None:
        return
    if least <= 0:
        errors.append(invalid(f"{path}.minDomains", least, POSITIVE))
    action = one.get("whenUnsatisfiable", "")
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(f"{path}.minDomains", least, text))


def check_tolerations(tolerations: list[Obj], path: str, errors: ErrorList) -> None:
    """Check tolerations."""
    for number, one in enumerate(tolerations):
        key, operator = one.get("key", ""), one.get("operator", "")
        value, effect = one.get("value", ""), one.get("effect", "")
        if key:
            if problems := names.label_key(key):
                texts(errors, f"{path}[{number}].key", key, problems)
        elif operator != "Exists":
            text = (
                "operator must be Exists when `key` is empty, which means "
                '"match all values and all keys"'
            )
            errors.append(invalid(f"{path}[{number}].operator", operator, text))
        if effect != "NoExecute" and one.get("tolerationSeconds") is not None:
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(f"{path}[{number}].effect", effect, text))
        at = f"{path}[{number}].operator"
        if operator in ("Equal", ""):
            if problems := names.label_value(value):
                errors.append(invalid(at, value, ";".join(problems)))
        elif operator == "Exists":
            if value:
                errors.append(invalid(at, value, "value must be empty when `operator` is 'Exists'"))
        elif operator in ("Lt", "Gt"):
            errors.append(not_supported(at, operator, ("Equal", "Exists", "Lt", "Gt")))
        else:
            errors.append(not_supported(at, operator, ("Equal", "Exists")))
        if effect and effect not in _EFFECTS:
            errors.append(not_supported(f"{path}[{number}].effect", effect, _EFFECTS))


def check_taints(taints: list[Obj], path: str, errors: ErrorList) -> None:
    """Check the taints of a node."""
    seen: set[tuple[str, str]] = set()
    for number, one in enumerate(taints):
        at = f"{path}[{number}]"
        key, value, effect = one.get("key", ""), one.get("value", ""), one.get("effect", "")
        texts(errors, f"{at}.key", key, names.label_key(key))
        if problems := names.label_value(value):
            errors.append(invalid(f"{at}.value", value, ";".join(problems)))
        if not effect:
            errors.append(required(f"{at}.effect"))
        elif effect not in _EFFECTS:
            errors.append(not_supported(f"{at}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            taint = {"Key": key, "Value": value, "Effect": effect}
            taint["TimeAdded"] = one.get("timeAdded")
            errors.append(duplicate(at, taint, "taints must be unique by key and effect pair"))
        seen.add((key, effect))


def check_gates(gates: list[Obj], path: str, errors: ErrorList) -> None:
    """Check scheduling gates."""
    seen: set[str] = set()
    for number, one in enumerate(gates):
        name = one.get("name", "")
        texts(errors, f"{path}[{number}]", name, names.label_key(name))
        if name in seen:
            errors.append(duplicate(f"{path}[{number}]", name))
        seen.add(name)
