"""The workloads: what the nodes and the pods are like, and what selects them; used by `bench`."""

from typing import NamedTuple

import msgspec

from benchmarks.core import kinds, objects
from benchmarks.core.kinds import THREE_ZONES, Kind
from benchmarks.core.objects import HOSTNAME, NAMESPACE, ZONE, node_name
from mooring.model.meta import KubeObject
from mooring.model.workloads import Namespace, ReplicaSet, Service, StatefulSet

__all__ = ["HOSTNAME", "NAMESPACE", "WORKLOADS", "ZONE", "Workload", "node_name"]


class Workload(NamedTuple):
    """Pods of one or more kinds in turn, and the zones of the nodes, in turn too.

    Attributes:
        around: what else the cluster has, as pairs of a kind and an object without its namespace.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    zones: tuple[str, ...] = THREE_ZONES
    around: tuple[tuple[type[KubeObject], objects.Object], ...] = ()

    def node(self, number: int) -> bytes:
        """The node with this number."""
        return objects.node(node_name(number), self.zone(number), number)

    def zone(self, number: int) -> str:
        """The zone of the node with this number."""
        return self.zones[number % len(self.zones)]

    def others(self) -> list[KubeObject]:
        """The namespace of the pods, and what stands around them."""
        name = {"name": NAMESPACE, "labels": {"kubernetes.io/metadata.name": NAMESPACE}}
        made: list[KubeObject] = [Namespace.from_json(msgspec.json.encode({"metadata": name}))]
        for kind, thing in self.around:
            metadata = {**thing["metadata"], "namespace": NAMESPACE}
            made.append(kind.from_json(msgspec.json.encode({**thing, "metadata": metadata})))
        return made


def _selected(app: str, controller: type[KubeObject], name: str) -> tuple[
    tuple[type[KubeObject], objects.Object], ...
]:  # fmt: skip
    """A service and a controller for the pods of an app."""
    labels = {"app": app}
    service = {"metadata": {"name": app}, "spec": {"selector": labels}}
    owner = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}}}
    return ((Service, service), (controller, owner))


_ALONE = (
    Workload("plain", "plain pods", (kinds.PLAIN,)),
    Workload("node-affinity", "node affinity", (kinds.NODE_AFFINITY,)),
    Workload("anti-affinity", "required anti-affinity by host", (kinds.ANTI_AFFINITY,)),
    Workload("affinity", "required affinity by zone", (kinds.AFFINITY,), zones=kinds.ONE_ZONE),
    Workload("preferred-affinity", "preferred affinity by host", (kinds.PREFERRED_AFFINITY,)),
    Workload("spread", "required spread by zone", (kinds.SPREAD,)),
    Workload("preferred-spread", "preferred spread by zone", (kinds.PREFERRED_SPREAD,)),
    Workload("images", "images on nodes", (kinds.IMAGES,)),
)
_MIX = Workload("mix", "mix of all these", tuple(kind for one in _ALONE for kind in one.kinds))
_CONTROLLED = (
    Workload(
        "deployment",
        "a Deployment with a Service",
        (kinds.DEPLOYMENT,),
        around=_selected("web", ReplicaSet, "web-5d59d67564"),
    ),
    Workload(
        "stateful-set",
        "a StatefulSet with a Service",
        (kinds.STATEFUL_SET,),
        around=_selected("db", StatefulSet, "db"),
    ),
    Workload("indexed-job", "an indexed Job", (kinds.INDEXED_JOB,)),
    Workload("templates", "50 templates in random order", (kinds.TEMPLATE,)),
)
#: All workloads by name.
WORKLOADS: dict[str, Workload] = {one.name: one for one in (*_ALONE, _MIX, *_CONTROLLED)}
