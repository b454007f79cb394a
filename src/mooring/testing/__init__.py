"""For people who test their policies: builders, a fake kube-scheduler, clusters.

`make_pod` and `make_node` build objects, `FakeKubeScheduler` drives a policy in process through
every verb, `cluster` is a whole cluster with mooring's scheduler. `FaultyProxy` stands between a
client and an API server and makes things go wrong. `mooring.testing.kube` starts the real etcd,
kube-apiserver and kube-scheduler.
"""

from mooring.testing.builders import make_node, make_pod
from mooring.testing.embedded_cluster import Cluster, cluster
from mooring.testing.embedded_waiting import Condition, Event
from mooring.testing.fake_scheduler import FakeKubeScheduler, FilterReply, Refused
from mooring.testing.faults import Fault, Requests, WatchEvents
from mooring.testing.faulty_proxy import FaultyProxy

__all__ = [
    "Cluster",
    "Condition",
    "Event",
    "FakeKubeScheduler",
    "Fault",
    "FaultyProxy",
    "FilterReply",
    "Refused",
    "Requests",
    "WatchEvents",
    "cluster",
    "make_node",
    "make_pod",
]
