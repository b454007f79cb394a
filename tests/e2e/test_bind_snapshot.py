"""``moor bind``, ``moor snapshot`` and ``moor explain`` against a real kube-apiserver."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler
from tests.e2e.pod_helpers import event_of, nodes, pod

pytestmark = pytest.mark.kube

SCHEDULER = "do-it-manually"


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


def moor(folder: Path, kubeconfig: Path | None, *arguments: str) -> Done:
    """Run a command as a user would."""
    kept = {key: text for key, text in os.environ.items() if not key.startswith("KUBE")}
    env = {**kept, "HOME": str(folder)}
    if kubeconfig is not None:
        env["KUBECONFIG"] = str(kubeconfig)
    done = subprocess.run(
        [sys.executable, "-m", "mooring.cli", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def cluster(control_plane: ControlPlane, namespace: str) -> Iterator[ControlPlane]:
    """Two nodes, a claim, a pending pod that fits on one of them, and one that fits nowhere."""
    plane = control_plane
    with nodes(plane, big={"cpu": "8"}, small={"cpu": "1"}):
        plane.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": f"late-{namespace}"},
                "provisioner": "example.com/disk",
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        )
        plane.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data", "namespace": namespace},
                "spec": {
                    "storageClassName": f"late-{namespace}",
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        )
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        plane.create(pod("web", namespace, SCHEDULER, requests={"cpu": "2"}))
        plane.create(pod("keeper", namespace, "default-scheduler", volumes=[volume]))
        huge = pod("huge", namespace, "default-scheduler", requests={"cpu": "64"})
        huge["metadata"]["labels"] = {"app": "huge", "acme.com/team": "blue"}
        plane.create(huge)
        try:
            yield plane
        finally:
            plane.delete("StorageClass", f"late-{namespace}", api_version="storage.k8s.io/v1")


def test_a_pod_is_bound_by_hand(cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    config = cluster.kubeconfig
    web = f"{namespace}/web"
    rejected = moor(tmp_path, config, "bind", web, "small")
    assert rejected.code == 1
    assert "does not fit on small: it needs 2 cpu, and the whole node has 1." in rejected.out
    assert rejected.err == f"moor: pod {web} does not fit on small; use --force to bind it anyway\n"
    assert "nodeName" not in cluster.get("Pod", "web", namespace)["spec"]

    assert moor(tmp_path, config, "bind", web, "nowhere", "--force") == (
        2, "", "moor: there is no node nowhere in the cluster\n",
    )  # fmt: skip
    assert moor(tmp_path, config, "bind", web, "big") == (0, f"{web} is bound to big\n", "")
    assert cluster.get("Pod", "web", namespace)["spec"]["nodeName"] == "big"
    again = moor(tmp_path, config, "bind", web, "small", "--force")
    assert again.code == 1
    assert again.err == (
        f"moor: pod {web} is already bound to node big; a pod can be bound only once\n"
    )

    huge = f"{namespace}/huge"
    assert moor(tmp_path, config, "bind", huge, "small", "--force").code == 0
    assert cluster.get("Pod", "huge", namespace)["spec"]["nodeName"] == "small"


def test_a_pod_with_gates_is_not_bound(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    gates = [{"name": "example.com/wait"}]
    cluster.create(pod("gated", namespace, SCHEDULER, schedulingGates=gates))
    done = moor(tmp_path, cluster.kubeconfig, "bind", f"{namespace}/gated", "big")
    assert done.code == 1
    assert f"moor: pod {namespace}/gated is not ready for scheduling: " in done.err
    done = moor(tmp_path, cluster.kubeconfig, "bind", f"{namespace}/gated", "big", "--force")
    assert done.code == 1
    assert "schedulingGates" in done.err
    assert done.err.count("\n") == 1


def explained(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_live_and_snapshot_say_the_same(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    config = cluster.kubeconfig
    done = moor(tmp_path, config, "snapshot", "-o", "whole.json")
    assert done.code == 0
    assert "moor: wrote 2 nodes, " in done.err
    done = moor(
        tmp_path, config, "snapshot", "--redact", "-o", "redacted.json", "--names", "names.tsv"
    )
    assert done.code == 0
    rows = [line.split("\t") for line in (tmp_path / "names.tsv").read_text().splitlines()]
    new = {(kind, old): alias for kind, old, alias in rows}
    redacted = (tmp_path / "redacted.json").read_text()
    for word in ("acme", "huge", "keeper", "pause", '"data"', namespace):
        assert word not in redacted

    for name, code in (("huge", 1), ("keeper", 0)):
        key = f"{namespace}/{name}"
        live = moor(tmp_path, config, "explain", key, "-o", "json")
        assert (live.code, live.err) == (code, "")
        whole = moor(tmp_path, None, "explain", key, "-s", "whole.json", "-o", "json")
        expected = explained(live)
        assert expected.pop("history")["age"]
        assert explained(whole) == expected
        other = explained(
            moor(tmp_path, None, "explain", new["Pod", key], "-s", "redacted.json", "-o", "json")
        )
        assert other["feasible"] == sorted(new["Node", one] for one in expected["feasible"])
        message = other["message"]
        for (_, old), alias in new.items():
            message = message.replace(alias, old)
        assert message == expected["message"]
        assert other.get("total") == (
            {new["Node", one]: points for one, points in expected["total"].items()}
            if "total" in expected
            else None
        )


def test_kube_scheduler_says_the_same(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    live = explained(
        moor(tmp_path, cluster.kubeconfig, "explain", f"{namespace}/huge", "-o", "json")
    )
    with KubeScheduler(cluster):
        event = event_of(cluster, "huge", namespace, "FailedScheduling")
    done = moor(tmp_path, cluster.kubeconfig, "explain", "pod/huge", "-n", namespace)
    assert done.code == 1
    assert "failed attempt" in done.out
    assert "FailedScheduling: 0/2 nodes are available: " in done.out
    said = event.get("message") or event["note"]
    assert live["message"] in said or said in live["message"]


def allow(plane: ControlPlane, user: str, *rules: dict[str, Any]) -> None:
    metadata = {"name": user}
    api = "rbac.authorization.k8s.io"
    plane.create(
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    )
    plane.create(
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": user},
            "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
        }
    )


def test_rights_that_are_missing(cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    nobody = cluster.kubeconfig_for(f"nobody-{namespace}")
    done = moor(tmp_path, nobody, "snapshot", "-o", "x.json")
    assert done.code == 1
    assert 'cannot list resource "nodes" in API group ""' in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "x.json").exists()
    done = moor(tmp_path, nobody, "bind", f"{namespace}/web", "big")
    assert done.code == 2
    assert 'cannot get resource "pods" in API group ""' in done.err
    assert done.err.count("\n") == 1
    done = moor(tmp_path, nobody, "bind", f"{namespace}/web", "big", "--force")
    assert done.code == 1
    assert 'cannot create resource "pods/binding" in API group ""' in done.err
    assert done.err.count("\n") == 1

    reader = f"reader-{namespace}"
    allow(cluster, reader, {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]})
    config = cluster.kubeconfig_for(reader)
    done = cluster.wait_for(
        lambda: d if (d := moor(tmp_path, config, "snapshot", "-o", "x.json")).code == 0 else None,
        "the role to take effect",
    )
    lines = done.err.splitlines()
    assert "moor: storageclasses.storage.k8s.io are left out: listing is forbidden" in lines
    assert "moor: services are left out: listing is forbidden" in lines
    assert lines[-1].startswith("moor: wrote 2 nodes, ")
    done = moor(tmp_path, None, "explain", f"{namespace}/huge", "-s", "x.json")
    assert done.code == 1


def test_no_cluster_and_wrong_credentials(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    for command in (["snapshot"], ["explain", "web"], ["bind", "web", "big"]):
        done = moor(tmp_path, None, *command)
        assert done.code == 2
        assert done.err.startswith("moor: no cluster is configured: use --kubeconfig FILE")
        assert done.err.count("\n") == 1
    text = yaml.safe_load(cluster.kubeconfig.read_text())
    text["users"][0]["user"] = {"token": "hunter2"}
    stranger = tmp_path / "stranger"
    stranger.write_text(yaml.safe_dump(text))
    done = moor(tmp_path, stranger, "snapshot")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert "rejected the credentials (401)" in done.err
    assert "hunter2" not in done.err
