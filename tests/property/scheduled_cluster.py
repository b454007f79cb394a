"""The embedded cluster with mooring's scheduler core, without HTTP and threads: everything is done.

Controllers, kubelets and the core take turns until nobody has anything to do, so that what happens
depends on nothing but the objects. Ties are chosen as `choose` says.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from mooring.config.runtimes import build_profiles
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.pod_subresources import bind, evict
from mooring.embedded.resources import (
    DAEMON_SETS,
    DEPLOYMENTS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    STATEFUL_SETS,
    Obj,
)
from mooring.embedded.watch_history import WatchEvent
from mooring.model.change import Change, Gone, Put
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import ReplicaSet, StatefulSet
from mooring.plugins.in_tree import default_registry
from mooring.scheduler.core_building import build_core
from mooring.scheduler.effects import Bind, Bound, Effect, PreemptVictims, VictimsPreempted
from mooring.state.cluster import Cluster
from tests.unit.embedded.fake_cluster import FakeCluster

WATCHED = {PODS: Pod, NODES: Node, REPLICA_SETS: ReplicaSet, STATEFUL_SETS: StatefulSet}
#: What a snapshot of such a cluster has.
LISTED = (PRIORITY_CLASSES, NODES, REPLICA_SETS, STATEFUL_SETS, PODS)


class ScheduledCluster(FakeCluster):
    """A cluster in which pods are scheduled."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        super().__init__(kubelet=KubeletSettings())
        self._changes: list[Change[Any]] = []
        profiles = build_profiles(None, default_registry(), [])
        self._core = build_core(profiles, default_registry(), Cluster(), lambda: 0, choose)
        for resource, kind in WATCHED.items():
            self.api.store.listen(resource, self._listener(kind))

    def _listener(self, kind: type[Any]) -> Callable[[WatchEvent], None]:
        def noted(event: WatchEvent) -> None:
            change = Gone if event.type == "DELETED" else Put
            self._changes.append(change(kind.from_dict(event.item.obj)))

        return noted

    def rest(self) -> None:
        """Let everybody work until nothing is left to do."""
        for _ in range(10_000):
            self.wait(0)
            changes, self._changes = self._changes, []
            self._core.handle(changes, self.now)
            effects = self._core.tick(self.now)
            cycle = self._core.schedule_one(self.now)
            if cycle is not None:
                try:
                    next(cycle)
                except StopIteration as ended:
                    effects += ended.value
            for effect in effects:
                self._carry_out(effect)
            if cycle is None and not changes and not effects and not self._changes:
                if not self._core.queue.counts()["backoff"]:
                    return
                self.now += 1
        raise AssertionError("the cluster does not come to rest")

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Bind):
            binding = effect.binding
            target = {"kind": "Node", "name": binding.node_name}
            body = {
                "kind": "Binding", "apiVersion": "v1",
                "metadata": {"name": binding.name}, "target": target,
            }  # fmt: skip
            bind(self.api, binding.namespace, binding.name, body)
            self._core.report(Bound(effect.pod, binding.node_name), self.now)
        elif isinstance(effect, PreemptVictims):
            for victim in effect.victims:
                self.delete(PODS, victim.name)
            self._core.report(VictimsPreempted(effect.preemptor), self.now)

    # -- what people do

    def drain(self, *names: str) -> None:
        """Cordon nodes and evict their pods, as ``kubectl drain --ignore-daemonsets`` does."""
        for name in names:
            self.change(NODES, name, lambda node: node["spec"].update(unschedulable=True))
        for name in names:
            for pod in self.pods_on(name):
                if pod["metadata"]["ownerReferences"][0]["kind"] != "DaemonSet":
                    self.evict(pod["metadata"]["name"])
        self.rest()

    def evict(self, name: str) -> None:
        """Evict a pod."""
        body = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": name}}
        evict(self.api, "default", name, body)

    def remove(self, *names: str) -> None:
        """Nodes and everything on them are gone at once."""
        gone = [pod for name in names for pod in self.pods_on(name)]
        for name in names:
            self.delete(NODES, name)
        for pod in gone:
            self.delete(PODS, pod["metadata"]["name"], gracePeriodSeconds=0)
        self.rest()

    def add(self, number: int, like: str) -> None:
        """Add nodes like another one."""
        model = self.get(NODES, like)
        there = len([name for name in self.names(NODES) if name.startswith(f"{like}-new-")])
        for count in range(there + 1, there + number + 1):
            name = f"{like}-new-{count}"
            labels = {**model["metadata"]["labels"], "kubernetes.io/hostname": name}
            self.create(
                NODES, {"metadata": {"name": name, "labels": labels}, "status": model["status"]}
            )
        self.rest()

    def scale(self, name: str, replicas: int) -> None:
        """Scale a Deployment."""
        self.change(DEPLOYMENTS, name, lambda one: one["spec"].update(replicas=replicas))
        self.rest()

    # -- what came of it

    def pods_on(self, node: str) -> list[Obj]:
        """The pods on a node."""
        return [one for one in self.all(PODS) if one["spec"].get("nodeName") == node]

    def placements(self) -> Counter[tuple[str, str]]:
        """How many pods of each workload are on each node; without one if they are pending."""
        return Counter(
            (one["metadata"]["labels"]["app"], one["spec"].get("nodeName", ""))
            for one in self.all(PODS)
        )

    def objects(self) -> list[Obj]:
        """The objects of a snapshot."""
        return [
            {"kind": one.kind, "apiVersion": one.api_version, **obj}
            for one in LISTED
            for obj in self.all(one)
        ]

    def daemon_set(self, name: str, requests: dict[str, str]) -> None:
        """A DaemonSet whose pods are on every node."""
        self.create(DAEMON_SETS, {"metadata": {"name": name}, "spec": _spec(name, requests)})

    def deployment(self, name: str, replicas: int, requests: dict[str, str], **spec: Any) -> None:
        """A Deployment with one container."""
        own = _spec(name, requests, **spec)
        self.create(
            DEPLOYMENTS, {"metadata": {"name": name}, "spec": {**own, "replicas": replicas}}
        )


def _spec(name: str, requests: dict[str, str], **spec: Any) -> Obj:
    container = {"name": "main", "image": "app", "resources": {"requests": requests}}
    return {
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
        },
    }
