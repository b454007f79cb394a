"""What every cluster has from the beginning. `server` and the simulator create it."""

from typing import Final

from mooring.embedded.api import Api
from mooring.embedded.resources import NAMESPACES, PRIORITY_CLASSES

_BUILT_IN: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


def create_built_in_objects(api: Api) -> None:
    """Create namespaces and priority classes."""
    for name in _BUILT_IN:
        api.create(
            NAMESPACES, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}
        )
    for name, value, what in (
        ("system-cluster-critical", 2_000_000_000, "cluster"),
        ("system-node-critical", 2_000_001_000, "node"),
    ):
        api.restore(
            PRIORITY_CLASSES,
            {
                "kind": "PriorityClass",
                "apiVersion": "scheduling.k8s.io/v1",
                "metadata": {"name": name},
                "value": value,
                "description": f"For pods without which the {what} does not work.",
                "preemptionPolicy": "PreemptLowerPriority",
            },
        )
