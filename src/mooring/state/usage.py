"""What is in use on one node, as policies read it: ``node.used``, ``node.free``, ``node.pods``.

Kept by `Cluster` beside the columns, because a function that is asked for one node after the other
reads a dict faster than an array.
"""

from mooring.model.pod import Pod
from mooring.model.resources import PODS, Resources


class NodeUsage:
    """What is in use on one node; kept even while the node itself is not known yet."""

    __slots__ = ("_by_key", "_pods", "used", "version")

    def __init__(self) -> None:
        self._by_key: dict[str, Pod] = {}
        self._pods: tuple[Pod, ...] | None = ()
        #: The sum of the pods' requests; ``pods`` is their number.
        self.used = Resources()
        #: Another number after every change.
        self.version = 0

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods on the node, in the order they came."""
        if self._pods is None:
            self._pods = tuple(self._by_key.values())
        return self._pods

    def add(self, pod: Pod) -> None:
        """Count a pod."""
        self._by_key[pod.key] = pod
        self._count(pod, 1)

    def remove(self, key: str) -> Pod:
        """Count a pod no more; returns it."""
        pod = self._by_key.pop(key)
        self._count(pod, -1)
        return pod

    def _count(self, pod: Pod, sign: int) -> None:
        self._pods = None
        self.version += 1
        used = self.used
        for name, amount in (*pod.requests.items(), (PODS, 1)):
            total = used[name] + sign * amount
            if total:
                used[name] = total
            else:  # names that nobody uses any more are not kept
                used.pop(name, None)

    def __bool__(self) -> bool:
        return bool(self._by_key)
