"""Checks of new pods and of pod templates.

The busiest of all checks: an ordinary pod must cost a few dozen microseconds, so everything is
looked at only where it is there.
"""

# parity v1.36.4: core/validation/validation.go ValidatePodCreate, ValidatePodSpec,
# ValidatePodTemplateSpec
import re
from collections.abc import Mapping
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import addresses, names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    one_of,
    required,
    texts,
    too_long,
)
from mooring.embedded.validation.object_meta import check_annotations, check_labels, check_meta
from mooring.embedded.validation.pod.containers import (
    PodContext,
    check_containers,
    check_ephemeral_containers,
    check_image_spaces,
    check_init_containers,
)
from mooring.embedded.validation.pod.pod_level_resources import check_pod_resources
from mooring.embedded.validation.pod.pod_scheduling import (
    check_affinity,
    check_gates,
    check_spread,
    check_tolerations,
)
from mooring.embedded.validation.pod.security_context import check_pod_security_context
from mooring.embedded.validation.pod.volumes import check_volumes
from mooring.embedded.validation.resource_amounts import check_requirements

MAX_INT32: Final = 2**31 - 1
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
MIRROR: Final = "kubernetes.io/config.mirror"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_whole: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII).fullmatch
# In the order in which the API server looks at them; what is not there costs one look-up.
_NAMES: Final = (
    ("serviceAccountName", names.subdomain),
    ("nodeName", names.subdomain),
)


def check_pod(pod: Obj, errors: ErrorList) -> None:
    """Check a new pod."""
    check_pod_content(pod, errors)
    spec = pod.get("spec") or {}
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden("spec.nodeName", text))


def check_pod_content(pod: Obj, errors: ErrorList) -> None:
    """Check the metadata and the spec of a pod, new or changed."""
    check_meta(pod, names.subdomain, errors)
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    annotations = meta.get("annotations")
    if annotations:
        check_pod_annotations(annotations, spec, "metadata.annotations", errors)
    check_pod_spec(spec, "spec", errors, pod=meta.get("name", ""), is_pod=True)
    if not spec.get("serviceAccountName"):
        _check_no_tokens(spec, errors)
    for number, one in enumerate(spec.get("containers") or ()):
        image = one.get("image", "")
        if image != image.strip():
            check_image_spaces(one, f"spec.containers[{number}]", errors)
    for number, one in enumerate(spec.get("initContainers") or ()):
        check_image_spaces(one, f"spec.initContainers[{number}]", errors)


def check_pod_annotations(
    annotations: Mapping[str, str], spec: Obj, path: str, errors: ErrorList
) -> None:
    """Check annotations that mean something for a pod."""
    if MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR}]", annotations[MIRROR], text))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not (_whole(cost) and -(2**31) <= int(cost) <= MAX_INT32):
        errors.append(invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer"))


def _check_no_tokens(spec: Obj, errors: ErrorList) -> None:
    for number, volume in enumerate(spec.get("volumes") or ()):
        for place, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                field = f"spec.volumes[{number}].projected.sources[{place}].serviceAccountToken"
                text = "must not be specified when serviceAccountName is not set"
                errors.append(forbidden(field, text))


def check_template(template: Obj, path: str, errors: ErrorList) -> None:
    """Check a pod template."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    check_labels(meta.get("labels") or {}, f"{path}.labels", errors)
    annotations = meta.get("annotations") or {}
    check_annotations(annotations, f"{path}.annotations", errors)
    check_pod_annotations(annotations, spec, f"{path}.annotations", errors)
    check_pod_spec(spec, f"{path}.spec", errors)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", text))


def check_pod_spec(
    spec: Obj, path: str, errors: ErrorList, *, pod: str = "", is_pod: bool = False
) -> None:
    """Check the spec of a pod or of a template.

    Args:
        spec: the spec.
        path: its field.
        errors: gets what is wrong.
        pod: the name of the pod, if it is known.
        is_pod: whether this is a pod and no template.
    """
    get = spec.get
    grace = get("terminationGracePeriodSeconds")
    if grace is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    volumes = get("volumes")
    good: dict[str, Obj] = (
        check_volumes(volumes, pod, f"{path}.volumes", errors, is_pod=is_pod) if volumes else {}
    )
    claims: set[str] = set()
    if get("resourceClaims"):
        claims = {one["name"] for one in spec["resourceClaims"] if one.get("name")}
        _check_resource_claims(spec["resourceClaims"], f"{path}.resourceClaims", errors)
    restart = get("restartPolicy", "")
    system = (get("os") or {}).get("name", "")
    around = PodContext(good, claims, grace, restart, system, get("hostUsers") is not False)
    containers = get("containers") or []
    check_containers(containers, around, f"{path}.containers", errors)
    if early := get("initContainers"):
        check_init_containers(early, containers, around, f"{path}.initContainers", errors)
    if get("ephemeralContainers"):
        check_ephemeral_containers(spec, around, f"{path}.ephemeralContainers", errors)
    if get("resources") is not None:
        check_pod_resources(spec, f"{path}.resources", errors, claims=claims)
    if get("hostNetwork"):
        _check_host_network(containers, f"{path}.containers", errors, is_pod=is_pod)
    if restart not in RESTART_POLICIES:
        one_of(errors, f"{path}.restartPolicy", restart, RESTART_POLICIES)
    dns = get("dnsPolicy", "")
    if dns not in _DNS_POLICIES:
        one_of(errors, f"{path}.dnsPolicy", dns, _DNS_POLICIES)
    if selector := get("nodeSelector"):
        check_labels(selector, f"{path}.nodeSelector", errors)
    if get("securityContext") or get("shareProcessNamespace"):
        check_pod_security_context(spec, f"{path}.securityContext", errors)
    if affinity := get("affinity"):
        check_affinity(affinity, f"{path}.affinity", errors)
    if dns == "None" or get("dnsConfig"):
        _check_dns(get("dnsConfig"), dns, f"{path}.dnsConfig", errors)
    if gates := get("readinessGates"):
        for number, one in enumerate(gates):
            kind = one.get("conditionType", "")
            field = f"{path}.readinessGates[{number}].conditionType"
            texts(errors, field, kind, names.label_key(kind))
    if gates := get("schedulingGates"):
        check_gates(gates, f"{path}.schedulingGates", errors)
    if constraints := get("topologySpreadConstraints"):
        check_spread(constraints, f"{path}.topologySpreadConstraints", errors)
    if get("hostUsers") is False:
        _check_host_users(spec, path, errors)
    if get("hostnameOverride") is not None:
        _check_hostname_override(spec, path, errors)
    _check_names(spec, path, errors)
    if get("overhead"):
        overhead = {"limits": spec["overhead"]}
        check_requirements(overhead, f"{path}.overhead", errors)
    if get("os") is not None:
        if not system:
            errors.append(required(f"{path}.os.name"))
        elif system not in ("linux", "windows"):
            errors.append(not_supported(f"{path}.os", system, ("linux", "windows")))
    _check_file_keys(spec, path, errors)


def _check_names(spec: Obj, path: str, errors: ErrorList) -> None:
    """Check fields that are one name or one number, and the lists between them."""
    get = spec.get
    for name, namer in _NAMES:
        value = get(name)
        if value and (problems := namer(value)):
            texts(errors, f"{path}.{name}", value, problems)
    deadline = get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        text = f"must be between 1 and {MAX_INT32}, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, text))
    for name in ("hostname", "subdomain"):
        if value := get(name):
            texts(errors, f"{path}.{name}", value, names.dns_label(value))
    if tolerations := get("tolerations"):
        check_tolerations(tolerations, f"{path}.tolerations", errors)
    if aliases := get("hostAliases"):
        _check_aliases(aliases, f"{path}.hostAliases", errors)
    for name in ("priorityClassName", "runtimeClassName"):
        value = get(name)
        if value or (value is not None and name == "runtimeClassName"):
            texts(errors, f"{path}.{name}", value, names.subdomain(value))
    policy = get("preemptionPolicy")
    if policy is not None and policy not in PREEMPTION_POLICIES:
        one_of(errors, f"{path}.preemptionPolicy", policy, PREEMPTION_POLICIES)


def _check_resource_claims(claims: list[Obj], path: str, errors: ErrorList) -> None:
    seen: set[str] = set()
    for number, one in enumerate(claims):
        at, name = f"{path}[{number}]", one.get("name", "")
        claim, template = one.get("resourceClaimName"), one.get("resourceClaimTemplateName")
        if not name:
            errors.append(required(f"{at}.name"))
        elif name in seen:
            errors.append(duplicate(f"{at}.name", name))
        else:
            texts(errors, f"{at}.name", name, names.dns_label(name))
            seen.add(name)
        if (claim is None) is (template is None):
            text = (
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
                if claim is None
                else "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                "specified"
            )
            value: dict[str, Any] = {"Name": name, "ResourceClaimName": claim}
            value["ResourceClaimTemplateName"] = template
            errors.append(invalid(at, value, text))
        for field, given in (
            ("resourceClaimName", claim),
            ("resourceClaimTemplateName", template),
        ):
            if given is not None:
                texts(errors, f"{at}.{field}", given, names.subdomain(given))


def _check_host_network(
    containers: list[Obj], path: str, errors: ErrorList, *, is_pod: bool
) -> None:
    for number, one in enumerate(containers):
        for place, port in enumerate(one.get("ports") or ()):
            outside = port.get("hostPort", 0)
            if (is_pod or outside) and outside != port.get("containerPort", 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                field = f"{path}[{number}].ports[{place}].hostPort"
                errors.append(invalid(field, outside, text))


def _check_dns(config: Obj | None, policy: str, path: str, errors: ErrorList) -> None:
    if policy == "None" and config is None:
        text = "must provide `dnsConfig` when `dnsPolicy` is None"
        errors.append(required(path, text))
        return
    config = config or {}
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if policy == "None" and not servers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        errors.append(required(f"{path}.nameservers", text))
        return
    if len(servers) > 3:
        text = "must not have more than 3 nameservers"
        errors.append(invalid(f"{path}.nameservers", servers, text))
    for number, one in enumerate(servers):
        texts(errors, f"{path}.nameservers[{number}]", one, addresses.ip_address(one))
    if len(searches) > 32:
        text = "must not have more than 32 search paths"
        errors.append(invalid(f"{path}.searches", searches, text))
    if len(" ".join(searches)) > 2048:
        text = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, text))
    for number, one in enumerate(searches):
        if one != ".":
            one = one.removesuffix(".")
            texts(errors, f"{path}.searches[{number}]", one, names.search_domain(one))
    for number, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(f"{path}.options[{number}]", "must not be empty"))


def _check_host_users(spec: Obj, path: str, errors: ErrorList) -> None:
    text = "when `hostUsers` is false"
    for name, field in (
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ):
        if spec.get(name):
            errors.append(forbidden(f"{path}.{field}", text))
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for number, one in enumerate(spec.get(kind) or ()):
            if one.get("volumeDevices"):
                errors.append(forbidden(f"{path}.{kind}[{number}].volumeDevices", text))


def _check_hostname_override(spec: Obj, path: str, errors: ErrorList) -> None:
    name, at = spec["hostnameOverride"], f"{path}.hostnameOverride"
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if len(name) > 64:
        errors.append(too_long(at, 64))
    texts(errors, at, name, names.subdomain(name))


def _check_aliases(aliases: list[Obj], path: str, errors: ErrorList) -> None:
    for number, one in enumerate(aliases):
        address = one.get("ip", "")
        texts(errors, f"{path}[{number}].ip", address, addresses.ip_address(address))
        for place, name in enumerate(one.get("hostnames") or ()):
            texts(errors, f"{path}[{number}].hostnames[{place}]", name, names.subdomain(name))


def _check_file_keys(spec: Obj, path: str, errors: ErrorList) -> None:
    for kind in ("initContainers", "containers"):
        for number, one in enumerate(spec.get(kind) or ()):
            for place, variable in enumerate(one.get("env") or ()):
                ref = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if ref is not None:
                    at = f"{path}.{kind}[{number}].env[{place}].valueFrom.fileKeyRef.volumeName"
                    _check_file_volume(ref.get("volumeName", ""), spec, at, errors)


def _check_file_volume(name: str, spec: Obj, path: str, errors: ErrorList) -> None:
    volumes = {one.get("name", ""): one for one in spec.get("volumes") or ()}
    if name not in volumes:
        errors.append(not_found(path, name))
    elif volumes[name].get("emptyDir") is None:
        errors.append(invalid(path, name, "referenced volume must be of type emptyDir"))
