"""``moor whatif``, ``capacity`` and ``rebalance`` on a live cluster, which they do not touch."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mooring.testing
from mooring.testing.embedded_cluster import TestCluster
from tests.unit.cli.command_line import Run

KINDS = {"Node": "v1", "Pod": "v1", "Deployment": "apps/v1", "ReplicaSet": "apps/v1"}
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, image: "web:1", resources: {requests: {cpu: "1"}}}]
"""


@pytest.fixture
def cluster() -> Iterator[TestCluster]:
    with mooring.testing.cluster(nodes=3) as made:
        made.apply(DEPLOYMENT)
        made.wait_for(lambda: len(running(made)) == 6, "six pods to run")
        yield made


def running(cluster: TestCluster) -> list[dict[str, Any]]:
    pods = cluster.list_objects("Pod")
    return [one for one in pods if one["status"].get("phase") == "Running"]


def everything(cluster: TestCluster) -> list[tuple[str, str, str]]:
    """What would be another after any change but heartbeats and reports of controllers."""
    return [
        (kind, one["metadata"]["name"], json.dumps(one["spec"], sort_keys=True))
        for kind, version in KINDS.items()
        for one in cluster.list_objects(kind, api_version=version)
    ]


def test_the_live_cluster_is_asked_and_stays_as_it_is(
    cluster: TestCluster, command_line: Run, tmp_path: Path
) -> None:
    before = everything(cluster)
    place = ("--kubeconfig", str(cluster.kubeconfig), "-o", "json")
    on_node = [one for one in running(cluster) if one["spec"]["nodeName"] == "node-1"]

    code, out, err = command_line("whatif", "drain", "node-1", *place)
    assert (code, err) == (0, "")
    moved = json.loads(out)["moved"]
    assert {one["pod"] for one in moved} == {
        f"default/{one['metadata']['name']}" for one in on_node
    }
    assert {one["target"] for one in moved} <= {"node-2", "node-3"}

    code, out, _ = command_line("whatif", "scale", "deployment/web", "30", *place)
    assert code == 1
    assert len(json.loads(out)["newlyPending"]) == 30 - 3 * 8

    code, out, _ = command_line("capacity", on_node[0]["metadata"]["name"], *place)
    assert (code, json.loads(out)["pods"]) == (0, [3 * 8 - 6])

    code, out, _ = command_line("rebalance", "--dry-run", *place)
    assert (code, json.loads(out)["lookedAt"]) == (0, 6)
    assert everything(cluster) == before
