"""A scenario on a snapshot of a cluster: what ran there goes on, and owners create pods again."""

import subprocess
import sys
from pathlib import Path

from mooring.simulator.result import SimulationResult, from_json

NODE = """
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {kubernetes.io/hostname: NAME}}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: shop
  uid: NAME-uid
  labels: {app: web}
  ownerReferences:
    - {apiVersion: apps/v1, kind: ReplicaSet, name: OWNER, uid: OWNER-uid, controller: true}
spec:
  nodeName: a
  containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
status: {phase: Running}
---
"""
REPLICA_SET = """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, namespace: shop, uid: web-uid}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
SCENARIO = """
cluster: {snapshot: cluster.yaml}
until: 5m
events: [{at: 1m, drain: {node: a}}]
"""


def simulated(folder: Path) -> SimulationResult:
    command = [sys.executable, "-m", "mooring.cli", "simulate", "s.yaml", "-o", "json"]
    told = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert told.stderr == b""
    return from_json(told.stdout)


def test_pods_of_a_snapshot_are_drained_and_come_again_if_they_have_an_owner(
    tmp_path: Path,
) -> None:
    parts = [NODE.replace("NAME", "a"), NODE.replace("NAME", "b")]
    parts.append(POD.replace("NAME", "web-1").replace("OWNER", "web"))
    parts.append(POD.replace("NAME", "alone").replace("OWNER", "gone").replace("web", "alone"))
    (tmp_path / "cluster.yaml").write_text("".join(parts) + REPLICA_SET)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    result = simulated(tmp_path)
    assert (result.created, result.evictions, result.running, result.pending) == (3, 2, 1, 0)
    assert [one.node for one in result.pods] == ["a", "a", "b"]
    assert [one.end for one in result.pods] == ["evicted", "evicted", ""]


def test_pods_of_daemon_sets_stay_on_a_drained_node_of_a_snapshot(tmp_path: Path) -> None:
    daemon = POD.replace("ReplicaSet", "DaemonSet").replace("OWNER", "logs").replace("NAME", "logs")
    (tmp_path / "cluster.yaml").write_text(NODE.replace("NAME", "a") + daemon)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    result = simulated(tmp_path)
    assert (result.evictions, result.running) == (0, 1)
