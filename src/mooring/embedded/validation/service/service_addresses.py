"""Checks of the addresses of Services, and of where their traffic may come from."""

# parity v1.36.4: core/validation/validation.go ValidateServiceClusterIPsRelatedFields,
# validateServiceExternalTrafficPolicy
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.addresses import cidr, ip_address
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    texts,
)

_FAMILIES: Final = ("IPv4", "IPv6")
_FAMILY_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_TRAFFIC: Final = ("Cluster", "Local")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")


def is_headless(spec: Obj) -> bool:
    """Whether a service has no address on purpose."""
    return bool((spec.get("clusterIPs") or [""])[0] == "None")


def check_addresses(spec: Obj, before: Obj, errors: ErrorList) -> None:
    """Check the cluster's addresses of a service; `before` is the spec it had."""
    if spec.get("type") == "ExternalName":
        return
    address, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    families, path = spec.get("ipFamilies") or [], "spec.clusterIPs"
    if address:
        if not addresses:
            errors.append(required(path))
        elif addresses[0] != address:
            errors.append(invalid(path, addresses, "first value must match `clusterIP`"))
    elif addresses:
        text = "must be empty when `clusterIP` is not specified"
        errors.append(invalid(path, addresses, text))
    for number, family in enumerate(families):
        if family not in _FAMILIES:
            errors.append(not_supported(f"spec.ipFamilies[{number}]", family, _FAMILIES))
        if family in families[:number]:
            errors.append(duplicate(f"spec.ipFamilies[{number}]", family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        errors.append(not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES))
    known = before.get("clusterIPs") or []
    if _check_each(addresses, known, path, errors) and not is_headless(spec):
        for number, (one, family) in enumerate(zip(addresses, families, strict=False)):
            if family in _FAMILIES and (":" in one) is not (family == "IPv6"):
                text = f"expected an {family} value as indicated by `ipFamilies[{number}]`"
                errors.append(invalid(f"{path}[{number}]", one, text))


def _check_each(addresses: list[str], known: list[str], path: str, errors: ErrorList) -> bool:
    """Check all addresses; whether each is one."""
    good = True
    for number, one in enumerate(addresses):
        if number == 0 and one == "None":
            if len(addresses) > 1:
                text = "'None' must be the first and only value"
                errors.append(invalid(path, addresses, text))
                good = False
        elif one not in known and (problems := ip_address(one)):
            texts(errors, f"{path}[{number}]", one, problems)
            good = False
    if len(addresses) > 2:
        errors.append(invalid(path, addresses, "may only hold up to 2 values"))
    if good and len(addresses) > 1 and len({":" in one for one in addresses}) == 1:
        text = "may specify no more than one IP for each IP family"
        errors.append(invalid(path, addresses, text))
    return good


def check_addresses_kept(spec: Obj, before: Obj, errors: ErrorList) -> None:
    """Check that a service keeps its addresses."""
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    if is_headless(spec) and is_headless(before):
        return
    now, was = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if was and not now:
        text = "primary clusterIP can not be unset"
        errors.append(invalid("spec.clusterIPs[0]", None, text))
    pairs = zip(now, was, strict=False)
    for number, (one, old) in enumerate(pairs):
        if one != old and (number == 0 or len(now) == len(was)):
            errors.append(invalid(f"spec.clusterIPs[{number}]", now, "may not change once set"))


def check_traffic(spec: Obj, errors: ErrorList) -> None:
    """Check where traffic may come from and where it goes."""
    kind, policy = spec.get("type", ""), spec.get("externalTrafficPolicy", "")
    outside = kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    if not outside:
        if policy:
            text = "may only be set for externally-accessible services"
            errors.append(invalid("spec.externalTrafficPolicy", policy, text))
    elif not policy:
        errors.append(required("spec.externalTrafficPolicy"))
    elif policy not in _TRAFFIC:
        errors.append(not_supported("spec.externalTrafficPolicy", policy, _TRAFFIC))
    port = spec.get("healthCheckNodePort", 0)
    if port and not (kind == "LoadBalancer" and policy == "Local"):
        text = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        errors.append(invalid("spec.healthCheckNodePort", port, text))
    inside = spec.get("internalTrafficPolicy")
    if inside is None:
        if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
            errors.append(required("spec.internalTrafficPolicy"))
    elif inside not in _TRAFFIC:
        errors.append(not_supported("spec.internalTrafficPolicy", inside, _TRAFFIC))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        errors.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))


def check_balancer(spec: Obj, errors: ErrorList) -> None:
    """Check what only services with a load balancer can have."""
    if spec.get("type") == "LoadBalancer":
        if spec.get("allocateLoadBalancerNodePorts") is None:
            errors.append(required("allocateLoadBalancerNodePorts"))
    else:
        if spec.get("loadBalancerSourceRanges"):
            text = "may only be used when `type` is 'LoadBalancer'"
            errors.append(forbidden("spec.LoadBalancerSourceRanges", text))
        if spec.get("allocateLoadBalancerNodePorts") is not None:
            text = "may only be used when `type` is 'LoadBalancer'"
            errors.append(forbidden("spec.allocateLoadBalancerNodePorts", text))
    for number, one in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        one = one.strip()
        texts(errors, f"spec.LoadBalancerSourceRanges[{number}]", one, cidr(one))
    if spec.get("type") != "LoadBalancer" and spec.get("loadBalancerClass") is not None:
        text = "may only be used when `type` is 'LoadBalancer'"
        errors.append(forbidden("spec.loadBalancerClass", text))
