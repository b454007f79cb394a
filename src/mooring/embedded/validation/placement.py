"""Checks of what a pod says about where it wants to be: affinity, spread, tolerations, gates.

Called for pods and pod templates; the node selector checks are also used by volumes.
"""

# parity v1.36.4: core/validation/validation.go validateAffinity, validateTopologySpreadConstraints,
# ValidateTolerations, validateSchedulingGates
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.causes import (
    POSITIVE,
    Found,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    texts,
)
from mooring.embedded.validation.meta import check_selector

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION: Final = ("Honor", "Ignore")
_NOT_AN_OPERATOR: Final = "not a valid selector operator"


def check_affinity(affinity: Obj, path: str, found: Found) -> None:
    """Check all affinity rules of a pod."""
    node = affinity.get("nodeAffinity")
    if node:
        _check_node_affinity(node, f"{path}.nodeAffinity", found)
    for name in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(name)
        if pods:
            _check_pod_affinity(pods, f"{path}.{name}", found)


def _check_node_affinity(affinity: Obj, path: str, found: Found) -> None:
    wanted = affinity.get(_REQUIRED)
    if wanted is not None:
        check_node_selector(wanted, f"{path}.{_REQUIRED}", found)
    for number, one in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{number}]"
        _check_weight(one, at, found)
        _check_node_term(one.get("preference") or {}, f"{at}.preference", found, values=False)


def _check_weight(one: Obj, path: str, found: Found) -> None:
    weight = one.get("weight", 0)
    if not 0 < weight <= 100:
        found.append(invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def check_node_selector(selector: Obj, path: str, found: Found) -> None:
    """Check a selector of nodes."""
    terms = selector.get("nodeSelectorTerms")
    path = f"{path}.nodeSelectorTerms"
    if not terms:
        found.append(required(path, "must have at least one node selector term"))
        return
    for number, term in enumerate(terms):
        _check_node_term(term, f"{path}[{number}]", found)


def _check_node_term(term: Obj, path: str, found: Found, *, values: bool = True) -> None:
    for number, one in enumerate(term.get("matchExpressions") or ()):
        _check_node_requirement(one, f"{path}.matchExpressions[{number}]", found, values=values)
    for number, one in enumerate(term.get("matchFields") or ()):
        _check_field_requirement(one, f"{path}.matchFields[{number}]", found)


def _check_node_requirement(one: Obj, path: str, found: Found, *, values: bool) -> None:
    operator, given = one.get("operator", ""), one.get("values") or ()
    if operator in ("In", "NotIn"):
        if not given:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            found.append(required(f"{path}.values", text))
    elif operator in ("Exists", "DoesNotExist"):
        if given:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(forbidden(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(given) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(required(f"{path}.values", text))
    else:
        found.append(invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR))
    key = one.get("key", "")
    if problems := names.label_key(key):
        texts(found, f"{path}.key", key, problems)
    if values:
        for number, value in enumerate(given):
            if problems := names.label_value(value):
                texts(found, f"{path}.values[{number}]", value, problems)


def _check_field_requirement(one: Obj, path: str, found: Found) -> None:
    operator, given = one.get("operator", ""), one.get("values") or ()
    if operator not in ("In", "NotIn"):
        found.append(invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR))
    elif len(given) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(required(f"{path}.values", text))
    key = one.get("key", "")
    if key != "metadata.name":
        found.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return
    for number, value in enumerate(given):
        texts(found, f"{path}.values[{number}]", value, names.subdomain(value))


def _check_pod_affinity(affinity: Obj, path: str, found: Found) -> None:
    for number, term in enumerate(affinity.get(_REQUIRED) or ()):
        _check_pod_term(term, f"{path}.{_REQUIRED}[{number}]", found)
    for number, one in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{number}]"
        _check_weight(one, at, found)
        _check_pod_term(one.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm", found)


def _check_pod_term(term: Obj, path: str, found: Found) -> None:
    check_selector(term.get("labelSelector"), f"{path}.labelSelector", found)
    check_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", found)
    for name in term.get("namespaces") or ():
        texts(found, f"{path}.namespace", name, names.dns_label(name))
    _check_label_keys(term, path, found)
    key = term.get("topologyKey", "")
    if not key:
        found.append(required(f"{path}.topologyKey", "can not be empty"))
    texts(found, f"{path}.topologyKey", key, names.label_key(key))


def _check_label_keys(holder: Obj, path: str, found: Found) -> None:
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
            found.append(forbidden(f"{path}.{name}", text))
            continue
        for number, key in enumerate(keys):
            texts(found, f"{path}.{name}[{number}]", key, names.label_key(key))
    if selector is not None:
        # The API server has added the keys themselves to the expressions by now: twice is wrong.
        place = {key: number for number, key in enumerate(match)}
        seen = set(selector.get("matchLabels") or ())
        for one in selector.get("matchExpressions") or ():
            key = one.get("key", "")
            if key in place and key in seen:
                text = "exists in both matchLabelKeys and labelSelector"
                found.append(invalid(f"{path}[{place[key]}]", key, text))
            seen.add(key)
    for number, key in enumerate(match):
        if key in mismatch:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(invalid(f"{path}.matchLabelKeys[{number}]", key, text))


def check_spread(constraints: list[Obj], path: str, found: Found) -> None:
    """Check topology spread constraints."""
    for number, one in enumerate(constraints):
        at = f"{path}[{number}]"
        skew, action = one.get("maxSkew", 0), one.get("whenUnsatisfiable", "")
        if skew <= 0:
            found.append(invalid(f"{at}.maxSkew", skew, POSITIVE))
        key = one.get("topologyKey", "")
        if not key:
            found.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            found.append(not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS))
        for other in constraints[number + 1 :]:
            if (key, action) == (other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")):
                field = f"{at}.{{topologyKey, whenUnsatisfiable}}"
                found.append(duplicate(field, f"{{{key}, {action}}}"))
                break
        _check_min_domains(one, at, found)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = one.get(name)
            if policy is not None and policy not in _INCLUSION:
                found.append(not_supported(f"{at}.{name}", policy, _INCLUSION))
        _check_label_keys(one, at, found)
        check_selector(one.get("labelSelector"), f"{at}.labelSelector", found)


def _check_min_domains(one: Obj, path: str, found: Found) -> None:
    least = one.get("minDomains")
    if least is None:
        return
    if least <= 0:
        found.append(invalid(f"{path}.minDomains", least, POSITIVE))
    action = one.get("whenUnsatisfiable", "")
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        found.append(invalid(f"{path}.minDomains", least, text))


def check_tolerations(tolerations: list[Obj], path: str, found: Found) -> None:
    """Check tolerations."""
    for number, one in enumerate(tolerations):
        key, operator = one.get("key", ""), one.get("operator", "")
        value, effect = one.get("value", ""), one.get("effect", "")
        if key:
            if problems := names.label_key(key):
                texts(found, f"{path}[{number}].key", key, problems)
        elif operator != "Exists":
            text = (
                "operator must be Exists when `key` is empty, which means "
                '"match all values and all keys"'
            )
            found.append(invalid(f"{path}[{number}].operator", operator, text))
        if effect != "NoExecute" and one.get("tolerationSeconds") is not None:
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(invalid(f"{path}[{number}].effect", effect, text))
        at = f"{path}[{number}].operator"
        if operator in ("Equal", ""):
            if problems := names.label_value(value):
                found.append(invalid(at, value, ";".join(problems)))
        elif operator == "Exists":
            if value:
                found.append(invalid(at, value, "value must be empty when `operator` is 'Exists'"))
        elif operator in ("Lt", "Gt"):
            found.append(not_supported(at, operator, ("Equal", "Exists", "Lt", "Gt")))
        else:
            found.append(not_supported(at, operator, ("Equal", "Exists")))
        if effect and effect not in _EFFECTS:
            found.append(not_supported(f"{path}[{number}].effect", effect, _EFFECTS))


def check_taints(taints: list[Obj], path: str, found: Found) -> None:
    """Check the taints of a node."""
    seen: set[tuple[str, str]] = set()
    for number, one in enumerate(taints):
        at = f"{path}[{number}]"
        key, value, effect = one.get("key", ""), one.get("value", ""), one.get("effect", "")
        texts(found, f"{at}.key", key, names.label_key(key))
        if problems := names.label_value(value):
            found.append(invalid(f"{at}.value", value, ";".join(problems)))
        if not effect:
            found.append(required(f"{at}.effect"))
        elif effect not in _EFFECTS:
            found.append(not_supported(f"{at}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            taint = {"Key": key, "Value": value, "Effect": effect}
            taint["TimeAdded"] = one.get("timeAdded")
            found.append(duplicate(at, taint, "taints must be unique by key and effect pair"))
        seen.add((key, effect))


def check_gates(gates: list[Obj], path: str, found: Found) -> None:
    """Check scheduling gates."""
    seen: set[str] = set()
    for number, one in enumerate(gates):
        name = one.get("name", "")
        texts(found, f"{path}[{number}]", name, names.label_key(name))
        if name in seen:
            found.append(duplicate(f"{path}[{number}]", name))
        seen.add(name)
