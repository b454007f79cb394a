"""Tools for testing policies: builders, a fake kube-scheduler, clusters.

`make_pod` and `make_node` build objects, `FakeKubeScheduler` calls every verb of a policy in
process, and `cluster` is a whole cluster with mooring's scheduler. `FaultyProxy` sits between a
client and an API server and injects faults. `mooring.testing.real_kubernetes` starts the real etcd,
kube-apiserver and kube-scheduler.
"""

from mooring.testing.builders import make_node, make_pod
from mooring.testing.embedded_cluster import TestCluster, cluster
from mooring.testing.fake_scheduler import FakeKubeScheduler, FilterResult, Rejected
from mooring.testing.faults import Fault, Requests, WatchEvents
from mooring.testing.faulty_proxy import FaultyProxy
from mooring.testing.waiting_client import Condition, Event

__all__ = [
    "Condition",
    "Event",
    "FakeKubeScheduler",
    "Fault",
    "FaultyProxy",
    "FilterResult",
    "Rejected",
    "Requests",
    "TestCluster",
    "WatchEvents",
    "cluster",
    "make_node",
    "make_pod",
]
