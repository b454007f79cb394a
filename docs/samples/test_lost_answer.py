import asyncio

from mooring.errors import KubeError
from mooring.kube.client import Client
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.testing import Fault, FaultyProxy, Requests, cluster

BINDINGS = Requests(verb="create", resource="pods/binding")


async def place(client: Client, pod: str, nodes: list[str]) -> None:
    """A scheduler that takes no answer for a no, which is wrong."""
    for node in nodes:
        try:
            await client.bind("default", pod, None, node)
        except KubeError:
            continue
        return


def test_an_answer_that_got_lost_was_a_yes() -> None:
    with cluster(nodes=2, scheduler=False) as c, FaultyProxy(seed=7) as proxy:
        kubeconfig = proxy.through(c.kubeconfig, client="mine")
        proxy.set(Fault.cut(lost=True, on=BINDINGS, times=1))
        c.create_pod("web")

        async def run() -> None:
            async with Client(load_kubeconfig(kubeconfig)) as client:
                await place(client, "web", ["node-1", "node-2"])

        asyncio.run(run())
        assert c.placements() == {"web": "node-1"}  # not where it thinks
        assert proxy.counts == {"cut": 1}
