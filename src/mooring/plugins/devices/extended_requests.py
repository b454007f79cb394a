"""The requests for devices that a pod's extended resources come to.

Where a node has no resource of that name of its own, a claim is made for the pod. Owns how that
claim is called, how the containers' amounts become requests, and which container uses which.
"""

# parity v1.36.4: plugins/dynamicresources/extendeddynamicresources.go createRequestsAndMappings

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from mooring.model.devices.resource_claim import (
    EXACT_COUNT,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from mooring.model.meta import KubeStruct, ObjectMeta
from mooring.model.pod import Container, Pod
from mooring.model.quantity import parse_quantity

_ALWAYS = "Always"
#: The name of a claim that does not exist yet.
IN_MEMORY: Final = "<extended-resources>"
#: The most characters of a name that the API server generates.
_MOST_CHARACTERS: Final = 63


class ContainerExtendedResourceRequest(KubeStruct, frozen=True, rename="camel"):
    """Which request gives a container a resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class ExtendedRequests(msgspec.Struct, frozen=True):
    """The requests of the claim for a pod's extended resources, and what they are for."""

    requests: Sequence[DeviceRequest]
    mappings: Sequence[ContainerExtendedResourceRequest]


def extended_requests(pod: Pod, classes: Mapping[str, str]) -> ExtendedRequests:
    """What has to be asked for.

    Args:
        pod: the pod.
        classes: the class of devices for each resource that a node has to provide by devices.
    """
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in sorted(classes):
        found = _of_resource(pod, resource, classes[resource])
        requests += found.requests
        mappings += found.mappings
    return ExtendedRequests(sorted(requests, key=lambda one: one.name), mappings)


def _of_resource(pod: Pod, resource: str, device_class: str) -> ExtendedRequests:
    init = pod.spec.init_containers or []
    containers = [*init, *(pod.spec.containers or ())]
    #: Containers that end before others start, and may use the devices of those.
    short = [number for number, one in enumerate(init) if one.restart_policy != _ALWAYS]
    kept: list[DeviceRequest | None] = [None] * len(containers)
    mappings: list[ContainerExtendedResourceRequest] = []
    for number, container in enumerate(containers):
        if number not in short:
            kept[number], used = _of_container(number, container, resource, device_class, ())
            mappings += used
    largest: DeviceRequest | None = None
    names = set()
    short_mappings: list[ContainerExtendedResourceRequest] = []
    for number in short:
        request, used = _of_container(
            number, containers[number], resource, device_class, kept[number:]
        )
        short_mappings += used
        if request is not None:
            names.add(request.name)
            if largest is None or _count(largest) < _count(request):
                largest = request
    if largest is None:
        return ExtendedRequests([one for one in kept if one], [*mappings, *short_mappings])
    renamed = [
        msgspec.structs.replace(one, request_name=largest.name)
        if one.request_name in names
        else one
        for one in short_mappings
    ]
    return ExtendedRequests([largest, *(one for one in kept if one)], [*mappings, *renamed])


def _of_container(
    number: int,
    container: Container,
    resource: str,
    device_class: str,
    reusable: Sequence[DeviceRequest | None],
) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
    """What a container has to ask for beyond what it can reuse, and what it uses."""
    asked = (container.resources.requests if container.resources else None) or {}
    if resource not in asked:
        return None, []
    amount = parse_quantity(asked[resource])
    if not amount or amount.nano % 10**9:
        return None, []
    needed = amount.value
    mappings = []
    for one in reusable:
        if one is not None:
            needed -= _count(one)
            mappings.append(ContainerExtendedResourceRequest(container.name, resource, one.name))
            if needed <= 0:
                return None, mappings
    name = f"container-{number}-request-{sorted(asked).index(resource)}"
    mappings.append(ContainerExtendedResourceRequest(container.name, resource, name))
    exactly = ExactDeviceRequest(
        device_class_name=device_class, allocation_mode=EXACT_COUNT, count=needed
    )
    return DeviceRequest(name=name, exactly=exactly), mappings


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def in_memory_claim(pod: Pod) -> ResourceClaim:
    """A claim for a pod's extended resources, which is created when a node was chosen."""
    return ResourceClaim(metadata=ObjectMeta(name=IN_MEMORY, namespace=pod.namespace))


def named_claim(pod: Pod, requests: Sequence[DeviceRequest], suffix: str) -> ResourceClaim:
    """The claim for a pod's extended resources as it is created."""
    # parity v1.36.4: apiserver/pkg/storage/names/generate.go
    start = f"{pod.name}-extended-resources-"[: _MOST_CHARACTERS - len(suffix)]
    return ResourceClaim(
        metadata=ObjectMeta(name=start + suffix, namespace=pod.namespace),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=list(requests) or None)),
    )
