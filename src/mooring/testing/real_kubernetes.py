"""A real Kubernetes control plane for tests and benchmarks: etcd, kube-apiserver, kube-scheduler.

For end-to-end tests, benchmarks and people who test their own policies; needs the binaries that
`make kube` gets and the `mooring[testing]` extra. Everything is blocking, listens on 127.0.0.1
only and is gone after `stop()`:

    with ControlPlane() as plane, KubeScheduler(plane) as scheduler:
        plane.create_node("a", cpu="4")

Only names what its neighbours define; never imported by mooring itself.
"""

from mooring.testing.base_control_plane import BaseControlPlane, NodeOptions, node
from mooring.testing.binaries import Binaries, MissingBinaries, find_binaries
from mooring.testing.child_process import ProcessError, WaitError, free_port, wait_for
from mooring.testing.control_plane import ControlPlane
from mooring.testing.kube_scheduler import KubeScheduler

__all__ = [
    "BaseControlPlane",
    "Binaries",
    "ControlPlane",
    "KubeScheduler",
    "MissingBinaries",
    "NodeOptions",
    "ProcessError",
    "WaitError",
    "find_binaries",
    "free_port",
    "node",
    "wait_for",
]
