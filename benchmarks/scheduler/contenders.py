"""The two schedulers, each as a program that starts, becomes ready and stops; called by `__main__`.

Both run as kube-scheduler's own user and under its name, with the same configuration: limits of
the client lifted as in scheduler_perf, no leader election, everything else at its default.
"""

from collections.abc import Callable
from typing import Any

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler

KUBE_SCHEDULER = "kube-scheduler"
MOORING = "mooring"

#: A scheduler under test.
Scheduler = KubeScheduler | MoorRun

_CONFIGURATION: dict[str, Any] = {"clientConnection": {"qps": 5000, "burst": 5000}}


def _kube_scheduler(plane: ControlPlane) -> Scheduler:
    return KubeScheduler(plane, _CONFIGURATION, v=0)


def _mooring(plane: ControlPlane) -> Scheduler:
    return MoorRun(plane, _CONFIGURATION)


#: How to make each scheduler for a control plane that runs, in the order in which they take turns.
SCHEDULERS: dict[str, Callable[[ControlPlane], Scheduler]] = {
    KUBE_SCHEDULER: _kube_scheduler,
    MOORING: _mooring,
}
