from typing import Any

import pytest

from mooring.framework.hook import SKIP
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.nodes.feature_requirements import required_features
from mooring.plugins.nodes.node_declared_features import NodeDeclaredFeatures
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import accepted, cluster_of, filtered, pre_filtered

RESTART = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"


def node(name: str, *features: str) -> Node:
    raw: dict[str, Any] = make_node(name).raw
    status = {**raw["status"], "declaredFeatures": list(features)}
    return Node.from_dict({**raw, "status": status})


def restarting(action: str, where: str = "containers") -> Pod:
    container = {"name": "x", "image": "x", "restartPolicyRules": [{"action": action}]}
    return make_pod(spec={where: [container]})


@pytest.mark.parametrize(
    ("pod", "features"),
    [
        (make_pod(), set()),
        (restarting("RestartAllContainers"), {RESTART}),
        (restarting("RestartAllContainers", "initContainers"), {RESTART}),
        (restarting("Restart"), set()),
        (make_pod(spec={"hostNetwork": True, "hostUsers": False}), {USERS}),
        (make_pod(spec={"hostNetwork": True, "hostUsers": True}), set()),
        (make_pod(spec={"hostNetwork": True}), set()),
        (make_pod(spec={"hostUsers": False}), set()),
    ],
)
def test_what_a_pod_needs(pod: Pod, features: set[str]) -> None:
    assert required_features(pod) == features
    answer = pre_filtered(NodeDeclaredFeatures(), cluster_of(make_node("a")), pod)
    assert answer is (None if features else SKIP)


def test_nodes_without_the_feature_are_rejected_for_good() -> None:
    cluster = cluster_of(
        make_node("none"),
        node("other", "Unknown"),
        node("it", RESTART),
        node("more", RESTART, USERS),
    )
    pod = restarting("RestartAllContainers")
    plugin = NodeDeclaredFeatures()
    assert accepted(plugin, cluster, pod) == ["it", "more"]
    assert accepted(plugin, cluster, pod, ["none", "it"]) == ["it"]
    verdict = filtered(plugin, cluster, pod)["other"]
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == ("node(s) didn't match Pod's required features",)


def test_a_node_must_have_all_features() -> None:
    cluster = cluster_of(node("one", RESTART), node("both", RESTART, USERS))
    container = {"name": "x", "restartPolicyRules": [{"action": "RestartAllContainers"}]}
    pod = make_pod(spec={"containers": [container], "hostNetwork": True, "hostUsers": False})
    assert accepted(NodeDeclaredFeatures(), cluster, pod) == ["both"]


def test_a_kubelet_that_learns_a_feature_is_seen() -> None:
    cluster, plugin = cluster_of(make_node("a")), NodeDeclaredFeatures()
    pod = restarting("RestartAllContainers")
    assert accepted(plugin, cluster, pod) == []
    cluster.put(node("a", RESTART))
    assert accepted(plugin, cluster, pod) == ["a"]
