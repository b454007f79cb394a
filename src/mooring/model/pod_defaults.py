"""What the API server adds to a pod when it stores one, as far as scheduling reads it.

Owns the defaults inside a pod; `mooring.model.defaults` calls it. Every function returns the very
object it was given if nothing was missing, so that a pod from an API server costs no copy.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from mooring.model.pod import (
    Container,
    ContainerPort,
    PodSpec,
    PodStatus,
    TopologySpreadConstraint,
)
from mooring.model.quantity import Quantity, parse_quantity
from mooring.model.resources import (
    CPU,
    MEMORY,
    ResourceList,
    ResourceRequirements,
    ResourceStatus,
    combine_containers,
    is_pod_level,
    read_exact,
)
from mooring.model.selectors import (
    Affinity,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    WeightedPodAffinityTerm,
)
from mooring.model.volumes import default_volume

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
DEFAULT_SCHEDULER: Final = "default-scheduler"
_MILLI: Final = 10**6  # in billionths


def default_spec(spec: PodSpec, labels: Mapping[str, str]) -> PodSpec:
    """The spec with the API server's defaults; the same object if nothing was missing.

    Args:
        spec: the pod's spec.
        labels: the pod's labels; ``matchLabelKeys`` take their values from them.

    Raises:
        QuantityError: an amount is no quantity.
    """
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_Pod, zz_generated.defaults.go
    container = _host_network_container if spec.host_network else _container
    spec = with_fields(
        spec,
        scheduler_name=spec.scheduler_name or DEFAULT_SCHEDULER,
        containers=_each(spec.containers, container),
        init_containers=_each(spec.init_containers, container),
    )
    if spec.resources is not None:
        spec = with_fields(spec, resources=_pod_level(spec, spec.resources))
    # Last, because requests are taken from limits and summed up before they are rounded.
    return with_fields(
        spec,
        containers=_each(spec.containers, _rounded_container),
        init_containers=_each(spec.init_containers, _rounded_container),
        overhead=rounded(spec.overhead),
        resources=rounded_requirements(spec.resources),
        volumes=_each(spec.volumes, default_volume),
        affinity=spec.affinity and _affinity(spec.affinity, labels),
        topology_spread_constraints=_each(
            spec.topology_spread_constraints, lambda one: _constraint(one, labels)
        ),
    )


def default_status(status: PodStatus) -> PodStatus:
    """The status with the API server's defaults; the same object if nothing was missing.

    Raises:
        QuantityError: an amount is no quantity.
    """
    return with_fields(
        status,
        container_statuses=_each(status.container_statuses, _container_status),
        init_container_statuses=_each(status.init_container_statuses, _container_status),
        resources=rounded_requirements(status.resources),
        allocated_resources=rounded(status.allocated_resources),
    )


def rounded(resources: ResourceList | None) -> ResourceList | None:
    """The amounts, rounded up to thousandths, the finest step the API server stores."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_ResourceList
    if not resources or not any(map(_is_too_fine, resources.values())):
        return resources
    return {name: _coarser(text) for name, text in resources.items()}


def rounded_requirements(resources: ResourceRequirements | None) -> ResourceRequirements | None:
    """Requests and limits, rounded up to thousandths."""
    if resources is None:
        return None
    return with_fields(
        resources, requests=rounded(resources.requests), limits=rounded(resources.limits)
    )


@functools.lru_cache(maxsize=16384)
def _is_too_fine(text: str | int | float) -> bool:
    return parse_quantity(text).nano % _MILLI != 0


def _coarser(text: str | int | float) -> str | int | float:
    if not _is_too_fine(text):
        return text
    return str(Quantity(parse_quantity(text).milli * _MILLI))


def with_fields(part: S, **fields: object) -> S:
    """The part with these fields; the same object if it has them already."""
    for name, value in fields.items():
        if getattr(part, name) is not value:
            return msgspec.structs.replace(part, **fields)
    return part


def _each(parts: list[T] | None, change: Callable[[T], T]) -> list[T] | None:
    """The list with every element changed; the same list if none was."""
    if not parts:
        return parts
    for number, part in enumerate(parts):
        new = change(part)
        if new is not part:
            return [*parts[:number], new, *map(change, parts[number + 1 :])]
    return parts


def _container(container: Container) -> Container:
    if container.resources is None and container.ports is None:
        return container
    return with_fields(
        container,
        resources=container.resources and _requests_from_limits(container.resources),
        ports=_each(container.ports, _port),
    )


def _host_network_container(container: Container) -> Container:
    container = _container(container)
    return with_fields(container, ports=_each(container.ports, _host_port))


def _requests_from_limits(resources: ResourceRequirements) -> ResourceRequirements:
    limits, requests = resources.limits, resources.requests or {}
    if not limits or limits.keys() <= requests.keys():
        return resources
    return msgspec.structs.replace(resources, requests={**limits, **requests})


def _port(port: ContainerPort) -> ContainerPort:
    return port if port.protocol else msgspec.structs.replace(port, protocol="TCP")


def _host_port(port: ContainerPort) -> ContainerPort:
    if port.host_port or not port.container_port:
        return port
    return msgspec.structs.replace(port, host_port=port.container_port)


def _rounded_container(container: Container) -> Container:
    resources = container.resources
    if resources is None:
        return container
    return with_fields(container, resources=rounded_requirements(resources))


def _container_status(status: ResourceStatus) -> ResourceStatus:
    return with_fields(
        status,
        resources=rounded_requirements(status.resources),
        allocated_resources=rounded(status.allocated_resources),
    )


def _pod_level(spec: PodSpec, level: ResourceRequirements) -> ResourceRequirements:
    """Pod-level limits of huge pages from the containers' limits, then the missing requests."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go defaultHugePagePodLimits, defaultPodRequests
    requests, limits = level.requests or {}, level.limits or {}
    if not requests and not limits:
        return level
    new_limits = dict(limits)
    for name, quantity in combine_containers(spec, _limits).items():
        if name.startswith("hugepages-") and name not in requests:
            new_limits.setdefault(name, str(quantity))
    new_requests = dict(requests)
    if new_limits:
        for name, quantity in combine_containers(spec, _requests).items():
            if name in (CPU, MEMORY):
                new_requests.setdefault(name, str(quantity))
        for name, text in new_limits.items():
            if is_pod_level(name):
                new_requests.setdefault(name, text)
    if len(new_limits) == len(limits) and len(new_requests) == len(requests):
        return level
    return msgspec.structs.replace(level, requests=new_requests or None, limits=new_limits or None)


def _limits(container: Container, _runs_on: bool) -> dict[str, Quantity]:
    return read_exact(container.resources.limits if container.resources else None)


def _requests(container: Container, _runs_on: bool) -> dict[str, Quantity]:
    return read_exact(container.resources.requests if container.resources else None)


def _affinity(affinity: Affinity, labels: Mapping[str, str]) -> Affinity:
    return with_fields(
        affinity,
        pod_affinity=affinity.pod_affinity and _pod_affinity(affinity.pod_affinity, labels),
        pod_anti_affinity=affinity.pod_anti_affinity
        and _pod_affinity(affinity.pod_anti_affinity, labels),
    )


def _pod_affinity(affinity: PodAffinity, labels: Mapping[str, str]) -> PodAffinity:
    def weighted(wish: WeightedPodAffinityTerm) -> WeightedPodAffinityTerm:
        return with_fields(wish, pod_affinity_term=_term(wish.pod_affinity_term, labels))

    return with_fields(
        affinity,
        required_during_scheduling_ignored_during_execution=_each(
            affinity.required_during_scheduling_ignored_during_execution,
            lambda term: _term(term, labels),
        ),
        preferred_during_scheduling_ignored_during_execution=_each(
            affinity.preferred_during_scheduling_ignored_during_execution, weighted
        ),
    )


def _term(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    if term.label_selector is None or not (term.match_label_keys or term.mismatch_label_keys):
        return term
    selector = _merged(term.label_selector, term.match_label_keys, "In", labels)
    selector = _merged(selector, term.mismatch_label_keys, "NotIn", labels)
    return with_fields(term, label_selector=selector)


def _constraint(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str]
) -> TopologySpreadConstraint:
    if constraint.label_selector is None or not constraint.match_label_keys:
        return constraint
    selector = _merged(constraint.label_selector, constraint.match_label_keys, "In", labels)
    return with_fields(constraint, label_selector=selector)


def _merged(
    selector: LabelSelector, keys: list[str] | None, operator: str, labels: Mapping[str, str]
) -> LabelSelector:
    """The selector with a condition for each key: the pod's own value of it."""
    # parity v1.36.4: pkg/registry/core/pod/strategy.go applyMatchLabelKeysAndMismatchLabelKeys
    have = selector.match_expressions or []
    new = [
        condition
        for condition in (
            Requirement(key, operator, [labels[key]]) for key in keys or () if key in labels
        )
        if not any(_is_merged(one, condition) for one in have)
    ]
    return msgspec.structs.replace(selector, match_expressions=have + new) if new else selector


def _is_merged(have: Requirement, condition: Requirement) -> bool:
    """Whether a condition is the one the API server added when it stored the pod."""
    if (have.key, have.operator) != (condition.key, condition.operator):
        return False
    # Labels may change later. Beside matchLabelKeys, a valid pod has no other condition on the key;
    # beside mismatchLabelKeys it may.
    return have.values == condition.values or have.operator == "In"
