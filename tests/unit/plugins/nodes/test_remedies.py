"""What would help a pod that a node itself is not made for."""

from typing import Any

import pytest

from mooring.testing import make_node, make_pod
from tests.unit.explaining.suggested import suggest, texts


def test_a_taint() -> None:
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    found = suggest([make_node("a", taints=[taint])], make_pod())
    assert texts(found) == [
        "tolerate the taint dedicated=gpu:NoSchedule",
        "remove the taint dedicated=gpu:NoSchedule from a",
    ]


def test_a_node_with_a_cheaper_taint_set_comes_first() -> None:
    one = {"key": "one", "effect": "NoSchedule"}
    two = {"key": "two", "effect": "NoExecute"}
    found = suggest([make_node("a", taints=[one, two]), make_node("b", taints=[two])], make_pod())
    assert found[0].combination.text == "tolerate the taint two:NoExecute"
    assert found[0].nodes == ("b",)


def test_a_cordoned_node() -> None:
    found = suggest([make_node("a", unschedulable=True)], make_pod())
    assert texts(found) == [
        "uncordon a",
        "tolerate cordoned nodes (node.kubernetes.io/unschedulable:NoSchedule)",
        "add one more node like a (8 cpu and 32Gi memory)",
    ]


def test_a_node_selector() -> None:
    objects = [make_node("a", labels={"disk": "hdd"})]
    found = suggest(objects, make_pod(spec={"nodeSelector": {"disk": "ssd"}}))
    assert texts(found) == ["drop the node selector disk=ssd", "label a with disk=ssd"]


@pytest.mark.parametrize(
    ("condition", "given_up", "label"),
    [
        ({"operator": "In", "values": ["b", "c"]}, "x in (b, c)", "label a with x=b"),
        ({"operator": "NotIn", "values": ["1"]}, "x not in (1)", "remove the label x from a"),
        ({"operator": "DoesNotExist"}, "x does not exist", "remove the label x from a"),
        ({"operator": "Gt", "values": ["4"]}, "x > 4", "label a with x=5"),
        ({"operator": "Lt", "values": ["0"]}, "x < 0", "label a with x=-1"),
    ],
    ids=lambda value: value["operator"] if isinstance(value, dict) else "",
)
def test_conditions(condition: dict[str, Any], given_up: str, label: str) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", **condition}]}]}
    spec = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }
    found = suggest([make_node("a", labels={"x": "1"})], make_pod(spec=spec))
    assert texts(found) == [f"drop the requirement {given_up}", label]


def test_the_term_that_lacks_least_is_relaxed() -> None:
    def wants(**labels: str) -> dict[str, Any]:
        return {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": [value]} for key, value in labels.items()
            ]
        }

    required = {"nodeSelectorTerms": [wants(x="2", y="2"), wants(x="1", z="9")]}
    spec = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }
    found = suggest([make_node("a", labels={"x": "1", "y": "1"})], make_pod(spec=spec))
    assert texts(found)[0] == "drop the requirement z=9"


def test_a_node_that_is_named() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    spec = {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchFields": [field]}]
                }
            }
        }
    }
    found = suggest([make_node("a")], make_pod(spec=spec))
    assert texts(found) == ["drop the requirement metadata.name=b"]


def test_terms_that_the_configuration_adds_cannot_be_given_up() -> None:
    terms = [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    args = {"name": "NodeAffinity", "args": {"addedAffinity": required}}
    assert (
        suggest([make_node("a")], make_pod(), config={"profiles": [{"pluginConfig": [args]}]}) == []
    )


def test_a_host_port() -> None:
    port = {"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]}
    objects = [make_node("a"), make_pod("x", node="a", spec=port)]
    assert texts(suggest(objects, make_pod(spec=port))) == [
        "remove the host port 80 from the pod",
        "remove default/x from a, which has the host port 80",
        "add one more node like a (8 cpu and 32Gi memory)",
    ]


def test_a_feature_of_the_kubelet() -> None:
    spec = {"hostNetwork": True, "hostUsers": False, "containers": [{"name": "c"}]}
    found = suggest([make_node("a")], make_pod(spec=spec))
    assert texts(found) == ["run a kubelet on a that declares UserNamespacesHostNetworkSupport"]


def test_a_node_the_pod_names() -> None:
    pod = make_pod(spec={"nodeName": "elsewhere"})
    assert texts(suggest([make_node("a")], pod)) == ["remove the node name elsewhere from the pod"]
