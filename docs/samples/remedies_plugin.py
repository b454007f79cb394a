from collections.abc import Iterator

from msgspec.structs import replace

import mooring as mr
from mooring import hook

RESTARTING = "example.com/restarting"
RESTARTABLE = "example.com/restartable"


class Restarts(hook.Filter, hook.Remedies):
    """Keeps pods off nodes that are about to restart, unless they can bear it."""

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool | str:
        bears_it = pod.labels.get(RESTARTABLE) == "true"
        return bears_it or RESTARTING not in node.labels or "node(s) were about to restart"

    def remedies(self, case: hook.RemedyCase) -> Iterator[hook.Remedy]:
        labels = {**case.pod.labels, RESTARTABLE: "true"}
        yield hook.Remedy(
            f"label the pod with {RESTARTABLE}=true",
            hook.Cost.GIVE_UP_CONDITION,
            pod=replace(case.pod, metadata=replace(case.pod.metadata, labels=labels)),
        )
        yield hook.Remedy.label_node(case.node, {RESTARTING: None})


policy = mr.Policy("restarts")
policy.add(Restarts())
