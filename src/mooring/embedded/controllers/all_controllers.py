"""All controllers, with the names they have in Kubernetes. `controller_manager` runs them."""

from typing import Final

from mooring.embedded.api import Api
from mooring.embedded.controllers.controller import Controller
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.garbage_collector import GarbageCollector
from mooring.embedded.controllers.namespace import NamespaceController
from mooring.embedded.controllers.nodes.node_lifecycle import NodeLifecycleController
from mooring.embedded.controllers.nodes.taint_eviction import TaintEvictionController
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.resource_claims.pod_claims import PodClaimController
from mooring.embedded.controllers.resource_claims.resource_claims import ResourceClaimController
from mooring.embedded.controllers.root_ca_publisher import RootCAPublisher
from mooring.embedded.controllers.volumes.persistent_volume import PersistentVolumeController
from mooring.embedded.controllers.workloads.daemon_set.daemon_set_controller import (
    DaemonSetController,
)
from mooring.embedded.controllers.workloads.deployment.deployment_controller import (
    DeploymentController,
)
from mooring.embedded.controllers.workloads.disruption import DisruptionController
from mooring.embedded.controllers.workloads.job.job_controller import JobController
from mooring.embedded.controllers.workloads.replica_set import (
    ReplicaSetController,
    ReplicationManager,
)
from mooring.embedded.controllers.workloads.stateful_set import StatefulSetController

_CONTROLLERS: Final[tuple[tuple[str, type[Controller]], ...]] = (
    ("namespace-controller", NamespaceController),
    ("deployment-controller", DeploymentController),
    ("replicaset-controller", ReplicaSetController),
    ("replication-controller", ReplicationManager),
    ("statefulset-controller", StatefulSetController),
    ("daemonset-controller", DaemonSetController),
    ("job-controller", JobController),
    ("controllermanager", DisruptionController),
    ("node-controller", NodeLifecycleController),
    ("taint-eviction-controller", TaintEvictionController),
    ("persistentvolume-controller", PersistentVolumeController),
    ("resource_claim", PodClaimController),
    ("resource_claim", ResourceClaimController),
    ("generic-garbage-collector", GarbageCollector),
)


def all_controllers(
    api: Api, pods: PodIndex, *, events: bool = True, root_ca: str = ""
) -> list[Controller]:
    """All controllers.

    Args:
        api: the cluster.
        pods: its pods, indexed.
        events: whether they record events.
        root_ca: what clients verify the API server with, in PEM.
    """
    publisher = ControllerClient(api, "root-ca-cert-publisher", events=events)
    return [
        *(
            controller(ControllerClient(api, component, events=events), pods)
            for component, controller in _CONTROLLERS
        ),
        RootCAPublisher(publisher, pods, root_ca),
    ]
