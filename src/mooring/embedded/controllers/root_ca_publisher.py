"""Every namespace has a config map with the certificates that clients verify the API server with.

Pods mount it beside their service account's token, and Kubernetes' end-to-end tests wait for it.
A `Controller` of namespaces; it writes that one config map and nothing else.

parity v1.36.4: pkg/controller/certificates/rootcacertpublisher
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.controllers.controller import Controller, EventHandler, own_key
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex
from mooring.embedded.resources import CONFIG_MAPS, NAMESPACES, Obj, Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent

_NAME: Final = "kube-root-ca.crt"
_KEY: Final = "ca.crt"
_DESCRIPTION: Final = "kubernetes.io/description"
_TEXT: Final = "The certificates with which pods verify this cluster's API server."


class RootCAPublisher(Controller):
    """Keeps the config map of every namespace as it has to be.

    Args:
        client: reads and writes objects.
        pods: all pods; nobody needs them here.
        root_ca: the certificates in PEM; empty if the API server is served over plain HTTP.
    """

    resource = NAMESPACES

    def __init__(self, client: ControllerClient, pods: PodIndex, root_ca: str = "") -> None:
        super().__init__(client, pods)
        self._data = {_KEY: root_ca}

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of namespaces and config maps."""
        return {NAMESPACES: own_key, CONFIG_MAPS: _map_changed}

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:  # noqa: ARG002
        """Create the config map of a namespace, or mend what somebody made of it."""
        if item.obj["metadata"].get("deletionTimestamp"):
            return None
        namespace = key[1]
        found = self._client.store.get(CONFIG_MAPS, namespace, _NAME)
        if found is None:
            metadata = {"name": _NAME, "annotations": {_DESCRIPTION: _TEXT}}
            made: Obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}
            self._client.create(CONFIG_MAPS, {**made, "data": {**self._data}}, namespace)
            return None
        obj = found.obj
        annotations = obj["metadata"].get("annotations") or {}
        if obj.get("data") != self._data or not annotations.get(_DESCRIPTION):
            obj["data"] = {**self._data}
            obj["metadata"]["annotations"] = {**annotations, _DESCRIPTION: _TEXT}
            self._client.update(CONFIG_MAPS, obj)
        return None


def _map_changed(event: WatchEvent) -> Iterable[Key]:
    if event.type != "ADDED" and event.item.name == _NAME:
        return (("", event.item.namespace),)
    return ()
