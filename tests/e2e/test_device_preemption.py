"""Preemption of pods for their devices, with `moor run` on a cluster with a fake driver.

The embedded cluster's controllers release and deallocate the claims of pods that are gone.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane, node
from tests.e2e.device_objects import API, DRIVER, Obj, from_template, pod, template
from tests.e2e.full_embedded_control_plane import FullEmbeddedControlPlane

PRIORITY = {
    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
    "value": 1000,
}  # fmt: skip


def config(**args: bool) -> dict[str, Any]:
    """A configuration that retries soon, with arguments for DynamicResources."""
    return {
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
        "profiles": [{"pluginConfig": [{"name": "DynamicResources", "args": args}]}],
    }


@pytest.fixture
def plane() -> Iterator[BaseControlPlane]:
    """A node with two devices."""
    with FullEmbeddedControlPlane([node("a")], drivers=[DRIVER]) as running:
        running.create(template("one"))
        running.create(PRIORITY)
        yield running


def pods(plane: BaseControlPlane) -> dict[str, str]:
    """The node of each pod."""
    return {
        one["metadata"]["name"]: one["spec"].get("nodeName", "")
        for one in plane.list_objects("Pod", "default")
    }


def device_of(plane: BaseControlPlane, name: str) -> str:
    """The device that the claim of a pod has."""
    (status,) = plane.get("Pod", name)["status"]["resourceClaimStatuses"]
    found = plane.get("ResourceClaim", status["resourceClaimName"], api_version=API)
    (result,) = found["status"]["allocation"]["devices"]["results"]
    device: str = result["device"]
    return device


def important() -> Obj:
    made = pod("important", from_template("one"))
    made["spec"]["priorityClassName"] = "high"
    return made


def explained(plane: BaseControlPlane, folder: Path, settings: dict[str, Any]) -> str:
    """What `moor explain` says of the important pod."""
    file = folder / "config.yaml"
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    file.write_text(yaml.safe_dump({**kind, **settings}))
    done = subprocess.run(
        [sys.executable, "-m", "mooring.cli", "explain", "important", "--config", str(file)],
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig), "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_a_less_important_pod_makes_room(plane: BaseControlPlane, tmp_path: Path) -> None:
    plane.create(pod("low-0", from_template("one")))
    plane.create(pod("low-1", from_template("one")))
    with MoorRun(plane, config()):
        plane.wait_for(lambda: all(pods(plane).values()), "both pods to be bound")
        plane.create(important())

        def rejected() -> bool:
            conditions = plane.get("Pod", "important")["status"].get("conditions", ())
            return any("cannot allocate all claims" in one["message"] for one in conditions)

        plane.wait_for(rejected, "the pod to be rejected")
    devices = {name: device_of(plane, name) for name in ("low-0", "low-1")}
    assert "would preempt" not in explained(plane, tmp_path, config())
    told = explained(plane, tmp_path, config(preemption=True))
    assert "The scheduler would preempt 1 pod of lower priority on a: default/low-" in told
    with MoorRun(plane, config(preemption=True)):
        plane.wait_for(lambda: pods(plane)["important"] == "a", "the pod to be bound")
    left = pods(plane)
    (victim,) = devices.keys() - left.keys()
    assert left == {"important": "a", **{name: "a" for name in devices if name != victim}}
    assert device_of(plane, "important") == devices[victim]
