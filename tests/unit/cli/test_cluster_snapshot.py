"""What ``moor cluster --snapshot`` makes of objects that come from elsewhere."""

import os
from pathlib import Path
from typing import Any

import pytest

from mooring.cli.cluster_snapshot import load, read_files
from mooring.embedded.resources import NODES, PODS, PRIORITY_CLASSES, REPLICA_SETS
from mooring.embedded.server import EmbeddedCluster, Options
from mooring.errors import InputError


def embedded() -> EmbeddedCluster:
    return EmbeddedCluster((), Options(kubelet=None, controllers=False))


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", **metadata},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"},
        "status": {"phase": "Running", "podIP": "10.1.2.3"},
    }


def test_objects_stay_as_they_were() -> None:
    cluster = embedded()
    found = load(
        cluster.api,
        [
            pod("p", uid="u-1", resourceVersion="7", creationTimestamp="2024-05-01T10:00:00Z"),
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
        ],
    )
    assert found.problems == []
    assert found.counts == {"Pod": 1, "Node": 1}
    item = cluster.store.get(PODS, "shop", "p")
    assert item is not None
    stored = item.obj
    assert stored["metadata"]["uid"] == "u-1"
    assert stored["metadata"]["creationTimestamp"] == "2024-05-01T10:00:00Z"
    assert stored["metadata"]["resourceVersion"] != "7"
    assert (stored["spec"]["nodeName"], stored["status"]["podIP"]) == ("n", "10.1.2.3")


def test_owners_that_are_not_there_are_forgotten() -> None:
    def owner(kind: str, uid: str) -> dict[str, Any]:
        return {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": uid}

    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "rs", "namespace": "shop", "uid": "rs-1",
            "ownerReferences": [owner("Deployment", "gone")],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }  # fmt: skip
    broken = {**replica_set, "metadata": {"name": "No", "namespace": "shop", "uid": "rs-2"}}
    kept = pod("kept", uid="p-1", ownerReferences=[owner("ReplicaSet", "rs-1")])
    lost = pod("lost", uid="p-2", ownerReferences=[owner("DaemonSet", "gone")])
    left = pod("left", uid="p-3", ownerReferences=[owner("ReplicaSet", "rs-2")])
    cluster = embedded()
    (problem,) = load(cluster.api, [kept, lost, left, replica_set, broken]).problems
    assert problem.startswith("ReplicaSet No: ")
    owners = {
        item.name: item.obj["metadata"].get("ownerReferences")
        for resource in (PODS, REPLICA_SETS)
        for item in cluster.store.all(resource)
    }
    assert owners["rs"] is None
    assert owners["lost"] is None
    assert owners["left"] is None
    assert owners["kept"][0]["uid"] == "rs-1"


def test_what_cannot_be_used_is_named_and_does_no_harm() -> None:
    cluster = embedded()
    found = load(
        cluster.api,
        [
            {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}},
            {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "u"}},
            {"apiVersion": "v1", "kind": "Node", "metadata": {}},
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "m"}, "spec": 7},
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}},
        ],
    )
    assert [problem.partition(":")[0] for problem in found.problems] == [
        "2 of kind Thing of example.com/v1, which the embedded cluster does not have",
        "a Node has no metadata.name",
        "Node n occurs more than once; the first one is used",
        "Node m",
    ]
    assert [item.name for item in cluster.store.all(NODES)] == ["n"]


def test_a_dump_of_nodes_and_pods_alone_will_do() -> None:
    cluster = embedded()
    important = pod("p")
    important["spec"] |= {"priorityClassName": "custom", "priority": 7}
    assert load(cluster.api, [important]).problems == []
    item = cluster.store.get(PRIORITY_CLASSES, "", "custom")
    assert item is not None
    assert item.obj["value"] == 7


def test_files_and_folders(tmp_path: Path) -> None:
    node = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s"}}'
    (tmp_path / "a.json").write_text(node % "a")
    (tmp_path / "b.yaml").write_text(node % "b")
    (tmp_path / ".c.yaml").write_text(node % "c")
    (tmp_path / "d.txt").write_text("nothing")
    assert [one["metadata"]["name"] for one in read_files(str(tmp_path))] == ["a", "b"]
    with pytest.raises(InputError, match="contains no Kubernetes objects"):
        read_files(os.devnull)
