"""The two schedulers as programs, with what the scenarios need to know about them.

Both run as kube-scheduler's own user and under its name, with the same configuration: limits of the
client lifted, everything else at its default. They take turns; never do both run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING, Scheduler
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler

SCHEDULERS: Final = (KUBE_SCHEDULER, MOORING)


def make(
    plane: ControlPlane, name: str, *, elect: bool = False, kubeconfig: Path | None = None
) -> Scheduler:
    """One of the schedulers, not started yet.

    Args:
        plane: the cluster.
        name: which one.
        elect: with leader election and its default times.
        kubeconfig: another way to the API server, such as through a proxy.
    """
    connection: dict[str, Any] = {"qps": 5000, "burst": 5000}
    if kubeconfig is not None:
        connection["kubeconfig"] = str(kubeconfig)
    config: Mapping[str, Any] = {
        "clientConnection": connection,
        "leaderElection": {"leaderElect": elect},
    }
    if name == KUBE_SCHEDULER:
        return KubeScheduler(plane, config, v=0)
    return MoorRun(plane, config, kubeconfig=kubeconfig)
