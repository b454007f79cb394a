"""Bindings that wait hold up nobody: 600 claims that nobody provisions, on a real API server."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.process import cpu_ms
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane, wait_for
from tests.e2e.fault_helpers import PATIENCE, many_nodes, many_pods
from tests.e2e.provisioner import SELECTED_NODE

CLAIMS, OTHERS = 600, 100
CLASS: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "nobody"},
    "provisioner": "example.com/nobody",
    "volumeBindingMode": "WaitForFirstConsumer",
}
WINDOW_SECONDS = 5.0


def claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": "nobody",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def claiming_pods() -> list[dict[str, Any]]:
    pods = many_pods((f"waits-{number}" for number in range(CLAIMS)), cpu="10m")
    for number, one in enumerate(pods):
        source = {"persistentVolumeClaim": {"claimName": f"claim-{number}"}}
        one["spec"]["volumes"] = [{"name": "data", **source}]
    return pods


def told_their_node(plane: ControlPlane) -> int:
    claims = plane.list_objects("PersistentVolumeClaim", "default")
    return sum(SELECTED_NODE in one["metadata"].get("annotations", {}) for one in claims)


def bound(plane: ControlPlane) -> set[str]:
    pods = plane.list_objects("Pod", "default")
    return {one["metadata"]["name"] for one in pods if one["spec"].get("nodeName")}


@pytest.mark.kube
def test_six_hundred_claims_that_nobody_provisions_hold_up_no_other_pod(tmp_path: Path) -> None:
    with ControlPlane(tmp_path) as plane, MoorRun(plane) as scheduler:
        plane.create(CLASS)
        plane.create_many(many_nodes((f"n{i}" for i in range(20)), cpu="64", pods="1000"))
        plane.create_many(claim(f"claim-{number}") for number in range(CLAIMS))
        plane.create_many(claiming_pods())
        wait_for(lambda: told_their_node(plane) == CLAIMS, "all claims to have a node", PATIENCE)

        others = many_pods((f"other-{number}" for number in range(OTHERS)), cpu="10m")
        plane.create_many(others)
        names = {one["metadata"]["name"] for one in others}
        wait_for(lambda: bound(plane) == names, "the other pods, and only those", PATIENCE)

        scheduler.send(signal.SIGUSR2)
        found = f"the state matches the cluster: 20 nodes, {CLAIMS + OTHERS} pods, {CLAIMS} of them"
        wait_for(lambda: found in scheduler.log(), "its state to be compared", PATIENCE)

        before, begin = cpu_ms(scheduler.pid), time.monotonic()
        time.sleep(WINDOW_SECONDS)
        idle = (cpu_ms(scheduler.pid) - before) / 1e3 / (time.monotonic() - begin)
        assert idle < 0.2
        assert scheduler.answer("/livez")[0] == scheduler.answer("/readyz")[0] == 200

        # Six hundred bindings wait for ten minutes; nobody waits for them now.
        scheduler.send(signal.SIGTERM)
        assert scheduler.wait_ended(PATIENCE) == 0
        assert bound(plane) == names
        # kube-apiserver has events of its own about its Service.
        events = plane.list_objects("Event", "default")
        of_pods = [one for one in events if one["involvedObject"]["kind"] == "Pod"]
        assert {one["reason"] for one in of_pods} == {"Scheduled"}
        assert "Traceback" not in scheduler.log()
