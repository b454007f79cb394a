from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.pod_subresources import bind
from mooring.embedded.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS, Obj
from tests.unit.embedded.fake_cluster import FakeCluster, template


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings())
    for name in ("n1", "n2", "n3"):
        cluster.node(name)
    return cluster


def daemon_set(cluster: FakeCluster, **spec: Any) -> Obj:
    inner = {
        "selector": {"matchLabels": {"app": "log"}},
        "template": template(app="log"),
        **spec,
    }
    return cluster.create(DAEMON_SETS, {"metadata": {"name": "log"}, "spec": inner})


def target(pod: Obj) -> str:
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (field,) = term["matchFields"]
    assert (field["key"], field["operator"]) == ("metadata.name", "In")
    return str(field["values"][0])


def schedule(cluster: FakeCluster) -> None:
    """Bind every daemon pod to the node it asks for."""
    for _ in range(50):
        cluster.settle()
        waiting = [one for one in cluster.all(PODS) if not one["spec"].get("nodeName")]
        if not waiting:
            return
        for one in waiting:
            name = one["metadata"]["name"]
            node = {"kind": "Node", "name": target(one)}
            binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": name}}
            bind(cluster.api, "default", name, {**binding, "target": node})
    raise AssertionError("there are always new pods")


def test_one_pod_for_every_node(cluster: FakeCluster) -> None:
    daemon_set(cluster)
    cluster.settle()
    assert sorted(map(target, cluster.all(PODS))) == ["n1", "n2", "n3"]
    keys = {one["key"] for one in cluster.all(PODS)[0]["spec"]["tolerations"]}
    assert "node.kubernetes.io/unschedulable" in keys
    schedule(cluster)
    assert cluster.get(DAEMON_SETS, "log")["status"] == {
        "currentNumberScheduled": 3, "numberMisscheduled": 0, "desiredNumberScheduled": 3,
        "numberReady": 3, "observedGeneration": 1, "updatedNumberScheduled": 3,
        "numberAvailable": 3,
    }  # fmt: skip


def test_it_follows_the_nodes(cluster: FakeCluster) -> None:
    daemon_set(cluster)
    schedule(cluster)
    cluster.node("n4")
    cluster.settle()
    assert len(cluster.names(PODS)) == 4
    schedule(cluster)
    taint = {"key": "gone", "effect": "NoExecute"}
    cluster.change(NODES, "n2", lambda node: node["spec"].update(taints=[taint]))
    cluster.settle()
    assert sorted(map(target, cluster.all(PODS))) == ["n1", "n3", "n4"]
    cluster.delete(NODES, "n3")
    cluster.wait(45)
    assert sorted(map(target, cluster.all(PODS))) == ["n1", "n4"]


def test_a_cordoned_node_keeps_its_pod(cluster: FakeCluster) -> None:
    cluster.change(NODES, "n1", lambda node: node["spec"].update(unschedulable=True))
    daemon_set(cluster)
    cluster.settle()
    assert len(cluster.names(PODS)) == 3


def test_a_selector_and_taints_choose_nodes(cluster: FakeCluster) -> None:
    cluster.change(NODES, "n1", lambda node: node["metadata"]["labels"].update(disk="ssd"))
    cluster.change(NODES, "n2", lambda node: node["metadata"]["labels"].update(disk="ssd"))
    taint = {"key": "own", "effect": "NoSchedule"}
    cluster.change(NODES, "n2", lambda node: node["spec"].update(taints=[taint]))
    inner = template(app="log")
    inner["spec"]["nodeSelector"] = {"disk": "ssd"}
    daemon_set(cluster, template=inner)
    cluster.settle()
    assert list(map(target, cluster.all(PODS))) == ["n1"]


def test_an_update_replaces_one_after_the_other(cluster: FakeCluster) -> None:
    daemon_set(cluster)
    schedule(cluster)

    def set_image(obj: Obj) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"

    cluster.change(DAEMON_SETS, "log", set_image)
    cluster.settle()
    images = [pod["spec"]["containers"][0]["image"] for pod in cluster.all(PODS)]
    assert sorted(images) == ["nginx", "nginx", "nginx:2"]
    schedule(cluster)
    images = [pod["spec"]["containers"][0]["image"] for pod in cluster.all(PODS)]
    assert images == ["nginx:2"] * 3
    assert len(cluster.names(CONTROLLER_REVISIONS)) == 2
    assert cluster.get(DAEMON_SETS, "log")["status"]["updatedNumberScheduled"] == 3


def test_a_failed_pod_is_replaced_ever_more_slowly(cluster: FakeCluster) -> None:
    daemon_set(cluster)
    schedule(cluster)
    failed = cluster.names(PODS)[0]
    cluster.change(PODS, failed, lambda pod: pod["status"].update(phase="Failed"), "status")
    cluster.settle()
    assert failed not in cluster.names(PODS)
    assert len(cluster.names(PODS)) == 3
    assert any(reason == "FailedDaemonPod" for reason, _ in cluster.events("log"))
