from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.pods import bind
from mooring.embedded.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS, Obj
from tests.unit.embedded.controllers.world import World, template


@pytest.fixture
def world() -> World:
    world = World(kubelet=KubeletSettings())
    for name in ("n1", "n2", "n3"):
        world.node(name)
    return world


def daemon_set(world: World, **spec: Any) -> Obj:
    inner = {
        "selector": {"matchLabels": {"app": "log"}},
        "template": template(app="log"),
        **spec,
    }
    return world.create(DAEMON_SETS, {"metadata": {"name": "log"}, "spec": inner})


def target(pod: Obj) -> str:
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (field,) = term["matchFields"]
    assert (field["key"], field["operator"]) == ("metadata.name", "In")
    return str(field["values"][0])


def schedule(world: World) -> None:
    """Bind every daemon pod to the node it asks for."""
    for _ in range(50):
        world.settle()
        waiting = [one for one in world.all(PODS) if not one["spec"].get("nodeName")]
        if not waiting:
            return
        for one in waiting:
            name = one["metadata"]["name"]
            node = {"kind": "Node", "name": target(one)}
            binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": name}}
            bind(world.api, "default", name, {**binding, "target": node})
    raise AssertionError("there are always new pods")


def test_one_pod_for_every_node(world: World) -> None:
    daemon_set(world)
    world.settle()
    assert sorted(map(target, world.all(PODS))) == ["n1", "n2", "n3"]
    keys = {one["key"] for one in world.all(PODS)[0]["spec"]["tolerations"]}
    assert "node.kubernetes.io/unschedulable" in keys
    schedule(world)
    assert world.get(DAEMON_SETS, "log")["status"] == {
        "currentNumberScheduled": 3, "numberMisscheduled": 0, "desiredNumberScheduled": 3,
        "numberReady": 3, "observedGeneration": 1, "updatedNumberScheduled": 3,
        "numberAvailable": 3,
    }  # fmt: skip


def test_it_follows_the_nodes(world: World) -> None:
    daemon_set(world)
    schedule(world)
    world.node("n4")
    world.settle()
    assert len(world.names(PODS)) == 4
    schedule(world)
    taint = {"key": "gone", "effect": "NoExecute"}
    world.change(NODES, "n2", lambda node: node["spec"].update(taints=[taint]))
    world.settle()
    assert sorted(map(target, world.all(PODS))) == ["n1", "n3", "n4"]
    world.delete(NODES, "n3")
    world.wait(45)
    assert sorted(map(target, world.all(PODS))) == ["n1", "n4"]


def test_a_cordoned_node_keeps_its_pod(world: World) -> None:
    world.change(NODES, "n1", lambda node: node["spec"].update(unschedulable=True))
    daemon_set(world)
    world.settle()
    assert len(world.names(PODS)) == 3


def test_a_selector_and_taints_choose_nodes(world: World) -> None:
    world.change(NODES, "n1", lambda node: node["metadata"]["labels"].update(disk="ssd"))
    world.change(NODES, "n2", lambda node: node["metadata"]["labels"].update(disk="ssd"))
    taint = {"key": "own", "effect": "NoSchedule"}
    world.change(NODES, "n2", lambda node: node["spec"].update(taints=[taint]))
    inner = template(app="log")
    inner["spec"]["nodeSelector"] = {"disk": "ssd"}
    daemon_set(world, template=inner)
    world.settle()
    assert list(map(target, world.all(PODS))) == ["n1"]


def test_an_update_replaces_one_after_the_other(world: World) -> None:
    daemon_set(world)
    schedule(world)

    def set_image(obj: Obj) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"

    world.change(DAEMON_SETS, "log", set_image)
    world.settle()
    images = [pod["spec"]["containers"][0]["image"] for pod in world.all(PODS)]
    assert sorted(images) == ["nginx", "nginx", "nginx:2"]
    schedule(world)
    images = [pod["spec"]["containers"][0]["image"] for pod in world.all(PODS)]
    assert images == ["nginx:2"] * 3
    assert len(world.names(CONTROLLER_REVISIONS)) == 2
    assert world.get(DAEMON_SETS, "log")["status"]["updatedNumberScheduled"] == 3


def test_a_failed_pod_is_replaced_ever_more_slowly(world: World) -> None:
    daemon_set(world)
    schedule(world)
    failed = world.names(PODS)[0]
    world.change(PODS, failed, lambda pod: pod["status"].update(phase="Failed"), "status")
    world.settle()
    assert failed not in world.names(PODS)
    assert len(world.names(PODS)) == 3
    assert any(reason == "FailedDaemonPod" for reason, _ in world.events("log"))
