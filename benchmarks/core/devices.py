"""Part `devices`: the CPU time of decisions about pods that need devices; called by `__main__`.

The workloads are not among the others, as pods need more than themselves here: claims, of which one
is made for each pod before any clock runs, slices and classes. A decision ends with what is to be
written into the claim; it stays in flight until the slice is taken back.
"""

from typing import Any, NamedTuple

import msgspec

from benchmarks.core.bench import Bench
from benchmarks.core.kinds import PLAIN
from benchmarks.core.objects import NAMESPACE, Object, node_name
from benchmarks.core.speed import Effort, Speed
from benchmarks.core.speed import measure as measure_speed
from benchmarks.core.workloads import Workload
from mooring.model.change import Gone, Put
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.pod import Pod

NODES = (100, 500, 1000, 5000)
QUICK_NODES = (100, 500)
#: On each node, or for each.
_DEVICES = 10
_DRIVER = "gpu.example.com"
_RESOURCE = "example.com/gpu"
_CLAIM = "gpu"


class DeviceWorkload(NamedTuple):
    """Pods that need a device each.

    Attributes:
        name: a short name.
        title: what it is.
        request: of the claim of each pod; None if pods ask for an extended resource.
        reached: whether all nodes reach all devices.
    """

    name: str
    title: str
    request: Object | None
    reached: bool = False


_ONE = {"allocationMode": "ExactCount", "count": 1}
_EXACTLY = {"name": _CLAIM, "exactly": {"deviceClassName": _DRIVER, **_ONE}}
_EITHER = {
    "name": _CLAIM,
    "firstAvailable": [
        {"name": "none", "deviceClassName": "none.example.com", **_ONE},
        {"name": "any", "deviceClassName": _DRIVER, **_ONE},
    ],
}
_ALL = (
    DeviceWorkload("claim", "a claim for a device of a node", _EXACTLY),
    DeviceWorkload("first-available", "the same, the second choice", _EITHER),
    DeviceWorkload("reached", "a claim for a device that all nodes reach", _EXACTLY, reached=True),
    DeviceWorkload("extended", "an extended resource that devices provide", None),
)
#: All workloads by name.
DEVICE_WORKLOADS: dict[str, DeviceWorkload] = {one.name: one for one in _ALL}


def measure(workload: DeviceWorkload, nodes: int, effort: Effort) -> Speed:
    """Measure one workload on so many nodes."""
    return measure_speed(DeviceBench(workload, nodes), effort)


class DeviceBench(Bench):
    """A cluster with devices, and no pods on it.

    Args:
        workload: the pods.
        nodes: how many nodes there are.
    """

    def __init__(self, workload: DeviceWorkload, nodes: int) -> None:
        super().__init__(Workload(workload.name, workload.title, (PLAIN,)), nodes, 0)
        self._workload = workload
        for one in (_class(_DRIVER, _RESOURCE), _class("none.example.com")):
            self.cluster.put(one)
        for number in range(nodes):
            self.cluster.put(_slice(number, reached=workload.reached))

    def new_pods(self, count: int) -> list[Pod]:
        """Waiting pods in the queue, with their claims, that nobody has looked at yet."""
        made = []
        for number in range(self._next, self._next + count):
            body: Object = msgspec.json.decode(PLAIN.pod(number))
            if self._workload.request is None:
                _ask_for_resource(body)
            else:
                _name_claim(body)
                self.cluster.put(_claim(body, self._workload.request))
            pod = Pod.from_json(msgspec.json.encode(body), keep_source=False)
            self.core.handle((Put(pod),), float(number))
            made.append(pod)
        self._next += count
        return made

    def take_back(self, pods: list[Pod]) -> None:
        """Remove placed pods and their claims, so that the cluster is again as it was."""
        super().take_back(pods)
        for pod in pods:
            claim = self.cluster.catalog.get(ResourceClaim, f"{pod.namespace}/{pod.name}-{_CLAIM}")
            if claim is not None:
                self.core.handle((Gone(claim),), float(self._next))


def _class(name: str, resource: str = "") -> DeviceClass:
    spec: Object = {"selectors": [{"cel": {"expression": f"device.driver == '{name}'"}}]}
    if resource:
        spec["extendedResourceName"] = resource
    return DeviceClass.from_dict({"metadata": {"name": name}, "spec": spec})


def _slice(number: int, *, reached: bool) -> ResourceSlice:
    name = node_name(number)
    where: Object = {"allNodes": True} if reached else {"nodeName": name}
    spec = {
        "driver": _DRIVER,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": f"gpu-{device}", "attributes": {"model": {"string": "A100"}}}
            for device in range(_DEVICES)
        ],
        **where,
    }
    return ResourceSlice.from_dict({"metadata": {"name": name}, "spec": spec})


def _ask_for_resource(body: dict[str, Any]) -> None:
    resources = body["spec"]["containers"][0]["resources"]
    for part in resources.values():
        part[_RESOURCE] = "1"


def _name_claim(body: dict[str, Any]) -> None:
    claim = {"name": _CLAIM, "resourceClaimTemplateName": _CLAIM}
    body["spec"]["resourceClaims"] = [claim]
    body["spec"]["containers"][0]["resources"]["claims"] = [{"name": _CLAIM}]
    made = {"name": _CLAIM, "resourceClaimName": f"{body['metadata']['name']}-{_CLAIM}"}
    body["status"]["resourceClaimStatuses"] = [made]


def _claim(pod: dict[str, Any], request: Object) -> ResourceClaim:
    name = f"{pod['metadata']['name']}-{_CLAIM}"
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod["metadata"]["name"],
        "uid": pod["metadata"]["uid"],
        "controller": True,
    }
    return ResourceClaim.from_dict(
        {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{name}",
                "resourceVersion": "1000000",
                "ownerReferences": [owner],
            },
            "spec": {"devices": {"requests": [request]}},
        }
    )
