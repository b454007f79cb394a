import pytest

from mooring import Node, NotAvailable, QuantityError, Taint
from mooring.state.usage import NodeUsage
from mooring.testing import make_node, make_pod


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
    node = make_node(cpu="5")
    node.attach(usage)
    assert node.free["cpu"] == 5000
    usage.add(make_pod("a", requests={"cpu": "2"}))
    assert (node.free["cpu"], node.free["pods"]) == (3000, 109)
    usage.remove("default/a")
    assert node.free["cpu"] == 5000


def test_free_follows_another_usage() -> None:
    node = make_node(cpu="5", pods=[make_pod(requests={"cpu": "1"})])
    assert node.free["cpu"] == 4000
    other = NodeUsage()
    other.add(make_pod(requests={"cpu": "3"}))
    node.attach(other)
    assert node.free["cpu"] == 2000


def test_attaching_the_same_usage_again_changes_nothing() -> None:
    node = make_node(pods=[make_pod(requests={"cpu": "3"})])
    free = node.free
    node.attach(node.usage)
    assert node.free == free == {**node.allocatable, "cpu": 5000, "pods": 109}


def test_usage_can_be_attached_and_taken_away() -> None:
    node, other = make_node(), make_node(pods=[])
    node.attach(other.usage)
    assert node.usage is other.usage
    node.attach(None)
    with pytest.raises(NotAvailable):
        _ = node.used
    assert repr(node) == "<Node node>"
