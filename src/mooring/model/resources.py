"""Resource amounts and what a pod asks for, by the rules of kube-scheduler.

Amounts are whole numbers: ``cpu`` in thousandths of a core, everything else in its own unit (bytes
of memory, devices, pods), rounded up as kube-scheduler rounds. Called by `Pod` and `Node`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from mooring.model.meta import KubeStruct
from mooring.model.quantity import Quantity, parse_quantity

if TYPE_CHECKING:
    from mooring.model.pod import Container, Pod, PodSpec

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
#: What a container that says nothing of a resource counts when nodes are scored.
SILENT: Final = {CPU: Quantity(100 * 10**6), MEMORY: Quantity(200 * 2**20 * 10**9)}

#: A resource list as it is written in JSON; bare numbers are legal there.
ResourceList = dict[str, str | int | float]
_MIN: Final = -(2**63)
_MAX: Final = 2**63 - 1

#: Exact amounts, before rounding.
ExactResources = dict[str, Quantity]


class Resources(dict[str, int]):
    """Amounts by resource name; the amount of a missing resource is 0.

    ``cpu`` is in thousandths of a core, everything else in its own unit. It cannot be changed:
    every decision reads the same amounts.
    """

    __slots__ = ()

    def __missing__(self, name: str) -> int:
        return 0

    def __reduce__(self) -> tuple[type["Resources"], tuple[dict[str, int]]]:
        return Resources, (dict(self),)

    def _read_only(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("amounts of a pod or a node are read-only; change a copy: dict(...)")

    __setitem__ = __delitem__ = __ior__ = _read_only
    clear = pop = popitem = setdefault = update = _read_only


class ResourceRequirements(KubeStruct, frozen=True, rename="camel"):
    """What a container or a pod asks for and may use at most."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ResourceStatus(KubeStruct, frozen=True, rename="camel"):
    """What the kubelet reports for a container while its resources are being changed in place."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


def amount(name: str, quantity: Quantity) -> int:
    """A quantity in the unit of its resource, as kube-scheduler keeps it in 64 bits."""
    number = quantity.milli if name == CPU else quantity.value
    if _MIN <= number <= _MAX:
        return number
    return _overflowed(number)


def _overflowed(number: int) -> int:
    # parity v1.36.4: apimachinery/pkg/api/resource ScaledValue does not clamp. An amount that is
    # held as a 64-bit number times a power of ten becomes 0, save for the powers that are
    # multiplied in one step; these, and amounts held with more bits, lose their upper bits.
    power, mantissa = 0, abs(number)
    while mantissa % 1000 == 0:
        power, mantissa = power + 3, mantissa // 1000
    if mantissa < 10**18 and power not in (0, 3, 6, 9):
        return 0
    return (number - _MIN) % 2**64 + _MIN


def read_resources(resources: ResourceList | None) -> Resources:
    """A resource list of an object, in whole units.

    Raises:
        QuantityError: an amount is no quantity.
    """
    return Resources(
        {name: amount(name, parse_quantity(text)) for name, text in (resources or {}).items()}
    )


def read_exact(resources: ResourceList | None) -> ExactResources:
    """A resource list of an object, exactly."""
    return {name: parse_quantity(text) for name, text in (resources or {}).items()}


def pod_requests(pod: "Pod") -> Resources:
    """What a pod takes up on a node.

    Sums containers and sidecars, takes the maximum with init containers, replaces by pod-level
    requests, adds overhead. While resources change in place, the larger of what is asked, allocated
    and in use counts.

    Raises:
        QuantityError: an amount in the pod is no quantity.
    """
    return _whole(_requests(pod))


def spec_requests(pod: "Pod") -> Resources:
    """What a pod asks for before it runs: `pod_requests` without what its status reports.

    Raises:
        QuantityError: an amount in the pod is no quantity.
    """
    # parity v1.36.4: plugins/noderesources/fit.go computePodResourceRequest
    return _whole(_requests(pod, use_status=False))


def scoring_requests(pod: "Pod") -> Resources:
    """What a pod on a node counts for when nodes are scored.

    Like `pod_requests`, but every container that says nothing of cpu or memory counts 100
    thousandths of a core or 200 MiB. With pod-level requests, this is done only for a resource that
    the whole pod says nothing of.

    Raises:
        QuantityError: an amount in the pod is no quantity.
    """
    # parity v1.36.4: framework/types.go CalculateResource
    requests = _requests(pod)
    silent = SILENT
    if _pod_level_requests(pod):
        silent = {name: least for name, least in SILENT.items() if name not in requests}
    return _whole(_requests(pod, silent=silent) if silent else requests)


def container_scoring_requests(pod: "Pod") -> Resources:
    """What a pod that is to be placed counts for when NodeResourcesFit scores nodes.

    Containers and overhead only, as the spec gives them, with the amounts of `scoring_requests` for
    silent containers. Pod-level requests do not count here, nor does the status.

    Raises:
        QuantityError: an amount in the pod is no quantity.
    """
    # parity v1.36.4: plugins/noderesources/resource_allocation.go calculatePodResourceRequest, for
    # the scorer that fit.go makes with none of its switches set
    return _whole(_requests(pod, use_status=False, pod_level=False, silent=SILENT))


def _whole(exact: ExactResources) -> Resources:
    return Resources({name: amount(name, quantity) for name, quantity in exact.items()})


def _requests(
    pod: "Pod",
    *,
    use_status: bool = True,
    pod_level: bool = True,
    silent: Mapping[str, Quantity] | None = None,
) -> ExactResources:
    """The exact requests of a pod.

    Args:
        pod: the pod.
        use_status: whether what the status reports counts.
        pod_level: whether the pod's own requests replace those of its containers.
        silent: what a container counts that says nothing of a resource.
    """
    # parity v1.36.4: component-helpers/resource/helpers.go PodRequests
    total = _container_requests(pod, use_status, silent or {})
    wanted = _pod_level_requests(pod) if pod_level else {}
    if wanted and use_status and pod.status.resources is not None:
        counted = _effective(
            pod, wanted, pod.status.resources.requests, pod.status.allocated_resources
        )
        wanted = {name: counted.get(name, Quantity(0)) for name in wanted}
    total.update(wanted)
    if pod.spec.overhead:
        _add(total, read_exact(pod.spec.overhead))
    return total


def _pod_level_requests(pod: "Pod") -> ExactResources:
    level = pod.spec.resources
    if level is None or not level.requests:
        return {}
    return {name: q for name, q in read_exact(level.requests).items() if is_pod_level(name)}


def _container_requests(
    pod: "Pod", use_status: bool, silent: Mapping[str, Quantity]
) -> ExactResources:
    reported = _reported(pod) if use_status else {}

    def container_requests(container: "Container", runs_on: bool) -> ExactResources:
        amounts = read_exact(container.resources.requests if container.resources else None)
        status = reported.get(container.name) if runs_on else None
        if status is not None and status.resources is not None:
            amounts = _effective(
                pod, amounts, status.resources.requests, status.allocated_resources
            )
        for name, quantity in silent.items():
            amounts.setdefault(name, quantity)
        return amounts

    return combine_containers(pod.spec, container_requests)


def combine_containers(
    spec: "PodSpec", amounts: Callable[["Container", bool], ExactResources]
) -> ExactResources:
    """What the containers of a pod come to at the time they need most.

    Args:
        spec: the pod's spec.
        amounts: what one container counts, in a new dict, given whether it runs on beside
            the others (a container or a sidecar) or ends before they start (an init container).
    """
    # parity v1.36.4: component-helpers/resource/helpers.go AggregateContainerRequests
    total: ExactResources = {}
    for container in spec.containers or ():
        _add(total, amounts(container, True))
    sidecars: ExactResources = {}
    init_peak: ExactResources = {}
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            asked = amounts(container, True)
            _add(total, asked)
            _add(sidecars, asked)
            _raise_to(init_peak, sidecars)
        else:
            asked = amounts(container, False)
            _add(asked, sidecars)
            _raise_to(init_peak, asked)
    _raise_to(total, init_peak)
    return total


def _reported(pod: "Pod") -> dict[str, ResourceStatus]:
    return {
        status.name: status
        for statuses in (pod.status.container_statuses, pod.status.init_container_statuses)
        for status in statuses or ()
    }


def _effective(
    pod: "Pod", spec: ExactResources, actual: ResourceList | None, allocated: ResourceList | None
) -> ExactResources:
    result: ExactResources = {}
    for part in (read_exact(actual), read_exact(allocated)):
        _raise_to(result, part)
    if not resize_infeasible(pod):
        _raise_to(result, spec)
    return result


def reported_resources(pod: "Pod") -> tuple[object, ...]:
    """All of a pod's status that `pod_requests` reads; empty for one that reports no resources."""
    status = pod.status
    if (
        status.resources is None
        and status.allocated_resources is None
        and not (status.container_statuses and _any_resources(status.container_statuses))
        and not (status.init_container_statuses and _any_resources(status.init_container_statuses))
    ):
        return ()
    return (
        status.container_statuses,
        status.init_container_statuses,
        status.resources,
        status.allocated_resources,
        resize_infeasible(pod),
    )


def _any_resources(statuses: Sequence[ResourceStatus]) -> bool:
    return any(one.resources is not None for one in statuses)


def resize_infeasible(pod: "Pod") -> bool:
    """Whether the kubelet said that the pod's resources cannot be changed as asked."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def is_pod_level(name: str) -> bool:
    """Whether a resource can be asked for by the pod as a whole."""
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _add(total: ExactResources, more: ExactResources) -> None:
    for name, quantity in more.items():
        have = total.get(name)
        total[name] = quantity if have is None else have + quantity


def _raise_to(total: ExactResources, other: ExactResources) -> None:
    for name, quantity in other.items():
        have = total.get(name)
        if have is None or quantity > have:
            total[name] = quantity
