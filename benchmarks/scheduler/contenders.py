"""The schedulers, each as a program that starts, becomes ready and stops; called by `__main__`.

All run as kube-scheduler's own user and under its name. Unless said otherwise they have the same
configuration: limits of the client lifted as in scheduler_perf, no leader election, everything
else at its default.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler

KUBE_SCHEDULER = "kube-scheduler"
MOORING = "mooring"
#: kube-scheduler that scores all nodes, as mooring always does.
ALL_NODES = "kube-scheduler-100%"
#: Both with the limits that kube-scheduler's clients have by default.
KUBE_LIMITED = "kube-scheduler-50qps"
MOORING_LIMITED = "mooring-50qps"
#: mooring with the policy of the README, one Python function for each node.
POLICY = "mooring-policy"

#: A scheduler under test.
Scheduler = KubeScheduler | MoorRun
#: Makes a scheduler for a control plane that runs; it is not started yet.
Make = Callable[[ControlPlane], Scheduler]

_UNLIMITED: dict[str, Any] = {"clientConnection": {"qps": 5000, "burst": 5000}}
_DEFAULT_LIMITS: dict[str, Any] = {"clientConnection": {"qps": 50, "burst": 100}}
_POLICY_FILE = Path(__file__).resolve().parents[2] / "examples" / "06-fair-gpus" / "policy.py"


def _kube_scheduler(config: dict[str, Any], plane: ControlPlane) -> Scheduler:
    return KubeScheduler(plane, config, v=0)


def _mooring(config: dict[str, Any], plane: ControlPlane, policy: Path | None = None) -> Scheduler:
    # As installed: where bytecode is not written, the start would be that of a compiler.
    return MoorRun(plane, config, policy=policy, env={"PYTHONDONTWRITEBYTECODE": ""})


#: How to make each scheduler, in the order in which they take turns.
SCHEDULERS: dict[str, Make] = {
    KUBE_SCHEDULER: partial(_kube_scheduler, _UNLIMITED),
    MOORING: partial(_mooring, _UNLIMITED),
    ALL_NODES: partial(_kube_scheduler, {**_UNLIMITED, "percentageOfNodesToScore": 100}),
    POLICY: partial(_mooring, _UNLIMITED, policy=_POLICY_FILE),
    KUBE_LIMITED: partial(_kube_scheduler, _DEFAULT_LIMITS),
    MOORING_LIMITED: partial(_mooring, _DEFAULT_LIMITS),
}
_ELECTED = {**_UNLIMITED, "leaderElection": {"leaderElect": True}}
#: The same with leader election, for part `memory`.
REPLICAS: dict[str, Make] = {
    KUBE_SCHEDULER: partial(_kube_scheduler, _ELECTED),
    MOORING: partial(_mooring, _ELECTED),
}
