"""Device classes, slices and claims as they are created; shaped as in scheduler_perf.

Used by `claim_workloads` and `claim_task`. Made from numbers alone; nothing here talks to a server.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.scheduler.kinds import Object, node_name

DRIVER = "test-driver.cdi.k8s.io"
FINALIZER = "resource.kubernetes.io/delete-protection"
#: The label of the nodes whose devices are not on them, but can be reached from them.
LABEL = "node-with-dra"
CLASS = "test-class"
#: The request of a claim, and what pods call their claim.
REQUEST, CLAIM = "req-0", "resource"
#: The pool of which all nodes can use the device, or its partitions, has this name and a number.
POOL = "resourceslice-"

_SLICE_ATTRIBUTE = "dra.example.com/slice"
_API = "resource.k8s.io/v1"
_MATCHES = f'device.driver == "{DRIVER}"'
#: Of so many counters, each partition takes one or two.
_COUNTERS = 4


class Allocation(NamedTuple):
    """The devices of a claim.

    Attributes:
        results: each with its request, as in the status of the claim.
        node: the only node where they can be used; empty if all nodes can.
    """

    results: list[Object]
    node: str = ""

    def status(self) -> Object:
        """The status of the claim."""
        if self.node:
            named = {"key": "metadata.name", "operator": "In", "values": [self.node]}
            term: Object = {"matchFields": [named]}
        else:
            term = {"matchExpressions": [{"key": LABEL, "operator": "In", "values": ["true"]}]}
        return {
            "allocation": {
                "devices": {"results": self.results},
                "nodeSelector": {"nodeSelectorTerms": [term]},
            }
        }


class Devices(NamedTuple):
    """The devices of a cluster, and what claims ask of them.

    Attributes:
        spec: of a claim, below ``devices``.
        classes: the device classes.
        slices: makes the slices for so many nodes, with so many devices for each.
        allocation: the devices of the claim with a number, on a cluster with so many nodes.
        idle_spec: of a claim that is allocated before any pod comes, if it is another.
        idle_allocation: the devices of that.
    """

    spec: Object
    classes: list[Object]
    slices: Callable[[int, int], Iterator[Object]]
    allocation: Callable[[int, int], Allocation]
    idle_spec: Object | None = None
    idle_allocation: Callable[[int, int], Allocation] | None = None


def device_class(name: str = CLASS, expression: str = _MATCHES, resource: str = "") -> Object:
    """A class of the driver's devices, which may provide an extended resource."""
    spec: Object = {"selectors": [{"cel": {"expression": expression}}]}
    if resource:
        spec["extendedResourceName"] = resource
    return {"apiVersion": _API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def exactly(**fields: Any) -> Object:
    """A request for devices of the class."""
    return {"name": REQUEST, "exactly": {"deviceClassName": CLASS, **fields}}


def _slice(name: str, pool: str, count: int, spec: Object) -> Object:
    about = {"name": pool, "generation": 1, "resourceSliceCount": count}
    return {
        "apiVersion": _API,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": about, **spec},
    }


def _on_labelled(**spec: Any) -> Object:
    term = {"matchExpressions": [{"key": LABEL, "operator": "In", "values": ["true"]}]}
    return {"nodeSelector": {"nodeSelectorTerms": [term]}, **spec}


# -- devices of nodes


def _of_nodes(nodes: int, devices: int) -> Iterator[Object]:
    attributes = {
        "model": {"string": "A100"},
        "family": {"string": "GPU"},
        "driverVersion": {"version": "1.2.3"},
    }
    for node in map(node_name, range(nodes)):
        listed = [
            {
                "name": f"instance-{number}",
                "attributes": {**attributes, "dra.example.com/numa": {"int": number}},
                "capacity": {"memory": {"value": "1Gi"}},
            }
            for number in range(devices)
        ]
        yield _slice(node, node, 1, {"nodeName": node, "devices": listed})


def _on_node(number: int, nodes: int) -> Allocation:
    device, node = divmod(number, nodes)
    return on_node(node_name(node), device)


def on_node(node: str, device: int, request: str = REQUEST) -> Allocation:
    """The device of a node with this number."""
    result = {"request": request, "driver": DRIVER, "pool": node, "device": f"instance-{device}"}
    return Allocation([result], node)


#: One device of a node.
ONE_DEVICE = Devices({"requests": [exactly()]}, [device_class()], _of_nodes, _on_node)
#: The same if there is none of a kind that nobody has.
FIRST_AVAILABLE = ONE_DEVICE._replace(
    spec={
        "requests": [
            {
                "name": REQUEST,
                "firstAvailable": [
                    {"name": "sub-0", "deviceClassName": "no-devices-class"},
                    {"name": "sub-1", "deviceClassName": CLASS},
                ],
            }
        ]
    },
    classes=[
        device_class(),
        device_class("no-devices-class", 'device.driver == "no-such-driver.cdi.k8s.io"'),
    ],
    allocation=lambda number, nodes: on_node(
        node_name(number % nodes), number // nodes, f"{REQUEST}/sub-1"
    ),
)

# -- devices that all nodes reach


def _shareable(nodes: int, devices: int) -> Iterator[Object]:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi"}}
    device = {
        "name": "shareable-device",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "80Gi", "requestPolicy": policy}},
    }
    for number in range(nodes * devices):
        name = f"{POOL}{number}"
        yield _slice(name, name, 1, _on_labelled(devices=[device]))


def _two_shares(number: int, nodes: int) -> Allocation:
    return Allocation(
        [
            {
                "request": f"req-{request}",
                "driver": DRIVER,
                "pool": f"{POOL}{number}",
                "device": "shareable-device",
                "shareID": f"00000000-0000-4000-8000-{2 * number + request:012d}",
                "consumedCapacity": {"memory": "40Gi"},
            }
            for request in range(2)
        ]
    )


_HALF = {"deviceClassName": CLASS, "capacity": {"requests": {"memory": "40Gi"}}}
#: Two halves of the memory of devices that can be shared.
CONSUMABLE_CAPACITY = Devices(
    {"requests": [{"name": f"req-{number}", "exactly": _HALF} for number in range(2)]},
    [device_class(expression=f"{_MATCHES} && device.allowMultipleAllocations == true")],
    _shareable,
    _two_shares,
)


def _partitions(nodes: int, devices: int) -> Iterator[Object]:
    counters = {f"counter{number}": {"value": "1"} for number in range(1, _COUNTERS + 1)}
    shared = [{"name": "counter-set", "counters": counters}]
    for number in range(nodes * devices):
        pool = f"{POOL}{number}"
        yield _slice(f"resourceslice-countersets-{number}", pool, 2,
                     _on_labelled(sharedCounters=shared))  # fmt: skip
        listed = [
            _partition("device-2-counters-1", number, (1, 2), preallocate=True),
            _partition("device-2-counters-2", number, (3, 4)),
            *(_partition(f"device-1-counter-{one}", number, (one,)) for one in range(1, 5)),
        ]
        yield _slice(f"resourceslice-devices-{number}", pool, 2, _on_labelled(devices=listed))


def _partition(
    name: str, number: int, counters: tuple[int, ...], *, preallocate: bool = False
) -> Object:
    taken = {f"counter{one}": {"value": "1"} for one in counters}
    return {
        "name": name,
        "attributes": {"preallocate": {"bool": preallocate}, _SLICE_ATTRIBUTE: {"int": number}},
        "capacity": {"counters": {"value": str(len(counters))}},
        "consumesCounters": [{"counterSet": "counter-set", "counters": taken}],
    }


def _in_pool(number: int, *devices: str) -> Allocation:
    common = {"request": REQUEST, "driver": DRIVER, "pool": f"{POOL}{number}"}
    return Allocation([{**common, "device": name} for name in devices])


_LARGE_PARTITION = (
    f"device.capacity['{DRIVER}'].counters.compareTo(quantity('2')) >= 0 && "
    f"device.attributes['{DRIVER}'].preallocate"
)
#: Two partitions of one device, of which half is taken by another claim.
PARTITIONABLE = Devices(
    {
        "requests": [exactly(count=2)],
        "constraints": [{"requests": [REQUEST], "matchAttribute": _SLICE_ATTRIBUTE}],
    },
    [device_class()],
    _partitions,
    lambda number, _: _in_pool(number, "device-1-counter-3", "device-1-counter-4"),
    {"requests": [exactly(selectors=[{"cel": {"expression": _LARGE_PARTITION}}])]},
    lambda number, _: _in_pool(number, "device-2-counters-1"),
)
