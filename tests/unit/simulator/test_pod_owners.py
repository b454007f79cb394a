"""Whose pods are whose."""

from typing import Any

import pytest

from mooring.errors import InputError
from mooring.model.pod import Pod
from mooring.simulator.pod_owners import (
    PodOwner,
    comes_back,
    read_workload,
    stays_with_node,
    workload_of,
)
from mooring.state.cluster import Cluster


def pod(kind: str = "", name: str = "", **metadata: Any) -> Pod:
    owner = {"kind": kind, "name": name, "uid": "u", "controller": True}
    owners = {"ownerReferences": [owner]} if kind else {}
    return Pod.from_dict({"metadata": {"name": "p", **owners, **metadata}})


@pytest.mark.parametrize(
    ("one", "workload", "stays", "back"),
    [
        (pod(), PodOwner("Pod", "default", "p"), False, False),
        (pod("Job", "j"), PodOwner("Job", "default", "j"), False, True),
        (pod("DaemonSet", "d"), PodOwner("DaemonSet", "default", "d"), True, True),
        (pod("Node", "n"), PodOwner("Node", "default", "n"), True, False),
        (pod("ReplicaSet", "web-1"), PodOwner("ReplicaSet", "default", "web-1"), False, True),
        (
            pod("ReplicaSet", "web-ab", labels={"pod-template-hash": "ab"}),
            PodOwner("Deployment", "default", "web"),
            False,
            True,
        ),
        (
            pod(annotations={"kubernetes.io/config.mirror": "x"}),
            PodOwner("Pod", "default", "p"),
            True,
            False,
        ),
    ],
)
def test_what_a_pod_belongs_to(one: Pod, workload: PodOwner, stays: bool, back: bool) -> None:
    assert workload_of(Cluster(), one) == workload
    assert stays_with_node(one) == stays
    assert comes_back(one) == back


def test_workloads_as_they_are_typed() -> None:
    assert read_workload("deploy/web", "shop") == PodOwner("Deployment", "shop", "web")
    assert read_workload("shop/sts/db", "other") == PodOwner("StatefulSet", "shop", "db")


@pytest.mark.parametrize("text", ["web", "thing/web", "/web", "deployment/", "a/b/c/d"])
def test_other_forms_are_wrong(text: str) -> None:
    with pytest.raises(InputError, match="is not a workload"):
        read_workload(text, "default")
