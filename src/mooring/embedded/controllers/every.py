"""All controllers, with the names they have in Kubernetes. `life` asks for them."""

from mooring.embedded.api import Api
from mooring.embedded.controllers.daemon_set import DaemonSets
from mooring.embedded.controllers.deployment import Deployments
from mooring.embedded.controllers.disruption import Disruption
from mooring.embedded.controllers.garbage import Garbage
from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.job import Jobs
from mooring.embedded.controllers.namespaces import Namespaces
from mooring.embedded.controllers.nodes import Nodes
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.replica_set import ReplicaSets
from mooring.embedded.controllers.stateful_set import StatefulSets
from mooring.embedded.controllers.taint_eviction import TaintEviction
from mooring.embedded.controllers.volumes import Volumes
from mooring.embedded.controllers.work import Controller
from mooring.embedded.resources import REPLICATION_CONTROLLERS


def every(api: Api, pods: PodIndex, *, events: bool = True) -> list[Controller]:
    """All controllers.

    Args:
        api: the cluster.
        pods: its pods, indexed.
        events: whether they write events.
    """

    def hand(component: str) -> Hand:
        return Hand(api, component, events=events)

    return [
        Namespaces(hand("namespace-controller"), pods),
        Deployments(hand("deployment-controller"), pods),
        ReplicaSets(hand("replicaset-controller"), pods),
        ReplicaSets(hand("replication-controller"), pods, REPLICATION_CONTROLLERS),
        StatefulSets(hand("statefulset-controller"), pods),
        DaemonSets(hand("daemonset-controller"), pods),
        Jobs(hand("job-controller"), pods),
        Disruption(hand("controllermanager"), pods),
        Nodes(hand("node-controller"), pods),
        TaintEviction(hand("taint-eviction-controller"), pods),
        Volumes(hand("persistentvolume-controller")),
        Garbage(hand("generic-garbage-collector"), pods),
    ]
