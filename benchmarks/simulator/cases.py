"""What is simulated; called by `__main__` in a process of its own for each case.

`churn`: plain pods that arrive at random, run for five minutes on average and go. `mix`: the pods
of bench-core's workload of that name, which arrive and stay.
"""

import gc
import random
import resource
import time
from functools import partial

import msgspec

from benchmarks.core.objects import app_image
from benchmarks.core.workloads import WORKLOADS
from mooring.embedded.resources import NAMESPACES
from mooring.model.pod import Pod
from mooring.seeds import seeded_streams
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.result import to_json
from mooring.simulator.scheduler_setup import set_up_scheduler

_SEED = 7
#: So many pods arrive in a second for each node: they use a quarter of the cores.
_RATE = 0.03
_MEAN_SECONDS = 300.0
_IMAGES = 50


class Case(msgspec.Struct, frozen=True):
    """What is simulated."""

    workload: str
    nodes: int
    pods: int


class Measured(msgspec.Struct, frozen=True):
    """What it cost.

    Attributes:
        setup_seconds: CPU time until virtual time begins: nodes through the API.
        seconds: CPU time of the simulation and its result, without that.
        virtual_seconds: how long it was in virtual time.
        memory_mb: the largest resident memory.
        placed: how many pods were placed.
        decisions: how many decisions were made.
        digest_bytes: the size of the result as JSON.
    """

    case: Case
    setup_seconds: float
    seconds: float
    virtual_seconds: float
    memory_mb: float
    placed: int
    decisions: int
    digest_bytes: int

    @property
    def microseconds(self) -> float:
        """CPU time of one pod, from its arrival to its end."""
        return self.seconds / self.case.pods * 1e6


def measure(case: Case) -> Measured:
    """Run one case."""
    start = time.process_time()
    simulation = Simulation(set_up_scheduler(), seeded_streams(_SEED))
    workload = WORKLOADS["plain" if case.workload == "churn" else case.workload]
    for thing in workload.others():
        name = {"name": thing.name}
        obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": name}
        simulation.cluster.api.create(NAMESPACES, obj)
    for number in range(case.nodes):
        node = msgspec.json.decode(workload.node(number))
        simulation.add_node({"apiVersion": "v1", "kind": "Node", **node})
    _arrivals(simulation, case)
    simulation.run(0.0)
    gc.collect()
    ready = time.process_time()
    simulation.run()
    result = simulation.result()
    size = len(to_json(result))
    done = time.process_time()
    return Measured(
        case=case,
        setup_seconds=ready - start,
        seconds=done - ready,
        virtual_seconds=result.end,
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        placed=result.placed,
        decisions=result.decisions,
        digest_bytes=size,
    )


def _arrivals(simulation: Simulation, case: Case) -> None:
    numbers = random.Random(_SEED)
    churn = case.workload == "churn"
    kinds = WORKLOADS["plain" if churn else case.workload].kinds
    group_size = max(1, case.nodes // 5)
    templates: dict[tuple[str, int, str], Pod] = {}

    def arrive(number: int) -> None:
        among_kind, place = divmod(number, len(kinds))
        kind = kinds[place]
        group = among_kind // group_size
        key = (kind.name, group, app_image(among_kind) if kind.name == "images" else "")
        template = templates.get(key)
        if template is None:
            body = kind.pod(among_kind, group)
            template = templates[key] = Pod.from_json(body, keep_source=False)
        uid = simulation.cluster.ids.new_id()
        duration = numbers.expovariate(1 / _MEAN_SECONDS) if churn else None
        simulation.pods.light.create(
            template, f"{kind.name}-{among_kind}", uid, case.workload, duration
        )
        if number + 1 < case.pods:
            simulation.heap.after(
                numbers.expovariate(_RATE * case.nodes), partial(arrive, number + 1)
            )

    simulation.heap.at(0.001, partial(arrive, 0))
