"""Names that tenants invent cost nothing for long: memory does not grow with them.

Pods come in waves, each pod with names that nobody has used before, are tried and deleted. With
limits so low that the first waves reach them, nothing may grow any more after that. What counts is
the memory that Python and numpy hold, not the process, so the numbers do not depend on the machine;
`make bench-memory` measures the process.
"""

import gc
import tracemalloc
from collections.abc import Iterator

import pytest

from benchmarks.memory.tenants import LARGER, TENANTS, Tenant, pod_of
from mooring import Pod
from mooring.state.memory_bounds import MemoryBounds
from mooring.testing import make_node
from tests.unit.scheduler.world import World

NODES = 2000
#: An array over all nodes has at least so many bytes; most have eight times as many.
ARRAY_BYTES = NODES
NAMES = 40
LOW = MemoryBounds(results=8, kinds=4, classes=4, templates=4, selectors=4, empty=8)


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def wave(world: World, tenant: Tenant, number: int) -> None:
    """So many pods come, are tried, and go."""
    pods = [
        Pod.from_dict(pod_of(tenant, place))
        for place in range(1000 + number * NAMES, 1000 + (number + 1) * NAMES)
    ]
    world.put(*pods)
    world.run()
    for pod in pods:
        world.delete(world.pods[pod.key])
    world.events.clear()
    world.binds.clear()
    world.conditions.clear()


def held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("tenant", [*TENANTS, *LARGER], ids=lambda one: one.name)
def test_memory_does_not_grow_with_names(tenant: Tenant) -> None:
    nodes = [make_node(f"node-{number}", labels={"zone": "z"}) for number in range(NODES)]
    world = World(*nodes, bounds=LOW)
    for number in range(2):
        wave(world, tenant, number)
    before = held()
    for number in range(2, 5):
        wave(world, tenant, number)
    assert held() - before < 3 * NAMES * ARRAY_BYTES / 2
