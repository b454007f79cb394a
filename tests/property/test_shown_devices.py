"""``node.devices`` after any changes is what a cluster shows that sees it for the first time.

Whatever was read before, on whichever nodes, and in a fork too.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.state.cluster import Cluster
from mooring.testing import make_node

DRIVER = "gpu.example.com"
NODES = "ab"
#: Pools of both nodes, one that both see, and one of partitions.
POOLS = (*NODES, "net", "parts")
DEVICES = ("x", "y")
LIMITS = [{"name": "set", "counters": {"memory": {"value": "2"}}}]
USES = [{"counterSet": "set", "counters": {"memory": {"value": "1"}}}]


def slice_of(pool: str, generation: int, shareable: bool) -> ResourceSlice:
    device: dict[str, Any] = {"capacity": {"memory": {"value": "8"}}}
    if pool == "parts":
        device["consumesCounters"] = USES
    if shareable:
        device["allowMultipleAllocations"] = True
    return ResourceSlice.from_dict(
        {
            "metadata": {"name": pool},
            "spec": {
                "driver": DRIVER,
                "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
                **({"nodeName": pool} if pool in NODES else {"allNodes": True}),
                **({"sharedCounters": LIMITS} if pool == "parts" else {}),
                "devices": [{"name": one, **device} for one in DEVICES],
            },
        }
    )


def results(devices: list[tuple[str, str]], share: str) -> dict[str, Any]:
    one = {"shareID": share, "consumedCapacity": {"memory": share}} if share else {}
    return {
        "devices": {
            "results": [
                {"request": "r", "driver": DRIVER, "pool": pool, "device": device, **one}
                for pool, device in devices
            ]
        }
    }


def claim(
    name: str, devices: list[tuple[str, str]], share: str = "", pods: int = 0
) -> ResourceClaim:
    users = [{"resource": "pods", "name": f"p{index}", "uid": str(index)} for index in range(pods)]
    status = {"allocation": results(devices, share), "reservedFor": users} if devices else {}
    return ResourceClaim.from_dict({"metadata": {"name": name}, "status": status})


some_devices = st.lists(
    st.tuples(st.sampled_from(POOLS), st.sampled_from(DEVICES)), max_size=2, unique=True
)
names = st.sampled_from(("c", "d", "e"))
steps = st.one_of(
    st.builds(slice_of, st.sampled_from(POOLS), st.integers(1, 2), st.booleans()).map(
        lambda one: ("put", one)
    ),
    st.builds(claim, names, some_devices, st.sampled_from(("", "3", "8")), st.integers(0, 2)).map(
        lambda one: ("put", one)
    ),
    st.builds(lambda name: ("remove", claim(name, [])), names),
    st.builds(lambda pool: ("remove", slice_of(pool, 1, False)), st.sampled_from(POOLS)),
    st.builds(lambda name, devices: ("flying", (name, devices)), names, some_devices),
    st.builds(lambda node: ("read", node), st.sampled_from(NODES)),
    st.just(("fork", None)),
)


def shown(cluster: Cluster) -> dict[str, list[tuple[Any, ...]]]:
    return {
        node: [
            (str(one), one.free, one.shareable, dict(one.free_capacity), sorted(one.claims),
             sorted(one.pods))
            for one in cluster.nodes[node].devices
        ]
        for node in NODES
    }  # fmt: skip


def anew(cluster: Cluster) -> Cluster:
    made = Cluster()
    for node in NODES:
        made.put_node(make_node(node))
    for kind in (ResourceSlice, ResourceClaim):
        for one in cluster.catalog.all(kind).values():
            made.put(one)
    made.assume_cache.in_flight.update(cluster.assume_cache.in_flight)
    made.assume_cache.in_flight.changes += 1
    return made


@given(st.lists(steps, max_size=25))
@settings(max_examples=100, deadline=None)
def test_what_is_shown_is_what_there_is(given_: list[tuple[str, Any]]) -> None:
    clusters = [anew(Cluster())]
    for what, thing in given_:
        cluster = clusters[-1]
        if what == "put":
            cluster.put(thing)
        elif what == "remove":
            cluster.remove(thing)
        elif what == "read":
            assert cluster.nodes[thing].devices is not None
        elif what == "fork":
            clusters.append(cluster.fork())
        else:
            name, devices = thing
            place = (ResourceClaim, f"default/{name}")
            if devices:
                allocation = claim(name, devices).status.allocation
                assert isinstance(allocation, AllocationResult)
                cluster.assume_cache.in_flight[place] = allocation
            else:
                cluster.assume_cache.in_flight.pop(place, None)
    for cluster in clusters:
        assert shown(cluster) == shown(anew(cluster))
