"""The embedded cluster's kubelets, except that those of unreachable nodes do nothing."""

from collections.abc import Iterable, Mapping

from mooring.embedded.controllers.controller import EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex
from mooring.embedded.kubelet.kubelet import Kubelet, KubeletSettings
from mooring.embedded.resources import NODES, Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent
from mooring.simulator.engine.unreachable_nodes import UnreachableNodes


class AnsweringKubelet(Kubelet):
    """Runs the pods of nodes that answer.

    Args:
        client: reads and writes objects.
        pods: all pods.
        settings: how pods behave.
        unreachable: the nodes that do not answer.
    """

    def __init__(
        self,
        client: ControllerClient,
        pods: PodIndex,
        settings: KubeletSettings,
        unreachable: UnreachableNodes,
    ) -> None:
        super().__init__(client, pods, settings)
        self._unreachable = unreachable
        self._silent: set[str] = set()

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of nodes."""
        return {NODES: self._node_answers}

    def _node_answers(self, event: WatchEvent) -> Iterable[Key]:
        keys = self._node_changed(event)
        name = event.item.name
        if name not in self._silent or name in self._unreachable:
            return keys
        self._silent.discard(name)
        return [pod.key for pod in self._pods.on_node(name)]

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Do what the pod's kubelet would do, if its node answers."""
        pod = self._pods.get(key)
        if pod is not None and pod.node in self._unreachable:
            self._silent.add(pod.node)
            return None
        return super().sync(key, item, now)
