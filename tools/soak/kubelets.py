"""Fake kubelets and the pod garbage collector: pods run, end, are rejected where there is no room.

One thread for all nodes. It trusts nobody: a pod that does not fit on its node is failed as a
kubelet does it (OutOfcpu), and remembered, because a scheduler must not let that happen unless the
node has just been made smaller.
"""

import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from mooring.errors import MooringError
from tools.soak.api import Admin
from tools.soak.history import History
from tools.soak.objects import Node, Pod
from tools.soak.quantities import Amounts

_PAUSE_SECONDS: Final = 0.25
_THREADS: Final = 4
#: A pod whose node is gone is collected after this time.
_ORPHAN_SECONDS: Final = 2.0
#: What a scheduler may not have heard of yet.
_NEWS_SECONDS: Final = 15.0


class Kubelets:
    """Runs the pods of all nodes.

    Args:
        admin: writes statuses.
        history: knows pods and nodes.

    Attributes:
        overcommitted: sentences about pods that had no room on a node that was not made smaller.
        rejected: how many pods had no room on a node that was.
        idle: whether there was nothing to do when it last looked.
    """

    def __init__(self, admin: Admin, history: History) -> None:
        self.overcommitted: list[str] = []
        self.rejected = 0
        self.idle = False
        self._admin = admin
        self._history = history
        self._shrunk: dict[str, float] = {}
        self._orphans: dict[str, float] = {}
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._ended.set()
        self._thread.join()

    def shrinks(self, node: str) -> None:
        """A node is about to be made smaller, or to come again as another one."""
        with self._lock:
            self._shrunk[node] = time.monotonic()

    def _run(self) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            while not self._ended.wait(_PAUSE_SECONDS):
                try:
                    self._turn(pool)
                except MooringError:
                    continue  # the API server is away for long; the driver has to say so

    def _turn(self, pool: ThreadPoolExecutor) -> None:
        nodes = {node.name: node for node in self._history.nodes.all()}
        on: defaultdict[str, list[Pod]] = defaultdict(list)
        work = []
        for pod in self._history.pods.all():
            if not pod.node:
                continue
            if pod.node not in nodes:
                first = self._orphans.setdefault(pod.metadata.uid, time.monotonic())
                if time.monotonic() - first > _ORPHAN_SECONDS:
                    work.append((self._end, pod))
            elif pod.metadata.deletion_timestamp is not None:
                work.append((self._end, pod))
            elif not pod.finished:
                on[pod.node].append(pod)
        for name, pods in on.items():
            work += [(self._fail, pod) for pod in self._too_many(nodes[name], pods)]
            work += [(self._run_pod, pod) for pod in pods if pod.status.phase == "Pending"]
        done = [pool.submit(action, pod) for action, pod in work]
        for one in done:
            one.result()
        self.idle = not work

    def _too_many(self, node: Node, pods: list[Pod]) -> list[Pod]:
        """The pods that a kubelet does not admit, the latest first."""
        room, over = node.allocatable, []
        used = Amounts()
        for pod in sorted(pods, key=lambda pod: (pod.status.phase != "Running", pod.name)):
            used = used.plus(pod.requests)
            if not room.covers(used):
                over.append(pod)
                used = used.minus(pod.requests)
        return over

    def _fail(self, pod: Pod) -> None:
        with self._lock:
            shrunk = self._shrunk.get(pod.node, -1e9)
            if time.monotonic() - shrunk > _NEWS_SECONDS:
                self.overcommitted.append(f"pod {pod.name} had no room on node {pod.node}")
            self.rejected += 1
        status = {"phase": "Failed", "reason": "OutOfcpu"}
        self._patch(pod, status)

    def _run_pod(self, pod: Pod) -> None:
        self._patch(pod, {"phase": "Running"})

    def _end(self, pod: Pod) -> None:
        self._admin.delete_pod(pod.name, pod.metadata.uid)

    def _patch(self, pod: Pod, status: dict[str, str]) -> None:
        path = f"/api/v1/namespaces/default/pods/{pod.name}/status"
        self._admin.patch(path, {"metadata": {"uid": pod.metadata.uid}, "status": status})
