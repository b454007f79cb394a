"""Whatever becomes of answers to bindings: each pod is bound once, and no node gets too many."""

import asyncio
import ssl
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import uvloop
from msgspec.structs import replace

from mooring.live.run import scheduling
from mooring.testing import make_node, make_pod
from tests.unit.kube.certificates import Authority
from tests.unit.live.fake_cluster import FakeCluster, fake_cluster
from tests.unit.live.hostile_wire import LEGAL, LOST, MORE, UNHEARD, HostileWire
from tests.unit.live.running_scheduler import eventually, make_settings

NODES = 8
ROOM = 4


#: The shortest pauses that there are.
CONFIG = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}


async def schedule(cluster: FakeCluster, wire: HostileWire) -> HostileWire:
    """Schedule as many pods as fit through a hostile wire, and compare the states."""
    for number in range(NODES):
        cluster.put_node(make_node(f"n{number}", cpu=str(ROOM)))
    names = [f"p{number}" for number in range(NODES * ROOM)]
    for name in names:
        cluster.put_pod(make_pod(name, requests={"cpu": 1}))
    async with wire.open():
        settings = replace(make_settings(cluster, CONFIG), cluster=wire.config)
        async with scheduling(settings) as components:
            await cluster.until(lambda: len(cluster.bindings) >= len(names))
            core = components.live.core
            await eventually(lambda: not core.binding and not core.cluster.assumed)
            known = {one.name: one.node_name for one in core.cluster.all_pods()}
    assert sorted(name for name, _ in cluster.bindings) == sorted(names)
    assert set(Counter(node for _, node in cluster.bindings).values()) == {ROOM}
    assert known == dict(cluster.bindings)
    return wire


@pytest.mark.parametrize(
    ("faults", "likely"),
    [
        (LEGAL, 0.9),
        (UNHEARD, 0.3),
        (LOST, 0.9),
        (MORE, 0.9),
        ((*LEGAL, *UNHEARD, *LOST, *MORE), 0.8),
    ],
    ids=["legal", "unheard", "lost", "more", "all"],
)
@pytest.mark.parametrize("secure", [False, True])
def test_each_pod_is_bound_once_whatever_becomes_of_the_answers(
    faults: Sequence[str], likely: float, tmp_path: Path, *, secure: bool
) -> None:
    tls = server_tls(tmp_path) if secure else None

    async def run() -> HostileWire:
        async with fake_cluster() as cluster:
            return await schedule(cluster, HostileWire(cluster.port, 1, likely, faults, tls))

    # `moor run` runs on uvloop, a scheduler that is a part of its process perhaps on asyncio.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if secure else None) as runner:
        wire = runner.run(run())
    assert sum(wire.happened.values()) > wire.happened["usual"]


def server_tls(folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """A server's context, and who signed its certificate."""
    authority = Authority()
    pair = authority.issue("server")
    (folder / "server.crt").write_bytes(pair.certificate)
    (folder / "server.key").write_bytes(pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    return context, authority.pem
