"""Whether pods are where their rules allow them: a fast scheduler that is wrong does not count.

Called by `__main__` after each run, with all pods of the cluster. Looks at what the workloads are
about: room on nodes, pods that keep apart, zones that stay even, pods that need one node.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from benchmarks.scheduler import kinds
from benchmarks.scheduler.kinds import Object
from benchmarks.scheduler.task import Task
from mooring.model.quantity import parse_quantity

#: The CPU of a node.
NODE_CPU_MILLI = 4000
_MAX_SKEW = 5


def broken_rules(task: Task, pods: Iterable[Object]) -> list[str]:
    """What is wrong with where the pods of a task are, one clause each."""
    bound = [pod for pod in pods if pod["spec"].get("nodeName")]
    return list(_broken(task, bound, task.zones))


def _broken(task: Task, pods: list[Object], zones: Mapping[str, str]) -> Iterator[str]:
    cpu: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    even = Counter(dict.fromkeys(task.workload.zones, 0))
    for pod in pods:
        node = pod["spec"]["nodeName"]
        if node not in zones:
            yield f"a pod is on {node}, which is no node"
            return
        cpu[node] += cpu_milli(pod)
        if _is(pod, kinds.ANTI_AFFINITY):
            apart[node] += 1
        if task.workload.pods is kinds.SPREAD and _is(pod, kinds.SPREAD):
            even[zones[node]] += 1
        if _is(pod, kinds.DAEMON) and node != kinds.DAEMON_NODE:
            yield f"a pod is on {node} that needs {kinds.DAEMON_NODE}"
    if max(cpu.values(), default=0) > NODE_CPU_MILLI:
        yield "a node has more pods than it has CPU for"
    if max(apart.values(), default=0) > 1:
        yield "pods that keep apart share a node"
    if even and max(even.values()) - min(even.values()) > _MAX_SKEW:
        yield f"zones are uneven: {dict(even)}"


def cpu_milli(pod: Object) -> int:
    """The CPU that a pod requests."""
    amounts = pod["spec"]["containers"][0].get("resources", {}).get("requests", {})
    return parse_quantity(amounts.get("cpu", "0")).milli


def _is(pod: Object, kind: kinds.PodKind) -> bool:
    name: str = pod["metadata"]["name"]
    return name.startswith(kind.prefix)
