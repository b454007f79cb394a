"""However the cluster came to be, it is what a new one made of the final truth would be."""

from collections.abc import Mapping

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mooring import Pod, QuantityError
from mooring.model.change import Gone, Put
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

NODES = st.sampled_from(["a", "b", "c"])
PODS = st.sampled_from(["p", "q", "r", "s"])
CPUS = st.sampled_from(["0", "100m", "1", "2.5"])


def new_pod(name: str, life: int, cpu: str, node: str = "", phase: str = "") -> Pod:
    requests = {"cpu": cpu, "x.io/card": "1"} if cpu != "0" else None
    raw = make_pod(name, requests=requests, node=node).raw
    status = {"phase": phase} if phase else raw["status"]
    return Pod.from_dict(
        {**raw, "metadata": {**raw["metadata"], "uid": f"{name}-{life}"}, "status": status}
    )


def amounts(used: Mapping[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in used.items() if amount}


def picture(cluster: Cluster) -> dict[str, object]:
    """All that can be seen of a cluster, and what it keeps for nodes that are away."""
    return {
        "nodes": {name: node.allocatable for name, node in cluster.nodes.items()},
        "used": {name: amounts(node.used) for name, node in cluster.nodes.items()},
        "kept": {name: amounts(usage.used) for name, usage in cluster._usage.items()},
        "pods": {
            name: {pod.key: pod for pod in usage.pods} for name, usage in cluster._usage.items()
        },
        "known": {name: cluster.pod("default", name) for name in "pqrs"},
        "ids": {
            f"{name}-{life}": cluster.pod_by_uid(f"{name}-{life}")
            for name in "pqrs"
            for life in range(3)
        },
        "counts": (cluster.pods, cluster.assumed),
    }


class ClusterMachine(RuleBasedStateMachine):
    """Drives a cluster, and keeps the plain truth beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.nodes: dict[str, str] = {}
        self.pods: dict[str, Pod] = {}
        self.assumed: dict[str, tuple[str, dict[str, str]]] = {}

    @rule(name=NODES, cpu=CPUS)
    def put_node(self, name: str, cpu: str) -> None:
        self.cluster.apply([Put(make_node(name, cpu=cpu))])
        self.nodes[name] = cpu

    @rule(name=NODES)
    def remove_node(self, name: str) -> None:
        self.cluster.apply([Gone(make_node(name))])
        self.nodes.pop(name, None)

    @rule(name=PODS, life=st.integers(0, 2), cpu=CPUS, node=st.just("") | NODES)
    def put_pod(self, name: str, life: int, cpu: str, node: str) -> None:
        pod = new_pod(name, life, cpu, node)
        self.cluster.apply([Put(pod)])
        before = self.pods.get(name)
        if node or before is None or before.uid != pod.uid:
            self.assumed.pop(name, None)
        self.pods[name] = pod

    @rule(name=PODS, node=st.just("") | NODES, phase=st.sampled_from(["Succeeded", "Failed"]))
    def finish_pod(self, name: str, node: str, phase: str) -> None:
        self.cluster.apply([Put(new_pod(name, 0, "1", node, phase))])
        self._lose(name)

    @rule(name=PODS)
    def remove_pod(self, name: str) -> None:
        self.cluster.apply([Gone(new_pod(name, 0, "1"))])
        self._lose(name)

    def _lose(self, name: str) -> None:
        self.pods.pop(name, None)
        self.assumed.pop(name, None)

    @precondition(lambda self: any(not pod.node_name for pod in self.pods.values()))
    @rule(data=st.data(), node=NODES, annotations=st.sampled_from([{}, {"card": "1"}]))
    def assume(self, data: st.DataObject, node: str, annotations: dict[str, str]) -> None:
        waiting = sorted(name for name, pod in self.pods.items() if not pod.node_name)
        name = data.draw(st.sampled_from(waiting))
        self.cluster.assume(self.pods[name], node, annotations)
        self.assumed[name] = (node, annotations)

    @rule(name=PODS)
    def forget(self, name: str) -> None:
        self.cluster.forget(f"default/{name}")
        self.assumed.pop(name, None)

    @rule(name=PODS, life=st.integers(0, 2), node=NODES)
    def put_an_impossible_pod(self, name: str, life: int, node: str) -> None:
        before = picture(self.cluster)
        try:
            self.cluster.apply([Put(new_pod(name, life, "lots", node))])
        except QuantityError:
            assert picture(self.cluster) == before
        else:
            raise AssertionError("an impossible quantity was counted")

    @invariant()
    def looks_like_a_new_cluster(self) -> None:
        fresh = Cluster()
        for name, cpu in self.nodes.items():
            fresh.put_node(make_node(name, cpu=cpu))
        for pod in self.pods.values():
            fresh.put_pod(pod)
        for name, (node, annotations) in self.assumed.items():
            fresh.assume(self.pods[name], node, annotations)
        assert picture(self.cluster) == picture(fresh)


TestCluster = ClusterMachine.TestCase
TestCluster.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
