"""Devices and claims for end-to-end tests: a driver, and pods that use its devices."""

from typing import Any

from mooring.embedded.devices.device_pools import device_classes, node_slices
from mooring.embedded.devices.forms import DriverForm
from mooring.testing.real_kubernetes import BaseControlPlane
from mooring.typed_yaml import convert

Obj = dict[str, Any]

API = "resource.k8s.io/v1"
NAME = "gpu.example.com"
RESOURCE = "example.com/gpu"
#: Two GPUs on each node, each of which can be halved.
DRIVER = convert(
    {
        "name": NAME,
        "classes": [
            {
                "name": NAME, "selector": 'device.attributes["gpu.example.com"].whole',
                "extendedResourceName": RESOURCE,
            },
            {"name": "half", "selector": '!device.attributes["gpu.example.com"].whole'},
        ],
        "pools": [
            {
                "devices": [
                    {
                        "name": "gpu", "count": 2, "attributes": {"model": "A100", "whole": True},
                        "counters": {"memory": "80Gi"},
                        "partitions": [
                            {
                                "name": "half", "count": 2, "uses": {"memory": "40Gi"},
                                "attributes": {"whole": False},
                            }
                        ],
                    }
                ]
            }
        ],
    },
    DriverForm,
)  # fmt: skip


def publish(plane: BaseControlPlane, *nodes: Obj) -> None:
    """Do what the driver does on an API server without it."""
    for one in device_classes(DRIVER):
        plane.create(one)
    for node in nodes:
        for one in node_slices(DRIVER, node):
            plane.create(one)


def withdraw(plane: BaseControlPlane) -> None:
    """Remove what `publish` created."""
    for kind in ("ResourceSlice", "DeviceClass"):
        plane.delete_all(kind, api_version=API)


def template(name: str, device_class: str = NAME) -> Obj:
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return {
        "apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": {"name": name},
        "spec": spec,
    }  # fmt: skip


def claim(name: str) -> Obj:
    spec = template(name)["spec"]["spec"]
    return {
        "apiVersion": API, "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec,
    }  # fmt: skip


def from_template(name: str) -> Obj:
    return {"name": "gpu", "resourceClaimTemplateName": name}


def shared(name: str) -> Obj:
    return {"name": "gpu", "resourceClaimName": name}


def pod(name: str, *claims: Obj, resource: str = "") -> Obj:
    container: Obj = {"name": "main", "image": "app:1"}
    if claims:
        container["resources"] = {"claims": [{"name": one["name"]} for one in claims]}
    if resource:
        container["resources"] = {"limits": {resource: "1"}}
    spec: Obj = {"containers": [container], "terminationGracePeriodSeconds": 0}
    if claims:
        spec["resourceClaims"] = list(claims)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
