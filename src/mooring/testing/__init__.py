"""For people who test their policies: builders, a fake kube-scheduler, clusters.

`make_pod` and `make_node` build objects, `FakeKubeScheduler` drives a policy in process through
every verb, `cluster` is a whole cluster with mooring's scheduler. `mooring.testing.kube` starts the
real etcd, kube-apiserver and kube-scheduler.
"""

from mooring.testing.builders import make_node, make_pod
from mooring.testing.embedded_cluster import Cluster, cluster
from mooring.testing.embedded_waiting import Condition, Event
from mooring.testing.fake_scheduler import FakeKubeScheduler, FilterReply, Refused

__all__ = [
    "Cluster",
    "Condition",
    "Event",
    "FakeKubeScheduler",
    "FilterReply",
    "Refused",
    "cluster",
    "make_node",
    "make_pod",
]
