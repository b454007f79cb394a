"""What a claim has been given: devices, their configuration, and the nodes where they can be used.

Owns `AllocationResult`, a part of the status of a claim. The allocator makes it; whoever wants to
know which devices are in use reads it.
"""

import msgspec

from mooring.model.devices.device_class import DeviceConfiguration
from mooring.model.meta import KubeStruct
from mooring.model.resources import ResourceList
from mooring.model.selectors import NodeSelector
from mooring.model.taints import Toleration


class DeviceRequestAllocationResult(KubeStruct, frozen=True, rename="camel"):
    """A device that was allocated for a request; the request's name is ``name/subrequest``."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: ResourceList | None = None


class DeviceAllocationConfiguration(DeviceConfiguration, frozen=True, rename="camel"):
    """A configuration for the devices of some requests; of all, if it names none."""

    source: str = ""
    requests: list[str] | None = None


class DeviceAllocationResult(KubeStruct, frozen=True, rename="camel"):
    """The devices of a claim and their configuration."""

    results: list[DeviceRequestAllocationResult] | None = None
    config: list[DeviceAllocationConfiguration] | None = None


class AllocationResult(KubeStruct, frozen=True, rename="camel"):
    """What a claim has been given, and the nodes where it can be used; None means all."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None
