"""Whether devices are where they may be used, and nobody has what another has.

Called by `__main__` after each run in which pods need devices, with all pods and all claims.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from benchmarks.scheduler.devices import POOL
from benchmarks.scheduler.kinds import Object
from mooring.model.quantity import parse_quantity

#: The memory of a device that can be shared, and the counters of one that has partitions.
_MEMORY = parse_quantity("80Gi").value
_COUNTERS = 4
#: What the partitions take, by the beginning of their name.
_TAKEN = {"device-2": 2, "device-1": 1}


def broken_claims(pods: Iterable[Object], claims: Iterable[Object]) -> list[str]:
    """What is wrong with the devices of claims, one clause each."""
    return list(_broken(list(pods), list(claims)))


def _broken(pods: list[Object], claims: list[Object]) -> Iterator[str]:
    used: Counter[tuple[str, str]] = Counter()
    memory: Counter[tuple[str, str]] = Counter()
    counters: Counter[str] = Counter()
    users: defaultdict[str, set[str]] = defaultdict(set)
    for claim in claims:
        status = claim.get("status", {})
        found = status.get("allocation", {}).get("devices", {}).get("results", ())
        for result in found:
            device = (result["pool"], result["device"])
            if "shareID" in result:
                memory[device] += parse_quantity(result["consumedCapacity"]["memory"]).value
                continue
            used[device] += 1
            if result["pool"].startswith(POOL):
                counters[result["pool"]] += _TAKEN[result["device"][: len("device-0")]]
        nodes = {one["pool"] for one in found if not one["pool"].startswith(POOL)}
        for user in status.get("reservedFor", ()):
            users[user["uid"]] |= nodes or {""}
    if max(used.values(), default=0) > 1:
        yield "two claims have the same device"
    if max(memory.values(), default=0) > _MEMORY:
        yield "more of a device's memory is in use than it has"
    if max(counters.values(), default=0) > _COUNTERS:
        yield "partitions take more than there is of a counter"
    for pod in pods:
        node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
        if not node or pod["metadata"]["namespace"] != "test" or not _needs_claim(pod):
            continue
        if uid not in users:
            yield f"{pod['metadata']['name']} was bound and has no claim reserved for it"
            return
        if users[uid] - {"", node}:
            yield f"{pod['metadata']['name']} has devices of another node"
            return


def _needs_claim(pod: Object) -> bool:
    return bool(
        pod["spec"].get("resourceClaims")
        or pod.get("status", {}).get("extendedResourceClaimStatus")
    )
