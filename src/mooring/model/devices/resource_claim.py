"""Claims to devices and templates for them: what is asked for, what was given, and who uses it.

Owns `ResourceClaim`, `ResourceClaimTemplate` and the defaults that the API server sets in them.
"""

from typing import ClassVar, Final, TypeVar

import msgspec

from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.device_class import DeviceConfiguration, DeviceSelector
from mooring.model.meta import KubeObject, KubeStruct
from mooring.model.resources import ResourceList
from mooring.model.taints import Toleration

#: Marks the claim that the scheduler made for a pod's extended resources.
EXTENDED_RESOURCE_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"
#: As many devices as the request says.
EXACT_COUNT: Final = "ExactCount"
#: All devices that match.
ALL: Final = "All"


class CapacityRequirements(KubeStruct, frozen=True, rename="camel"):
    """How much of a device's capacities a request needs."""

    requests: ResourceList | None = None


class DeviceSubRequest(KubeStruct, frozen=True, rename="camel"):
    """One of several ways to meet a request."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str = ""
    count: int = 0
    tolerations: list[Toleration] | None = None
    capacity: CapacityRequirements | None = None


class ExactDeviceRequest(KubeStruct, frozen=True, rename="camel"):
    """The only way to meet a request."""

    device_class_name: str = ""
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: CapacityRequirements | None = None


class DeviceRequest(KubeStruct, frozen=True, rename="camel"):
    """Devices that a claim needs: exactly these, or the first of several that can be had."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: list[DeviceSubRequest] | None = None


class DeviceConstraint(KubeStruct, frozen=True, rename="camel"):
    """An attribute that must be the same, or differ, between the devices of some requests."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(DeviceConfiguration, frozen=True, rename="camel"):
    """A configuration for the devices of some requests; of all, if it names none."""

    requests: list[str] | None = None


class DeviceClaim(KubeStruct, frozen=True, rename="camel"):
    """The devices a claim is for."""

    requests: list[DeviceRequest] | None = None
    constraints: list[DeviceConstraint] | None = None
    config: list[DeviceClaimConfiguration] | None = None


class ResourceClaimSpec(KubeStruct, frozen=True, rename="camel"):
    """What a claim is for."""

    devices: DeviceClaim = DeviceClaim()


class ResourceClaimConsumerReference(KubeStruct, frozen=True, rename="camel"):
    """Who may use a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(KubeStruct, frozen=True, rename="camel"):
    """A condition of an allocated device."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(KubeStruct, frozen=True, rename="camel"):
    """What its driver says of an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: list[DeviceCondition] | None = None


class ResourceClaimStatus(KubeStruct, frozen=True, rename="camel"):
    """What a claim has been given, who may use it, and how its devices are."""

    allocation: AllocationResult | None = None
    reserved_for: list[ResourceClaimConsumerReference] | None = None
    devices: list[AllocatedDeviceStatus] | None = None


class ResourceClaim(KubeObject, frozen=True, rename="camel", dict=True):
    """A claim to devices; pods name it, and share it."""

    kind_name: ClassVar[str] = "ResourceClaim"

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def for_extended_resources(self) -> bool:
        """Whether the scheduler made it for a pod's extended resources."""
        return self.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true"


class ResourceClaimTemplateSpec(KubeStruct, frozen=True, rename="camel"):
    """The claims that are made of a template."""

    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubeObject, frozen=True, rename="camel", dict=True):
    """What a claim is made of for each pod that names the template."""

    kind_name: ClassVar[str] = "ResourceClaimTemplate"

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


Way = TypeVar("Way", ExactDeviceRequest, DeviceSubRequest)


def default_claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    """The spec with the API server's defaults; the same one if nothing was missing."""
    # parity v1.36.4: pkg/apis/resource/v1/defaults.go
    requests = spec.devices.requests or []
    completed = [_default_request(one) for one in requests]
    if all(new is old for new, old in zip(completed, requests, strict=True)):
        return spec
    devices = msgspec.structs.replace(spec.devices, requests=completed)
    return msgspec.structs.replace(spec, devices=devices)


def _default_request(request: DeviceRequest) -> DeviceRequest:
    exactly, listed = request.exactly, request.first_available or []
    if exactly is not None:
        exactly = _default_way(exactly)
    ways = [_default_way(one) for one in listed]
    if exactly is request.exactly and all(a is b for a, b in zip(ways, listed, strict=True)):
        return request
    return msgspec.structs.replace(request, exactly=exactly, first_available=ways or None)


def _default_way(way: Way) -> Way:
    mode = way.allocation_mode or EXACT_COUNT
    count = way.count or 1 if mode == EXACT_COUNT else way.count
    tolerations = way.tolerations
    if any(not one.operator for one in tolerations or ()):
        tolerations = [_default_toleration(one) for one in tolerations or ()]
    if (mode, count) == (way.allocation_mode, way.count) and tolerations is way.tolerations:
        return way
    return msgspec.structs.replace(way, allocation_mode=mode, count=count, tolerations=tolerations)


def _default_toleration(one: Toleration) -> Toleration:
    return one if one.operator else msgspec.structs.replace(one, operator="Equal")
