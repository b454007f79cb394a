"""What we write to the real API server: events, statuses, deletions, volumes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from mooring.errors import ApiError
from mooring.kube.client import Client
from mooring.kube.config import load_kubeconfig
from mooring.kube.event_body import reference, reporter_here
from mooring.kube.events import EventRecorder
from mooring.kube.pod_status import PodCondition, pod_condition
from mooring.kube.resources import collection_path, object_path
from mooring.model.kinds import KINDS
from mooring.model.pod import Pod
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim
from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.pod_helpers import pod

pytestmark = pytest.mark.kube

NOW = 1_700_000_000_123_456_789


def run(plane: ControlPlane, story: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Client(load_kubeconfig(plane.kubeconfig)) as client:
            await story(client)

    asyncio.run(main())


def make_pod(plane: ControlPlane, namespace: str, name: str = "web") -> Pod:
    return Pod.from_dict(plane.create(pod(name, namespace, "nobody")))


def test_every_kind_that_scheduling_reads_can_be_listed(control_plane: ControlPlane) -> None:
    async def story(client: Client) -> None:
        for kind in KINDS:
            listed = await client.get(collection_path(kind), dict[str, Any], {"limit": 1})
            assert listed["kind"] == f"{kind.name}List"

    run(control_plane, story)


def test_events_look_as_kube_schedulers(control_plane: ControlPlane, namespace: str) -> None:
    web, other = make_pod(control_plane, namespace), make_pod(control_plane, namespace, "other")

    async def story(client: Client) -> None:
        async with EventRecorder(client, *reporter_here("my-scheduler")) as recorder:
            for _ in range(5):
                recorder.record(
                    reference(web), None, "Warning", "FailedScheduling", "Scheduling", "0/3 nodes."
                )
                assert await recorder.flush(20)
            recorder.record(
                reference(web), reference(other), "Normal", "Preempted", "Preempting", "é" * 2000
            )
            assert await recorder.flush(20)
            counters = recorder.counters
            assert (counters.created, counters.failed, counters.dropped) == (2, 0, 0)

    run(control_plane, story)
    events = control_plane.list_objects("Event", namespace, api_version="events.k8s.io/v1")
    failed, preempted = sorted(events, key=lambda event: str(event["reason"]))
    assert failed["series"]["count"] == 5
    assert failed["series"]["lastObservedTime"] > failed["eventTime"]
    assert failed["note"] == "0/3 nodes."
    assert failed["type"] == "Warning"
    assert failed["metadata"]["name"].startswith("web.")
    assert failed["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "web",
        "namespace": namespace,
        "resourceVersion": web.resource_version,
        "uid": web.uid,
    }
    assert preempted["related"]["name"] == "other"
    assert preempted["note"].endswith("é ...")
    assert len(preempted["note"].encode()) == 1024
    described = control_plane.kubectl("describe", "pod", "web", f"--namespace={namespace}")
    line = next(line for line in described.splitlines() if "FailedScheduling" in line)
    assert line.split()[:2] == ["Warning", "FailedScheduling"]
    assert "(x5 over" in line
    assert line.endswith("my-scheduler  0/3 nodes.")


def test_events_of_a_namespace_that_is_not_there_are_given_up(
    control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    gone = Pod.from_dict({"metadata": {"name": "a", "namespace": "gone", "uid": "u"}})

    async def story(client: Client) -> None:
        async with EventRecorder(client, *reporter_here("my-scheduler")) as recorder:
            recorder.record(reference(gone), None, "Normal", "R", "A", "n")
            assert await recorder.flush(20)
            assert recorder.counters.failed == 1
            assert recorder.counters.retried == 0

    run(control_plane, story)
    assert 'namespaces "gone" not found' in caplog.text


def test_conditions_are_merged_by_type_and_the_nomination_comes_and_goes(
    control_plane: ControlPlane, namespace: str
) -> None:
    web = make_pod(control_plane, namespace)

    def status() -> dict[str, Any]:
        found: dict[str, Any] = control_plane.get("Pod", "web", namespace)["status"]
        return found

    def rejected(message: str, seen: Pod, now_ns: int) -> PodCondition:
        return pod_condition(
            seen, "PodScheduled", "False", reason="Unschedulable", message=message, now_ns=now_ns
        )

    async def story(client: Client) -> None:
        target = PodCondition(
            type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message="m"
        )
        await client.patch_pod_status(
            namespace,
            "web",
            web.uid,
            conditions=[rejected("one", web, NOW), target],
            nominated_node="n-1",
        )
        first = status()
        assert first["nominatedNodeName"] == "n-1"
        scheduled, disrupted = first["conditions"]
        assert (scheduled["message"], scheduled["reason"]) == ("one", "Unschedulable")
        assert scheduled["lastTransitionTime"] == "2023-11-14T22:13:20Z"
        assert disrupted["type"] == "DisruptionTarget"

        seen = Pod.from_dict(control_plane.get("Pod", "web", namespace))
        later = NOW + 60 * 10**9
        await client.patch_pod_status(
            namespace, "web", web.uid, conditions=[rejected("two", seen, later)]
        )
        scheduled, disrupted = status()["conditions"]
        assert scheduled["message"] == "two"
        assert scheduled["lastTransitionTime"] == "2023-11-14T22:13:20Z"
        assert disrupted["reason"] == "PreemptionByScheduler"
        assert status()["nominatedNodeName"] == "n-1"

        await client.patch_pod_status(namespace, "web", web.uid, nominated_node="")
        assert "nominatedNodeName" not in status()

        with pytest.raises(ApiError) as caught:
            await client.patch_pod_status(namespace, "web", "another", nominated_node="n-2")
        assert caught.value.status == 422
        assert "nominatedNodeName" not in status()
        with pytest.raises(ApiError) as caught:
            await client.patch_pod_status(namespace, "nobody", nominated_node="n-2")
        assert caught.value.status == 404

    run(control_plane, story)


def test_only_the_pod_that_is_meant_is_deleted(control_plane: ControlPlane, namespace: str) -> None:
    web = make_pod(control_plane, namespace)

    async def story(client: Client) -> None:
        with pytest.raises(ApiError) as caught:
            await client.delete_pod(namespace, "web", "another")
        assert (caught.value.status, caught.value.reason) == (409, "Conflict")
        await client.delete_pod(namespace, "web", web.uid, grace_seconds=0)
        with pytest.raises(ApiError) as caught:
            await client.delete_pod(namespace, "web", web.uid)
        assert caught.value.status == 404

    run(control_plane, story)


def test_volumes_are_replaced_and_patched(control_plane: ControlPlane, namespace: str) -> None:
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{namespace}"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp/x"},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
        },
    }

    async def story(client: Client) -> None:
        stored = PersistentVolume.from_json(
            msgspec.json.encode(await client.create("/api/v1/persistentvolumes", volume, dict))
        )
        whole = stored.raw
        whole["spec"]["claimRef"] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": namespace,
            "name": "data",
        }
        path = object_path(stored)
        changed = await client.replace(path, whole, PersistentVolume)
        assert changed.metadata.resource_version != stored.resource_version
        with pytest.raises(ApiError) as caught:  # the version is an old one now
            await client.replace(path, whole, PersistentVolume)
        assert (caught.value.status, caught.value.reason) == (409, "Conflict")
        assert control_plane.get("PersistentVolume", stored.name)["spec"]["claimRef"]

        wanted = PersistentVolumeClaim.from_dict(control_plane.create(claim))
        annotations = {"volume.kubernetes.io/selected-node": "n-1"}
        answer = await client.patch(object_path(wanted), {"metadata": {"annotations": annotations}})
        assert PersistentVolumeClaim.from_json(answer).annotations == annotations

    try:
        run(control_plane, story)
    finally:
        control_plane.delete("PersistentVolume", f"pv-{namespace}")
