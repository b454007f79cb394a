"""Extended resources of device classes: what `moor run` says until devices are supported."""

from collections.abc import Iterator

import pytest

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane
from tests.e2e.pod_helpers import node_of, nodes, note_of, pod, unschedulable

DEVICES = "resource.k8s.io/v1"
CLASS = "gpu.devices.example.com"
RESOURCE = "devices.example.com/gpu"


@pytest.fixture
def device_class(plane: BaseControlPlane) -> Iterator[str]:
    """A class of devices that pods may ask for as an extended resource."""
    plane.create(
        {
            "apiVersion": DEVICES,
            "kind": "DeviceClass",
            "metadata": {"name": CLASS},
            "spec": {"extendedResourceName": RESOURCE},
        }
    )
    yield CLASS
    plane.delete("DeviceClass", CLASS, api_version=DEVICES)


def test_a_resource_of_a_device_class_is_not_called_short(
    plane: BaseControlPlane, namespace: str, device_class: str
) -> None:
    def asking(name: str, resource: str) -> None:
        manifest = pod(name, namespace, "devices")
        manifest["spec"]["containers"][0]["resources"] = {"limits": {resource: "1"}}
        plane.create(manifest)

    implicit = f"deviceclass.resource.kubernetes.io/{device_class}"
    with (
        nodes(plane, bare={}),
        MoorRun(plane, args=["--scheduler-name", "devices"]),
    ):
        for name, resource in (("named", RESOURCE), ("implicit", implicit)):
            asking(name, resource)
            why = f"1 devices of DeviceClass {device_class} for {resource} are not supported by"
            unschedulable(plane, name, namespace, f"0/1 nodes are available: {why} mooring yet.")
            note_of(plane, name, namespace, "FailedScheduling", why)
        asking("other", "devices.example.com/other")
        unschedulable(plane, "other", namespace, "1 Insufficient devices.example.com/other.")
        # A node where a device plugin offers it is a node like any other.
        plane.create_node("plugged", extended={RESOURCE: "1"})
        assert node_of(plane, "named", namespace) == "plugged"
