"""What README shows of a policy behind the real kube-scheduler is what its users see."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.testing.moor_serve import MoorServe
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler
from tests.e2e.pod_helpers import event_of, node_of, nodes, pod

pytestmark = pytest.mark.kube

README = (Path(__file__).parents[2] / "README.md").read_text()
GPU = "nvidia.com/gpu"


def shown(pattern: str) -> str:
    """The first part of README that matches."""
    found = re.search(pattern, README, re.MULTILINE | re.DOTALL)
    assert found is not None, pattern
    return found[1]


def with_gpus(manifest: dict[str, Any], count: str) -> dict[str, Any]:
    """The pod with GPUs, whose limits and requests are the same."""
    manifest["spec"]["containers"][0]["resources"] = {"limits": {GPU: count}}
    return manifest


def test_the_policy_the_configuration_and_the_event(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.py"
    policy.write_text(shown(r"^```python\n(.*?)^```$"))
    config = yaml.safe_load(shown(r"^```yaml\n(.*?)^```$"))
    scheduler = config["profiles"][0]["schedulerName"]
    event = " ".join(shown(r"^    (0/3 nodes are available: .*?)\n\n").split())
    too_many = shown(r"more GPUs than are free are still\n`(.*?)`")
    gpus = {"extended": {GPU: "4"}}
    with (
        nodes(control_plane, a=gpus, b=gpus, c=gpus),
        MoorServe(policy, ["--kubeconfig", control_plane.kubeconfig]) as server,
    ):
        config["extenders"][0]["urlPrefix"] = server.url
        with KubeScheduler(control_plane, config):
            control_plane.create(pod("web", namespace, scheduler))
            assert event_of(control_plane, "web", namespace, "FailedScheduling")["message"] == event

            control_plane.create(with_gpus(pod("huge", namespace, scheduler), "9"))
            rejected = event_of(control_plane, "huge", namespace, "FailedScheduling")
            assert f"0/3 nodes are available: 3 {too_many}." in rejected["message"]

            control_plane.create(with_gpus(pod("train", namespace, scheduler), "1"))
            assert node_of(control_plane, "train", namespace) in ("a", "b", "c")
