"""A cluster that is prepared once and then copied, so that every run begins with the same data.

Called by `__main__`. A prepared cluster is the folder of a stopped etcd. Most pods that are there
at the start are created with their node already given, in turn over the nodes; the last ones are
left to the scheduler that is measured.
"""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from benchmarks.command import BenchError
from benchmarks.scheduler import kinds
from benchmarks.scheduler.clients import Chain, Clients, Request, create_pod, post
from benchmarks.scheduler.task import Task
from mooring.testing.real_kubernetes import ControlPlane


class Prepared:
    """A stopped cluster with the nodes of a task and most of the pods that are there at the start.

    Args:
        task: the workload on so many nodes.
        folder: has the data.
    """

    def __init__(self, task: Task, folder: Path) -> None:
        self.task = task
        self._folder = folder

    @contextmanager
    def running(self) -> Iterator[ControlPlane]:
        """A control plane on a copy of the data, checked to be whole."""
        with TemporaryDirectory(prefix="mooring-bench-") as name:
            folder = Path(name)
            shutil.copytree(self._folder / "etcd", folder / "etcd")
            with ControlPlane(folder) as plane:
                self._verify(plane)
                yield plane

    def _verify(self, plane: ControlPlane) -> None:
        nodes = self.task.nodes + self.task.workload.daemon
        for kind, wanted in (("nodes", nodes), ("pods", self.task.placed + self.task.waiting)):
            there = _count(plane, kind)
            if there != wanted:
                raise BenchError(f"the copied cluster has {there} {kind}, not {wanted}.")


def _count(plane: ControlPlane, plural: str) -> int:
    page = plane.request("GET", f"/api/v1/{plural}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


@contextmanager
def prepared(task: Task) -> Iterator[Prepared]:
    """Prepare a cluster; its folder is removed at the end."""
    with TemporaryDirectory(prefix="mooring-bench-") as name:
        folder = Path(name)
        with ControlPlane(folder) as plane:
            for namespace in task.namespaces():
                plane.create(
                    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
                )
            plane.create(kinds.PRIORITY_CLASS)
            nodes = [post("/api/v1/nodes", node) for node in task.node_manifests()]
            others = [post(path, thing) for path, thing in task.others()]
            waiting = [(create_pod(pod),) for pod in task.waiting_pods()]
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_create(plane, [*nodes, *others], [*task.placed_chains(), *waiting]))
        yield Prepared(task, folder)


async def _create(plane: ControlPlane, others: list[Request], pods: list[Chain]) -> None:
    async with Clients(plane) as clients:
        await clients.send_all(others)
        await clients.send_chains(pods)
