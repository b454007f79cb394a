"""A plugin that is slow, but within its limit, does not keep the network from its turns."""

import asyncio
import time
from itertools import pairwise

import mooring as mr
from mooring.live.options import RunOptions, read_settings
from mooring.live.run import scheduling
from mooring.testing import cluster, make_node

PODS = 4
#: So many turns of the event loop one request needs, about.
TURNS = 12


def test_the_network_has_its_turns_between_slow_decisions() -> None:
    policy = mr.Policy("slow")
    turns = 0
    seen: list[int] = []

    @policy.filter
    def slow(pod: mr.Pod, node: mr.Node) -> bool:
        seen.append(turns)
        time.sleep(0.06)
        return True

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main() -> None:
        counting = asyncio.create_task(others())
        options = RunOptions(policy=policy, kubeconfig=made.kubeconfig, leader_elect=False)
        async with scheduling(read_settings(options)):
            await asyncio.to_thread(made.wait_placements, PODS)
        counting.cancel()

    with cluster([make_node("a", cpu="100")], scheduler=False) as made:
        for number in range(PODS):
            made.create_pod(f"pod-{number}")
        asyncio.run(main())
    assert len(seen) == PODS
    assert min(later - before for before, later in pairwise(seen)) > TURNS
