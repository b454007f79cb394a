"""The workloads whose pods need devices: scheduler_perf's of dynamic resource allocation.

Names, kinds and numbers are those of Kubernetes v1.36.4; sizes that it does not have say so. Used
by `plan`, `cluster` and `measuring`; nothing here talks to a server.
"""

from collections.abc import Mapping

from benchmarks.scheduler import devices
from benchmarks.scheduler.claim_kinds import ClaimKind
from benchmarks.scheduler.devices import Devices
from benchmarks.scheduler.kinds import PodKind
from benchmarks.scheduler.workloads import WORKLOADS, Size, Workload

#: At most so many are measured in a short run.
_QUICK = 300
#: So many pods come and go where pods are replaced as soon as they are bound.
_REPLACED = 1000

_POD = PodKind("test-dra-", cpu="")
_OWN_CLAIM = ClaimKind(devices.ONE_DEVICE)


def _workload(
    name: str, claims: ClaimKind, sizes: Mapping[int, Size], *, steady: bool = False
) -> Workload:
    first = next(iter(sizes.values()))
    return Workload(
        name,
        _POD,
        small=first,
        large=first,
        init=(_POD,),
        namespaces=("init", "test"),
        quick=_QUICK,
        official=any(size.official != 0 for size in sizes.values()),
        claims=claims,
        sizes=sizes,
        steady=steady,
    )


def _steady(name: str, claims: ClaimKind, sizes: Mapping[int, Size]) -> Workload:
    """Few pods at a time: so many in all, or as many as come in a minute."""
    return _workload(name, claims, sizes, steady=True)


def _on_nodes(idle_per_node: float, *, free: int = 0) -> dict[int, Size]:
    """Ten devices for each node, some of which are allocated to claims that no pod uses."""
    return {
        nodes: Size(
            0,
            _REPLACED,
            official=None if nodes <= 500 else 0,
            devices=10,
            idle=round(idle_per_node * nodes) - free,
        )
        for nodes in (100, 200, 500, 1000)
    }


def _classes(count: int, *, implicit: bool = False) -> ClaimKind:
    """Pods that ask in turn for the resources of so many classes, which have the same devices."""
    made = [
        devices.device_class(f"test-class-{number}", resource="" if implicit else _gpu(number))
        for number in range(count)
    ]
    start = "deviceclass.resource.kubernetes.io/test-class-"
    of = (lambda number: f"{start}{number % count}") if implicit else (
        lambda number: _gpu(number % count)
    )  # fmt: skip
    return ClaimKind(devices.ONE_DEVICE._replace(classes=made), resource=of)


def _gpu(number: int) -> str:
    return f"example.com/gpu-{number}"


_EXTENDED_SIZES = {
    200: Size(1000, 1000, devices=10),
    500: Size(2500, 2500, devices=10),
    1000: Size(5000, 5000, official=0, devices=10),
}
_NO_DEVICES = Devices({}, [], lambda *_: iter(()), devices.ONE_DEVICE.allocation)

_ALL = (
    _workload(
        "SchedulingWithResourceClaimTemplate",
        _OWN_CLAIM,
        {
            100: Size(1000, 1000, devices=20),
            200: Size(1000, 1000, devices=10),
            500: Size(2500, 2500, devices=10),
            1000: Size(5000, 5000, official=0, devices=10),
        },
    ),
    _steady("SteadyStateEmptyResourceClaimTemplate", _OWN_CLAIM, _on_nodes(0)),
    _steady("SteadyStateHalfResourceClaimTemplate", _OWN_CLAIM, _on_nodes(5)),
    _steady("SteadyStateFullResourceClaimTemplate", _OWN_CLAIM, _on_nodes(10, free=10)),
    _workload(
        "SchedulingWithResourceClaim",
        ClaimKind(devices.ONE_DEVICE, pods_per_claim=5),
        {
            100: Size(1000, 1000, devices=4),
            200: Size(1000, 1000, devices=2),
            500: Size(2500, 2500, devices=2),
            1000: Size(5000, 5000, official=0, devices=2),
        },
    ),
    _workload("ExtendedResource25Classes", _classes(25), _EXTENDED_SIZES),
    _workload(
        "ImplicitExtendedResource25Classes",
        _classes(25, implicit=True),
        {nodes: size for nodes, size in _EXTENDED_SIZES.items() if nodes <= 500},
    ),
    _workload(
        "SchedulingWithExtendedResource",
        ClaimKind(_NO_DEVICES, resource=lambda number: f"foo.com/bar-{number}", own_resources=True),
        {500: Size(0, 500), 1000: Size(0, 1000, official=0)},
    ),
    _workload(
        "FirstAvailable",
        ClaimKind(devices.FIRST_AVAILABLE),
        {500: Size(2500, 2500, official=0, devices=10)},
    ),
    _steady(
        "Partitionable",
        ClaimKind(devices.PARTITIONABLE),
        {100: Size(0, _REPLACED, devices=20, idle=2000)},
    ),
    _steady(
        "ConsumableCapacity",
        ClaimKind(devices.CONSUMABLE_CAPACITY),
        {100: Size(0, _REPLACED, devices=20)},
    ),
)
#: The workloads whose pods need devices, by name.
CLAIM_WORKLOADS: dict[str, Workload] = {one.name: one for one in _ALL}
#: Of those, one of each way is enough for a short run.
QUICK_CLAIMS = ("SchedulingWithResourceClaimTemplate", "SteadyStateHalfResourceClaimTemplate")
#: All workloads there are, by name.
ALL_WORKLOADS: dict[str, Workload] = {**WORKLOADS, **CLAIM_WORKLOADS}
