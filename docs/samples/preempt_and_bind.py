from collections.abc import Sequence

import mooring as mr

policy = mr.Policy("careful")


@policy.preempt
def spare_batch(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> str | None:
    if any(victim.labels.get("checkpoint") == "never" for victim in victims):
        return "a victim cannot be resumed"  # the node is dropped
    return None


@policy.bind
def remember_load(binding: mr.Binding) -> mr.Binding | str:
    if binding.node is None:
        return "node is not known yet"  # rejected; kube-scheduler tries again
    return binding.annotate({"example.com/pods-before": str(len(binding.node.pods))})
