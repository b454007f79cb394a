import msgspec
import pytest

from mooring import Node, NotAvailable, Pod, QuantityError, Taint
from mooring.state.node_info import NodeInfo, without_usage
from mooring.state.pod_info import PodInfo
from mooring.state.shapes import Shapes
from mooring.state.usage import NodeUsage
from mooring.testing import make_node, make_pod


def info(pod: Pod) -> PodInfo:
    return PodInfo(pod, Shapes())


def test_allocatable_and_capacity_are_whole_numbers() -> None:
    node = Node.from_dict(
        {
            "status": {
                "capacity": {"cpu": "4", "memory": "16Gi"},
                "allocatable": {"cpu": "3920m", "memory": 1024, "pods": "110", "x.io/fpga": "2"},
            }
        }
    )
    assert node.allocatable == {"cpu": 3920, "memory": 1024, "pods": 110, "x.io/fpga": 2}
    assert node.allocatable["nvidia.com/gpu"] == 0
    assert node.capacity == {"cpu": 4000, "memory": 16 * 2**30}


def test_an_impossible_amount_is_an_error_when_it_is_read() -> None:
    node = Node.from_dict({"status": {"allocatable": {"cpu": "four"}}})
    with pytest.raises(QuantityError, match="'four'"):
        _ = node.allocatable


def test_images_are_all_names_of_all_images() -> None:
    node = Node.from_dict(
        {
            "status": {
                "images": [
                    {"names": ["app@sha256:1", "app:1"], "sizeBytes": 5},
                    {"names": None},
                    {"names": ["db:2"]},
                ]
            }
        }
    )
    assert node.images == ("app@sha256:1", "app:1", "db:2")
    assert [image.size_bytes for image in node.status.images or ()] == [5, 0, 0]


def test_declared_features_are_read() -> None:
    node = Node.from_dict({"status": {"declaredFeatures": ["A", "B"]}})
    assert node.status.declared_features == ["A", "B"]
    assert Node().status.declared_features is None


def test_taints_and_cordon_come_from_the_spec() -> None:
    node = Node.from_dict(
        {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}], "unschedulable": True}}
    )
    assert node.taints == [Taint(key="gpu", effect="NoSchedule")]
    assert node.unschedulable
    assert (Node().taints, Node().unschedulable) == ([], False)


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([], False),
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "DiskPressure", "status": "True"}, {"type": "Ready", "status": "False"}], False),
        ([{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}], True),
    ],
)
def test_a_node_is_ready_if_its_condition_says_true(
    conditions: list[dict[str, str]], ready: bool
) -> None:
    assert Node.from_dict({"status": {"conditions": conditions}}).ready is ready


@pytest.mark.parametrize("attribute", ["used", "free", "pods", "usage"])
def test_usage_is_not_available_without_a_cluster(attribute: str) -> None:
    with pytest.raises(NotAvailable, match="--kubeconfig"):
        getattr(make_node(), attribute)


def test_free_is_allocatable_less_used() -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": "1500m", "memory": "1Gi"}) for n in range(2)]
    node = make_node(cpu="8", memory="4Gi", extended={"nvidia.com/gpu": 1}, pods=pods)
    assert node.used == {"cpu": 3000, "memory": 2 * 2**30, "pods": 2}
    assert dict(node.free) == {
        "cpu": 5000, "memory": 2 * 2**30, "pods": 108, "nvidia.com/gpu": 1,
    }  # fmt: skip
    assert list(node.pods) == pods


def test_free_knows_which_resources_the_node_has() -> None:
    free = make_node(pods=[]).free
    assert free["nvidia.com/gpu"] == 0
    assert "cpu" in free
    assert "nvidia.com/gpu" not in free
    assert len(free) == len(list(free)) == 3


def test_free_may_be_negative_on_an_overfull_node() -> None:
    node = make_node(cpu="1", pods=[make_pod(requests={"cpu": "3"})])
    assert node.free["cpu"] == -2000


def test_free_follows_the_pods_on_the_node() -> None:
    usage = NodeUsage()
    node = NodeInfo.of(make_node(cpu="5"), usage)
    assert node.free["cpu"] == 5000
    usage.add("default/a", info(make_pod("a", requests={"cpu": "2"})))
    assert (node.free["cpu"], node.free["pods"]) == (3000, 109)
    assert node.free is node.free  # made once, until a pod changes
    usage.remove("default/a")
    assert node.free["cpu"] == 5000


def test_free_is_that_of_the_usage() -> None:
    node = make_node(cpu="5", pods=[make_pod(requests={"cpu": "1"})])
    assert node.free["cpu"] == 4000
    other = NodeUsage()
    other.add("default/pod", info(make_pod(requests={"cpu": "3"})))
    assert NodeInfo.of(node, other).free["cpu"] == 2000
    assert NodeInfo.of(make_node(cpu="8"), other).free["cpu"] == 5000
    assert node.free["cpu"] == 4000


def test_a_node_with_its_usage_is_made_once() -> None:
    node = make_node(pods=[make_pod(requests={"cpu": "3"})])
    assert isinstance(node, NodeInfo)
    assert NodeInfo.of(node, node.usage) is node
    assert node.free == {**node.allocatable, "cpu": 5000, "pods": 109}


def test_a_node_with_its_usage_leaves_the_node_as_it_is() -> None:
    node, usage = make_node(), NodeUsage()
    assert NodeInfo.of(node, usage).usage is usage
    with pytest.raises(NotAvailable):
        _ = node.used
    assert repr(node) == repr(NodeInfo.of(node, usage)) == "<Node node>"


def test_a_node_with_its_usage_has_all_that_the_node_has() -> None:
    node = Node.from_json(msgspec.json.encode(make_node(labels={"zone": "a"}).raw))
    known = NodeInfo.of(node, NodeUsage())
    assert (known.name, known.labels, known.spec) == (node.name, node.labels, node.spec)
    assert known.raw == node.raw
    assert known.source == node.source
    made = Node(metadata=node.metadata, status=node.status)
    assert NodeInfo.of(made, NodeUsage()).raw == made.raw  # without what is in use
    plain = without_usage(known)
    assert type(plain) is Node
    assert plain == node
