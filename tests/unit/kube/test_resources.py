import asyncio

import pytest

from mooring.kube.client import Client
from mooring.kube.informer import Informer
from mooring.kube.resources import (
    UNFINISHED_PODS,
    api_version,
    collection_path,
    identity,
    object_path,
    reflector_for,
)
from mooring.model.change import Change, Gone, Put
from mooring.model.kinds import BY_NAME, KINDS
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from tests.unit.kube.fake_api import fake_api

PATHS = {
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
    "CSIStorageCapacity": "/apis/storage.k8s.io/v1/csistoragecapacities",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "VolumeAttachment": "/apis/storage.k8s.io/v1/volumeattachments",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceClaim": "/apis/resource.k8s.io/v1/resourceclaims",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/resourceclaimtemplates",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "Service": "/api/v1/services",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "ReplicationController": "/api/v1/replicationcontrollers",
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
    "Pod": "/api/v1/pods",
}


def test_every_kind_has_its_path() -> None:
    assert {kind.name: collection_path(kind) for kind in KINDS} == PATHS


def test_versions_have_their_group() -> None:
    assert api_version(BY_NAME["Pod"]) == "v1"
    assert api_version(BY_NAME["CSINode"]) == "storage.k8s.io/v1"


@pytest.mark.parametrize(
    ("thing", "path"),
    [
        (
            PersistentVolumeClaim.from_dict({"metadata": {"name": "data", "namespace": "shop"}}),
            "/api/v1/namespaces/shop/persistentvolumeclaims/data",
        ),
        (
            PersistentVolumeClaim.from_dict({"metadata": {"name": "data"}}),
            "/api/v1/namespaces/default/persistentvolumeclaims/data",
        ),
        (
            PersistentVolume.from_dict({"metadata": {"name": "pv-1"}}),
            "/api/v1/persistentvolumes/pv-1",
        ),
        (
            VolumeAttachment.from_dict({"metadata": {"name": "a b"}}),
            "/apis/storage.k8s.io/v1/volumeattachments/a%20b",
        ),
    ],
)
def test_an_object_has_its_path(thing: PersistentVolume, path: str) -> None:
    assert object_path(thing) == path


def test_a_collection_of_one_namespace() -> None:
    assert collection_path(BY_NAME["Pod"], "shop") == "/api/v1/namespaces/shop/pods"


def test_an_identity_has_no_holes() -> None:
    assert identity(Node.from_dict({"metadata": {"name": "n"}})) == ("", "n", "", "")


def test_listing_and_watching_a_kind() -> None:
    async def main() -> None:
        seen: list[Change[Pod]] = []
        arrived = asyncio.Event()

        def on_changes(changes: list[Change[Pod]]) -> None:
            seen.extend(changes)
            arrived.set()

        async with fake_api() as api, Client(api.config) as client:
            api.put("a")
            source = reflector_for(
                client, BY_NAME["Pod"], Pod.from_json, field_selector=UNFINISHED_PODS
            )
            informer = Informer(source, on_changes)
            async with asyncio.timeout(300), asyncio.TaskGroup() as group:
                group.create_task(informer.run())
                await informer.wait_synced()
                arrived.clear()
                api.delete("a")
                await arrived.wait()
                informer.stop()
            assert [type(change) for change in seen] == [Put, Gone]
            assert seen[0].object.key == "ns/a"
            assert [request.path for request in api.seen] == ["/api/v1/pods"] * 2
            selectors = {request.query["fieldSelector"] for request in api.seen}
            assert selectors == {"status.phase!=Succeeded,status.phase!=Failed"}

    asyncio.run(main())
