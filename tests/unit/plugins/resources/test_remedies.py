"""What would help a pod for which a node has too little left."""

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod
from tests.unit.explaining.suggested import suggest, texts


def test_the_exact_amount_on_the_node_that_lacks_least() -> None:
    objects = [
        make_node("a", cpu="4"), make_node("b", cpu="4"),
        make_pod("x", requests={"cpu": "3"}, node="a"),
        make_pod("y", requests={"cpu": "2500m"}, node="b"),
    ]  # fmt: skip
    found = suggest(objects, make_pod(requests={"cpu": "2"}))
    assert texts(found) == [
        "request 500m less cpu (1500m instead of 2000m)",
        "remove default/y from b",
        "add one more node like a (4 cpu and 32Gi memory)",
    ]
    assert found[0].nodes == ("b",)
    assert [one.combination.cost for one in found] == [2.0, 4.0, 6.0]


def test_memory_is_rounded_to_mebibytes() -> None:
    [found, *_] = suggest([make_node("a", memory="1000M")], make_pod(requests={"memory": "1Gi"}))
    assert found.combination.text == "request 71Mi less memory (953Mi instead of 1024Mi)"


def test_several_resources_are_one_change() -> None:
    pod = make_pod(requests={"cpu": "4", "memory": "4Gi"})
    [found, *_] = suggest([make_node("a", cpu="2", memory="3Gi")], pod)
    assert found.combination.text == (
        "request 2 less cpu (2 instead of 4) and 1Gi less memory (3Gi instead of 4Gi)"
    )


def test_a_device_no_node_has_is_not_given_up() -> None:
    pod = make_pod(requests={"x.io/gpu": "2"})
    assert suggest([make_node("a")], pod) == []


def test_too_many_pods() -> None:
    node = Node.from_dict(
        {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "pods": "1"}}}
    )
    found = suggest([node, make_pod("x", node="a")], make_pod())
    assert texts(found) == [
        "remove default/x from a",
        "add one more node like a (4 cpu and 0 memory)",
    ]


def test_pods_nominated_to_the_node_count() -> None:
    nominated = Pod.from_dict(
        {
            "metadata": {"name": "vip"},
            "spec": {
                "priority": 10,
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}],
            },
            "status": {"nominatedNodeName": "a"},
        }
    )
    found = suggest([make_node("a", cpu="4"), nominated], make_pod(requests={"cpu": "2"}))
    assert texts(found)[0] == "request 1 less cpu (1 instead of 2)"
