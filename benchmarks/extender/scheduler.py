"""Part `scheduler`: pods bound a second by the real kube-scheduler, with either extender.

Called by `__main__`. One control plane; the nodes stay, and each set-up gets a fresh extender, a
fresh kube-scheduler with its own scheduler name and the same pods. The pods exist before the
scheduler starts, so that creating them costs nothing while binds are counted.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from benchmarks.extender import nodes, pods
from benchmarks.extender.binds import BindWatch
from benchmarks.extender.wire import go_server, mooring_server
from benchmarks.process import Server, cpu_ms
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler

_GO_VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize"}
_MOORING_VERBS = {"filterVerb": "predicates/ssd", "prioritizeVerb": "priorities/by_name"}
#: The set-ups the goals compare, by the labels of their results.
GO_WHOLE = "Go extender, whole nodes"
MOORING_WHOLE = "mooring, whole nodes"
MOORING_CACHE = "mooring, node cache"
NO_EXTENDER = "no extender"


@dataclass(frozen=True, slots=True)
class Setup:
    """One way to schedule the pods, and how many of them."""

    label: str
    n_pods: int
    warm_ups: int
    server: Server | None
    verbs: Mapping[str, str]
    node_cache: bool = False

    @property
    def name(self) -> str:
        """The name of its scheduler."""
        return "bench-" + self.label.lower().replace(",", "").replace(" ", "-")


class SchedulerResult(msgspec.Struct):
    """One set-up on one size of cluster. CPU is per pod; an absent extender has none."""

    setup: str
    nodes: int
    pods: int
    pods_per_second: float
    scheduler_cpu_ms: float
    extender_cpu_ms: float | None
    extender_peak_memory_mb: float | None


def measure(program: Path, *, quick: bool, say: Callable[[str], None]) -> list[SchedulerResult]:
    """Measure all set-ups; `say` is told what is going on."""
    results = []
    with TemporaryDirectory(prefix="mooring-bench-") as folder, ControlPlane(Path(folder)) as plane:
        manifests = [_manifest(node) for node in nodes.nodes(5000)]
        there = 0
        for count in (1000, 5000):
            say(f"scheduler: creating nodes up to {count:,}")
            plane.create_many(manifests[there:count])
            there = count
            for setup in _setups(program, plane, count, quick=quick):
                say(f"scheduler: {count:,} nodes, {setup.label}")
                results.append(_run(plane, setup, count))
    return results


def _setups(program: Path, plane: ControlPlane, count: int, *, quick: bool) -> Iterator[Setup]:
    slow = (10 if quick else 30) if count > 1000 else (20 if quick else 60)
    fast = 150 if quick else 600
    whole = mooring_server("policy.py", "--no-node-cache")
    cached = mooring_server("policy.py", "--node-cache", "--kubeconfig", str(plane.kubeconfig))
    yield Setup(GO_WHOLE, slow, 3, go_server(program), _GO_VERBS)
    yield Setup(MOORING_WHOLE, slow, 3, whole, _MOORING_VERBS)
    yield Setup(MOORING_CACHE, fast, 30, cached, _MOORING_VERBS, node_cache=True)
    yield Setup(NO_EXTENDER, fast, 30, None, {})


def _manifest(node: nodes.Object) -> nodes.Object:
    """A node as it is created: the API server fills in what it owns, such as managed fields."""
    metadata = {key: node["metadata"][key] for key in ("name", "labels", "annotations")}
    return {"apiVersion": "v1", "kind": "Node", **node, "metadata": metadata}


def _pod(number: int, scheduler: str) -> nodes.Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pods.pod_name(number),
            "namespace": "default",
            "labels": pods.pod_labels(),
        },
        "spec": pods.pod_spec(scheduler),
    }


def _configuration(setup: Setup) -> dict[str, Any]:
    configuration: dict[str, Any] = {
        "clientConnection": {"qps": 5000, "burst": 5000},
        # Every node that fits goes to the extender.
        "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": setup.name}],
    }
    if setup.server is not None:
        extender = {
            "urlPrefix": f"http://127.0.0.1:{setup.server.port}",
            **setup.verbs,
            "weight": 1,
            "httpTimeout": "60s",
            "nodeCacheCapable": setup.node_cache,
        }
        configuration["extenders"] = [extender]
    return configuration


def _run(plane: ControlPlane, setup: Setup, count: int) -> SchedulerResult:
    plane.create_many([_pod(number, setup.name) for number in range(setup.n_pods)])
    try:
        with ExitStack() as stack:
            if setup.server is not None:
                stack.enter_context(setup.server)
            binds = stack.enter_context(BindWatch(plane, setup.name)).times()
            scheduler = stack.enter_context(KubeScheduler(plane, _configuration(setup)))
            start = [next(binds) for _ in range(setup.warm_ups)][-1]
            before = _cpu(scheduler, setup.server)
            measured = setup.n_pods - setup.warm_ups
            end = [next(binds) for _ in range(measured)][-1]
            used = [
                None if after is None or first is None else (after - first) / measured
                for after, first in zip(_cpu(scheduler, setup.server), before, strict=True)
            ]
            memory = setup.server.peak_memory_mb() if setup.server is not None else None
    finally:
        plane.delete_all("Pod")
    return SchedulerResult(
        setup=setup.label,
        nodes=count,
        pods=measured,
        pods_per_second=measured / (end - start),
        scheduler_cpu_ms=used[0] or 0.0,
        extender_cpu_ms=used[1],
        extender_peak_memory_mb=memory,
    )


def _cpu(scheduler: KubeScheduler, server: Server | None) -> tuple[float, float | None]:
    return cpu_ms(scheduler.pid), None if server is None else server.cpu_ms()
