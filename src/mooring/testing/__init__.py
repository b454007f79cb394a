"""For people who test their policies: builders, a fake kube-scheduler, real control planes.

`make_pod` and `make_node` build objects, `FakeKubeScheduler` drives a policy in process through
every verb. `mooring.testing.kube` starts the real etcd, kube-apiserver and kube-scheduler.
"""

from mooring.testing.builders import make_node, make_pod
from mooring.testing.fake_scheduler import FakeKubeScheduler, FilterReply, Refused

__all__ = ["FakeKubeScheduler", "FilterReply", "Refused", "make_node", "make_pod"]
