"""Checks of changes of pods: almost everything stays as it was created."""

# parity v1.36.4: core/validation/validation.go ValidatePodUpdate, ValidatePodStatusUpdate
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import addresses, names
from mooring.embedded.validation.field_errors import (
    IMMUTABLE,
    ErrorList,
    forbidden,
    in_order,
    invalid,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import check_meta_update
from mooring.embedded.validation.pod.pod import (
    MAX_INT32,
    MIRROR,
    check_pod_annotations,
    check_pod_content,
)
from mooring.embedded.validation.pod.pod_claim_statuses import check_claim_statuses
from mooring.embedded.validation.pod.pod_scheduling import check_tolerations
from mooring.embedded.validation.semantic_equality import differences, same

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_SYSTEM_CONDITIONS: Final = frozenset(("PodScheduled", "Ready", "Initialized"))
_NOT_BACK: Final = "may not be transitioned to non-terminated state"


def check_pod_update(pod: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a pod."""
    check_meta_update(pod, old, errors)
    check_pod_content(pod, errors)
    _check_annotations(pod, old, errors)
    spec, before = pod.get("spec") or {}, old.get("spec") or {}
    for kind in ("containers", "initContainers"):
        if not _check_images(spec, before, kind, errors):
            return
    if not _check_deadline(spec, before, errors):
        return
    _check_tolerations(spec, before, errors)
    _check_gates(spec, before, errors)
    if same(spec, before):
        return
    wanted = _without_allowed(spec, before, errors)
    if not same(wanted, before):
        changed = "\n".join(differences(before, wanted, "spec"))
        text = f"pod updates may not change fields other than {_UPDATABLE}\n{changed}"
        errors.append(forbidden("spec", text))


def _check_annotations(pod: Obj, old: Obj, errors: ErrorList) -> None:
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    before = (old.get("metadata") or {}).get("annotations") or {}
    field = f"metadata.annotations[{MIRROR}]"
    if MIRROR in before and annotations.get(MIRROR) != before[MIRROR]:
        errors.append(forbidden(field, "may not remove or update mirror pod annotation"))
    elif MIRROR in annotations and MIRROR not in before:
        errors.append(forbidden(field, "may not add mirror pod annotation"))
    check_pod_annotations(annotations, pod.get("spec") or {}, "metadata.annotations", errors)


def _check_images(spec: Obj, before: Obj, kind: str, errors: ErrorList) -> bool:
    """Check images; whether there are as many containers as before."""
    containers = spec.get(kind) or []
    if len(containers) != len(before.get(kind) or []):
        errors.append(forbidden(f"spec.{kind}", "pod updates may not add or remove containers"))
        return False
    for number, one in enumerate(containers):
        image, field = one.get("image", ""), f"spec.{kind}[{number}].image"
        if not image:
            errors.append(required(field))
        if image != image.strip():
            errors.append(invalid(field, image, "must not have leading or trailing whitespace"))
    return True


def _check_deadline(spec: Obj, before: Obj, errors: ErrorList) -> bool:
    deadline, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    field = "spec.activeDeadlineSeconds"
    if deadline is None:
        if old is not None:
            text = "must not update from a positive integer to nil value"
            errors.append(invalid(field, None, text))
        return True
    if not 0 <= deadline <= MAX_INT32:
        text = f"must be between 0 and {MAX_INT32}, inclusive"
        errors.append(invalid(field, deadline, text))
        return False
    if old is not None and old < deadline:
        errors.append(invalid(field, deadline, "must be less than or equal to previous value"))
        return False
    return True


def _check_tolerations(spec: Obj, before: Obj, errors: ErrorList) -> None:
    tolerations = spec.get("tolerations") or []
    plain = [_plain(one) for one in tolerations]
    if any(_plain(one) not in plain for one in before.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        errors.append(forbidden("spec.tolerations", text))
    else:
        check_tolerations(tolerations, "spec.tolerations", errors)


def _plain(toleration: Obj) -> tuple[Any, ...]:
    return tuple(toleration.get(name, "") for name in ("key", "operator", "value", "effect"))


def _check_gates(spec: Obj, before: Obj, errors: ErrorList) -> None:
    known = {one.get("name", "") for one in before.get("schedulingGates") or ()}
    for number, one in enumerate(spec.get("schedulingGates") or ()):
        name = one.get("name", "")
        if name not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{name}'"
            errors.append(forbidden(f"spec.schedulingGates[{number}].name", text))


def _without_allowed(spec: Obj, before: Obj, errors: ErrorList) -> Obj:
    """The new spec with everything that may change as it was before."""
    wanted = dict(spec)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            wanted[kind] = [
                {**one, "image": old.get("image", "")}
                for one, old in zip(spec[kind], before[kind], strict=True)
            ]
    _keep(wanted, before, "activeDeadlineSeconds", "schedulingGates", "tolerations")
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and wanted.get("terminationGracePeriodSeconds") == 1:
        wanted["terminationGracePeriodSeconds"] = grace
    if before.get("schedulingGates"):
        _allow_tightening(wanted, before, errors)
    return wanted


def _keep(wanted: Obj, before: Obj, *fields: str) -> None:
    for name in fields:
        if name in before:
            wanted[name] = before[name]
        else:
            wanted.pop(name, None)


def _allow_tightening(wanted: Obj, before: Obj, errors: ErrorList) -> None:
    """A gated pod may become more choosy about nodes."""
    selector, old = wanted.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in old.items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(invalid("spec.nodeSelector", in_order(selector) or None, text))
    _keep(wanted, before, "nodeSelector")
    affinity, old_affinity = wanted.get("affinity"), before.get("affinity")
    mine, others = (affinity or {}).get("nodeAffinity"), (old_affinity or {}).get("nodeAffinity")
    if same(mine, others, "nodeAffinity"):
        return
    _check_tightened(mine, others, errors)
    kept = {name: value for name, value in (affinity or {}).items() if name != "nodeAffinity"}
    if others is not None:
        kept["nodeAffinity"] = others
    if kept or old_affinity is not None:
        wanted["affinity"] = kept
    else:
        wanted.pop("affinity", None)


def _check_tightened(mine: Obj | None, others: Obj | None, errors: ErrorList) -> None:
    old_terms = ((others or {}).get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    terms = ((mine or {}).get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    if not old_terms:
        return
    if len(old_terms) != len(terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.append(invalid(path, [shown_term(one) for one in terms] or None, text))
        return
    for number, (term, old) in enumerate(zip(terms, old_terms, strict=True)):
        if not _only_added(term, old):
            text = "only additions are allowed (no mutations or deletions)"
            errors.append(invalid(f"{path}[{number}]", shown_term(term), text))


def shown_term(term: Obj) -> Obj:
    """A node selector term as the API server prints it."""
    return {
        go: [
            {"Key": one.get("key", ""), "Operator": one.get("operator", ""),
             "Values": one.get("values")}
            for one in term[name]
        ]
        if term.get(name)
        else None
        for name, go in (("matchExpressions", "MatchExpressions"), ("matchFields", "MatchFields"))
    }  # fmt: skip


def _only_added(term: Obj, old: Obj) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(old.get(kind) for kind in kinds):
        return not any(term.get(kind) for kind in kinds)
    return all(
        same((term.get(kind) or [])[: len(old.get(kind) or [])], old.get(kind)) for kind in kinds
    )


def check_pod_status(pod: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of the status of a pod."""
    check_meta_update(pod, old, errors)
    _check_annotations(pod, old, errors)
    status, before = pod.get("status") or {}, old.get("status") or {}
    for number, one in enumerate(status.get("conditions") or ()):
        path = f"status.conditions[{number}]"
        if one.get("observedGeneration", 0) < 0:
            text = "must be a non-negative integer"
            errors.append(invalid(f"{path}.observedGeneration", one["observedGeneration"], text))
        kind = one.get("type", "")
        if kind not in _SYSTEM_CONDITIONS and (problems := names.label_key(kind)):
            texts(errors, f"{path}.Type", kind, problems)
    node, old_node = (one.get("spec", {}).get("nodeName", "") for one in (pod, old))
    if node != old_node:
        errors.append(forbidden("status.nodeName", "may not be changed directly"))
    nominated = status.get("nominatedNodeName", "")
    if nominated and nominated != before.get("nominatedNodeName", ""):
        texts(errors, "status.nominatedNodeName", nominated, names.subdomain(nominated))
        if old_node:
            text = "may not be set on pods that are already bound to a node"
            errors.append(forbidden("status.nominatedNodeName", text))
    generation = status.get("observedGeneration", 0)
    if generation < 0:
        text = "must be a non-negative integer"
        errors.append(invalid("status.observedGeneration", generation, text))
    quality = status.get("qosClass", "")
    if quality != before.get("qosClass", ""):
        errors.append(invalid("status.qosClass", quality, IMMUTABLE))
    for kind, containers in (
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ):
        if before.get(kind):
            _check_states(status, old, kind, containers, errors)
    if "resourceClaimStatuses" in status or "extendedResourceClaimStatus" in status:
        check_claim_statuses(pod.get("spec") or {}, status, errors)
    _check_addresses(status, before, errors)


def _check_states(status: Obj, old: Obj, kind: str, containers: str, errors: ErrorList) -> None:
    """Check that a container that has ended stays so, unless it may be started again."""
    spec = old.get("spec") or {}
    not_terminated = {
        one.get("name", "")
        for one in status.get(kind) or ()
        if (one.get("state") or {}).get("terminated") is None
    }
    of_spec = {one.get("name", ""): one for one in spec.get(containers) or ()}
    for number, one in enumerate(old["status"][kind]):
        ended, name = (one.get("state") or {}).get("terminated"), one.get("name", "")
        if ended is None or name not in not_terminated:
            continue
        # Ephemeral containers have no list in `containers` and never start again.
        if not containers or not _restarts(of_spec.get(name), spec, ended.get("exitCode", 0)):
            errors.append(forbidden(f"status.{kind}[{number}].state", _NOT_BACK))


def _restarts(container: Obj | None, spec: Obj, code: int) -> bool:
    # parity v1.36.4: api/v1/pod/util.go ContainerShouldRestart, AllContainersCouldRestart
    everyone = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    if any(
        rule.get("action") == "RestartAllContainers"
        for one in everyone
        for rule in one.get("restartPolicyRules") or ()
    ):
        return True
    if container is None:
        return False
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = code in (codes.get("values") or ())
        if listed is (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _check_addresses(status: Obj, before: Obj, errors: ErrorList) -> None:
    for kind, single in (("podIPs", ""), ("hostIPs", "hostIP")):
        given = [one.get("ip", "") for one in status.get(kind) or ()]
        if not given:
            continue
        if single and status.get(single, "") != given[0]:
            text = f"must be equal to `{single}`"
            errors.append(invalid(f"status.{kind}[0].ip", given[0], text))
        known = [one.get("ip", "") for one in before.get(kind) or ()]
        for number, one in enumerate(given):
            if one not in known:
                texts(errors, f"status.{kind}[{number}]", one, addresses.ip_address(one))
        if len(given) > 2 or (len(given) == 2 and (":" in given[0]) is (":" in given[1])):
            text = "may specify no more than one IP for each IP family"
            errors.append(invalid(f"status.{kind}", [{"IP": one} for one in given], text))
