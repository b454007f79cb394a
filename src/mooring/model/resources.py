"""Resource amounts and what a pod asks for, by the rules of kube-scheduler.

Amounts are whole numbers: ``cpu`` in thousandths of a core, everything else in its own unit (bytes
of memory, devices, pods), rounded up as kube-scheduler rounds. Called by `Pod` and `Node`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mooring.model.meta import Part
from mooring.model.quantity import Quantity, parse_quantity

if TYPE_CHECKING:
    from mooring.model.pod import Container, Pod

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"

#: A resource list as it is written in JSON; bare numbers are legal there.
ResourceList = dict[str, str | int | float]
#: Exact amounts, before rounding.
Exact = dict[str, Quantity]


class Resources(dict[str, int]):
    """Amounts by resource name; a resource that is not there has amount 0.

    ``cpu`` is in thousandths of a core, everything else in its own unit.
    """

    __slots__ = ()

    def __missing__(self, name: str) -> int:
        return 0


class ResourceRequirements(Part, frozen=True, rename="camel"):
    """What a container or a pod asks for and may use at most."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ResourceStatus(Part, frozen=True, rename="camel"):
    """What the kubelet reports for a container while its resources are being changed in place."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


def amount(name: str, quantity: Quantity) -> int:
    """A quantity in the unit of its resource."""
    return quantity.milli if name == CPU else quantity.value


def read_resources(resources: ResourceList | None) -> Resources:
    """A resource list of an object, in whole units.

    Raises:
        QuantityError: an amount is no quantity.
    """
    return Resources(
        {name: amount(name, parse_quantity(text)) for name, text in (resources or {}).items()}
    )


def read_exact(resources: ResourceList | None) -> Exact:
    """A resource list of an object, exactly."""
    return {name: parse_quantity(text) for name, text in (resources or {}).items()}


def pod_requests(pod: "Pod") -> Resources:
    """What a pod takes up on a node.

    Sums containers and sidecars, takes the maximum with init containers, replaces by pod-level
    requests, adds overhead. While resources change in place, the larger of what is asked, allocated
    and in use counts.
    """
    # parity v1.36.4: component-helpers/resource/helpers.go PodRequests
    total = _container_requests(pod)
    level = pod.spec.resources
    if level is not None and level.requests:
        wanted = {n: q for n, q in read_exact(level.requests).items() if _is_pod_level(n)}
        if wanted and pod.status.resources is not None:
            wanted = {
                name: _effective(
                    pod, wanted, pod.status.resources.requests, pod.status.allocated_resources
                ).get(name, Quantity(0))
                for name in wanted
            }
        total.update(wanted)
    if pod.spec.overhead:
        _add(total, read_exact(pod.spec.overhead))
    return Resources({name: amount(name, quantity) for name, quantity in total.items()})


def _container_requests(pod: "Pod") -> Exact:
    reported = {
        status.name: status
        for statuses in (pod.status.container_statuses, pod.status.init_container_statuses)
        for status in statuses or ()
    }
    total: Exact = {}
    for container in pod.spec.containers or ():
        _add(total, _one_container(pod, container, reported))
    sidecars: Exact = {}
    init_peak: Exact = {}
    for container in pod.spec.init_containers or ():
        if container.restart_policy == "Always":
            asked = _one_container(pod, container, reported)
            _add(total, asked)
            _add(sidecars, asked)
            _raise_to(init_peak, sidecars)
        else:
            asked = _own_requests(container)
            _add(asked, sidecars)
            _raise_to(init_peak, asked)
    _raise_to(total, init_peak)
    return total


def _own_requests(container: "Container") -> Exact:
    return read_exact(container.resources.requests if container.resources else None)


def _one_container(
    pod: "Pod", container: "Container", reported: Mapping[str, ResourceStatus]
) -> Exact:
    status = reported.get(container.name)
    own = _own_requests(container)
    if status is None or status.resources is None:
        return own
    return _effective(pod, own, status.resources.requests, status.allocated_resources)


def _effective(
    pod: "Pod", spec: Exact, actual: ResourceList | None, allocated: ResourceList | None
) -> Exact:
    result: Exact = {}
    for part in (read_exact(actual), read_exact(allocated)):
        _raise_to(result, part)
    if not _resize_infeasible(pod):
        _raise_to(result, spec)
    return result


def _resize_infeasible(pod: "Pod") -> bool:
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _add(total: Exact, more: Exact) -> None:
    for name, quantity in more.items():
        have = total.get(name)
        total[name] = quantity if have is None else have + quantity


def _raise_to(total: Exact, other: Exact) -> None:
    for name, quantity in other.items():
        have = total.get(name)
        if have is None or quantity > have:
            total[name] = quantity
