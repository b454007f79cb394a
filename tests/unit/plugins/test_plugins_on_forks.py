"""Plugins made for a fork decide on the fork, those made for the cluster on the cluster."""

from typing import Any

import pytest

from mooring import Pod
from mooring.config.plugin_entry import describe_plugin
from mooring.framework import hook
from mooring.framework.runtime import Runtime
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.model.workloads import Namespace
from mooring.plugins.affinity.inter_pod_affinity import InterPodAffinity
from mooring.plugins.nodes.node_affinity import NodeAffinity
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.plugins.volumes.volume_binding import VolumeBinding
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import accepted, cluster_of


def plugin_on(kind: type[hook.Hook], cluster: Cluster) -> hook.FilterNodes:
    plugin = describe_plugin(kind).make({}, Runtime(cluster), "args")
    assert isinstance(plugin, hook.FilterNodes)
    return plugin


def test_templates_are_shared_and_namespaces_are_not() -> None:
    """What is remembered with a template depends on the namespaces of one side."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "a"}},
        "namespaceSelector": {"matchLabels": {"team": "red"}},
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    asking = make_pod("asking", spec={"affinity": {"podAntiAffinity": required}})
    there = make_pod("there", namespace="other", labels={"app": "a"}, node="a")
    cluster = cluster_of(make_node("a"), make_node("b"), namespace("other", "red"), there)
    fork = cluster.fork()
    fork.put(namespace("other", "blue"))
    plugins = [(one, plugin_on(InterPodAffinity, one)) for one in (cluster, fork)]
    for _ in range(2):
        found = [accepted(plugin, one, asking) for one, plugin in plugins]
        assert found == [["b"], ["a", "b"]]
    cluster.put(namespace("other", "blue"))
    fork.put(namespace("other", "red"))
    assert [accepted(plugin, one, asking) for one, plugin in plugins] == [["a", "b"], ["b"]]


def namespace(name: str, team: str) -> Namespace:
    return Namespace.from_dict({"metadata": {"name": name, "labels": {"team": team}}})


@pytest.mark.parametrize("kind", [NodeResourcesFit, NodeAffinity])
def test_nodes_and_pods_of_each_side_count(kind: type[hook.Hook]) -> None:
    asking = make_pod("asking", requests={"cpu": "6"}, spec={"nodeSelector": {"disk": "ssd"}})
    cluster = cluster_of(*(make_node(name, labels={"disk": "ssd"}) for name in "abc"))
    before = plugin_on(kind, cluster)
    assert accepted(before, cluster, asking) == ["a", "b", "c"]
    fork = cluster.fork()
    fork.put_pod(make_pod("big", requests={"cpu": "4"}, node="a"))
    fork.put_node(make_node("b"))
    cluster.put_pod(make_pod("other", requests={"cpu": "4"}, node="c"))
    fits = kind is NodeResourcesFit
    assert accepted(before, cluster, asking) == (["a", "b"] if fits else ["a", "b", "c"])
    assert accepted(plugin_on(kind, fork), fork, asking) == (["b", "c"] if fits else ["a", "c"])


def test_volumes_of_each_side_are_found() -> None:
    terms = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
    volume: dict[str, Any] = {
        "metadata": {"name": "v"},
        "spec": {
            "storageClassName": "local",
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
        "status": {"phase": "Available"},
    }
    cluster = cluster_of(
        make_node("a", labels={"disk": "ssd"}),
        make_node("b"),
        StorageClass.from_dict(
            {
                "metadata": {"name": "local"},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        ),
        PersistentVolume.from_dict(volume),
        PersistentVolumeClaim.from_dict(
            {
                "metadata": {"name": "c", "namespace": "default"},
                "spec": {
                    "storageClassName": "local",
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
                "status": {"phase": "Pending"},
            }
        ),
    )
    asking: Pod = make_pod(
        spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    )
    fork = cluster.fork()
    fork.put_node(make_node("b", labels={"disk": "ssd"}))
    fork.put_node(make_node("a"))
    for one, names in ((cluster, ["a"]), (fork, ["b"]), (cluster, ["a"])):
        assert accepted(plugin_on(VolumeBinding, one), one, asking) == names
    fork.remove(PersistentVolume.from_dict(volume))
    assert accepted(plugin_on(VolumeBinding, cluster), cluster, asking) == ["a"]
    assert accepted(plugin_on(VolumeBinding, fork), fork, asking) == []
