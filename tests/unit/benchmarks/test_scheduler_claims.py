"""The workloads of `make bench-scheduler` with devices are scheduler_perf's, and are checked."""

from typing import Any

import msgspec
import pytest

from benchmarks.core import devices as core_devices
from benchmarks.core.speed import Effort
from benchmarks.scheduler.claim_rules import broken_claims
from benchmarks.scheduler.claim_task import task_of
from benchmarks.scheduler.claim_workloads import CLAIM_WORKLOADS, QUICK_CLAIMS
from benchmarks.scheduler.clients import Chain, Reply, Request
from benchmarks.scheduler.goals import goals
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.plan import PARTS, plan
from benchmarks.scheduler.report import tables
from benchmarks.scheduler.results import Found, Result
from benchmarks.scheduler.run import Cpu, Run
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.ways import DRAIN, STEADY
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice

TEMPLATE = "SchedulingWithResourceClaimTemplate"
UID = "11111111-0000-4000-8000-000000000000"


def task(name: str) -> Task:
    workload = CLAIM_WORKLOADS[name]
    return task_of(workload, workload.nodes[0])


def sent(chain: Chain) -> list[tuple[str, str, Any]]:
    """What a chain sends: method, path and body of each request."""
    created = Reply(201, msgspec.json.encode({"metadata": {"uid": UID}}))
    found: list[tuple[str, str, Any]] = []
    for step in chain:
        request = step if isinstance(step, Request) else step([created] * len(found))
        head, _, body = request.content.partition(b"\r\n\r\n")
        method, path, _ = head.decode().split(" ", 2)
        found.append((method, path, msgspec.json.decode(body) if body else None))
    return found


def test_sizes_are_those_of_scheduler_perf() -> None:
    sizes = CLAIM_WORKLOADS[TEMPLATE].sizes
    assert [(nodes, one.init, one.pods, one.devices) for nodes, one in sizes.items()] == [
        (100, 1000, 1000, 20), (200, 1000, 1000, 10), (500, 2500, 2500, 10), (1000, 5000, 5000, 10)
    ]  # fmt: skip
    assert [one.official for one in sizes.values()] == [None, None, None, 0]
    full = CLAIM_WORKLOADS["SteadyStateFullResourceClaimTemplate"]
    assert [one.idle for one in full.sizes.values()] == [990, 1990, 4990, 9990]


@pytest.mark.parametrize("name", list(CLAIM_WORKLOADS))
def test_what_there_is_at_the_start_fits(name: str) -> None:
    prepared = task(name)
    manifests = [thing for _, thing in prepared.others()]
    slices = [ResourceSlice.from_dict(one) for one in manifests if one["kind"] == "ResourceSlice"]
    known = {
        (one.spec.pool.name, device.name) for one in slices for device in one.spec.devices or ()
    }
    claims, pods = [], []
    for chain in prepared.placed_chains():
        for method, path, body in sent(chain):
            if path.endswith("/resourceclaims"):
                claims.append(body)
            elif path.endswith("/status"):
                assert method == "PATCH"
                claims[-1]["status"] = body["status"]
            else:
                pods.append(body)
    found = [one["status"]["allocation"]["devices"]["results"] for one in claims]
    assert {(one["pool"], one["device"]) for results in found for one in results} <= known
    assert len(pods) == prepared.placed
    assert broken_claims([], claims) == []
    assert all(ResourceClaim.from_dict(one).status.allocation is not None for one in claims)


def test_a_claim_is_made_for_a_pod_as_its_controller_does() -> None:
    pod, claim, told = sent(next(iter(task(TEMPLATE).measured_chains())))
    assert pod[2]["spec"]["resourceClaims"] == [
        {"name": "resource", "resourceClaimTemplateName": "test-claim-template"}
    ]
    owner = claim[2]["metadata"]["ownerReferences"][0]
    assert (owner["uid"], owner["controller"]) == (UID, True)
    assert claim[2]["metadata"]["annotations"] == {
        "resource.kubernetes.io/pod-claim-name": "resource"
    }
    assert told[1] == "/api/v1/namespaces/test/pods/test-dra-00000/status"
    name = claim[2]["metadata"]["name"]
    assert told[2]["status"]["resourceClaimStatuses"] == [
        {"name": "resource", "resourceClaimName": name}
    ]


@pytest.mark.parametrize(
    ("name", "number", "writes"),
    [
        (TEMPLATE, 0, ["resourceclaims/test-dra-00000-resource",
                       "resourceclaims/test-dra-00000-resource/status"]),
        ("SchedulingWithResourceClaim", 5, ["resourceclaims/test-claim-1",
                                            "resourceclaims/test-claim-1/status"]),
        ("SchedulingWithResourceClaim", 6, ["resourceclaims/test-claim-1/status"]),
        ("ExtendedResource25Classes", 0, ["resourceclaims",
                                          "resourceclaims/test-dra-00000-resource",
                                          "resourceclaims/test-dra-00000-resource/status",
                                          "pods/test-dra-00000/status"]),
        ("SchedulingWithExtendedResource", 0, []),
    ],
)  # fmt: skip
def test_a_loop_makes_the_writes_of_a_scheduler(name: str, number: int, writes: list[str]) -> None:
    (bare,) = task(name).bare_pods([number])
    paths = [path.partition("/namespaces/test/")[2] for _, path, _ in sent(bare.bind)]
    pod = f"pods/test-dra-{number:05d}"
    assert paths == [*([f"{pod}/status"] if writes else []), *writes, f"{pod}/binding"]
    assert bare.remove == ()


def test_pods_that_are_replaced_take_their_claim_with_them() -> None:
    (bare,) = task("SteadyStateHalfResourceClaimTemplate").bare_pods([3])
    assert [(method, path.rpartition("/")[2]) for method, path, _ in sent(bare.remove)] == [
        ("DELETE", "test-dra-00003?gracePeriodSeconds=0"),
        ("PATCH", "status"),
        ("PATCH", "test-dra-00003-resource"),
        ("DELETE", "test-dra-00003-resource"),
    ]


def a_claim(*results: dict[str, Any], uid: str = UID) -> dict[str, Any]:
    users = [{"resource": "pods", "name": "one", "uid": uid}]
    return {"status": {"allocation": {"devices": {"results": list(results)}}, "reservedFor": users}}


def a_device(pool: str = "a", device: str = "instance-0", **fields: Any) -> dict[str, Any]:
    return {"pool": pool, "device": device, **fields}


def a_pod(node: str = "a") -> dict[str, Any]:
    metadata = {"name": "one", "namespace": "test", "uid": UID}
    return {"metadata": metadata, "spec": {"nodeName": node, "resourceClaims": [{}]}}


HALF: dict[str, Any] = {"shareID": "x", "consumedCapacity": {"memory": "40Gi"}}


@pytest.mark.parametrize(
    ("pods", "claims", "said"),
    [
        ([a_pod()], [a_claim(a_device())], []),
        ([a_pod()], [], ["one was bound and has no claim reserved for it"]),
        ([a_pod("b")], [a_claim(a_device())], ["one has devices of another node"]),
        ([], [a_claim(a_device()), a_claim(a_device())], ["two claims have the same device"]),
        ([], [a_claim(a_device(**HALF)), a_claim(a_device(**HALF))], []),
        ([], [a_claim(*[a_device(**HALF)] * 3)],
         ["more of a device's memory is in use than it has"]),
        ([], [a_claim(a_device("resourceslice-0", "device-2-counters-1"),
                      a_device("resourceslice-0", "device-2-counters-2"),
                      a_device("resourceslice-0", "device-1-counter-1"))],
         ["partitions take more than there is of a counter"]),
        ([a_pod("b")], [a_claim(a_device("resourceslice-0", "device-1-counter-1"))], []),
    ],
)  # fmt: skip
def test_devices_in_the_wrong_hands_are_noticed(
    pods: list[Any], claims: list[Any], said: list[str]
) -> None:
    assert broken_claims(pods, claims) == said


def test_claims_are_a_part_of_their_own() -> None:
    steps = plan(["claims"], [], [], [])
    assert {name for name, _ in steps} == set(CLAIM_WORKLOADS)
    assert {step.way for step in steps[TEMPLATE, 100]} == {DRAIN}
    steady = steps["SteadyStateHalfResourceClaimTemplate", 100]
    assert [(step.way, step.scheduler) for step in steady] == [
        (STEADY, "kube-scheduler"), (STEADY, "mooring")
    ]  # fmt: skip
    assert not {name for name, _ in plan(["drain"], [], [], [])} & set(CLAIM_WORKLOADS)
    assert set(plan(list(PARTS), [TEMPLATE], [500], [])) == {(TEMPLATE, 500)}
    assert plan(["claims"], ["Partitionable"], [5000], []) == {}
    assert set(QUICK_CLAIMS) < set(CLAIM_WORKLOADS)


def a_run(scheduler: str, rate: float, bound: int = 1000) -> Run:
    return Run(scheduler, bound, 1.0, rate, Cpu(1.0), 100.0)


def found(kube: float, mooring: float, bound: int = 1000) -> Found:
    runs = [a_run("kube-scheduler", kube), a_run("mooring", mooring, bound)]
    limit = Limit(TEMPLATE, 100, 500, 900, 500, 300)
    return Found([limit], [Result(TEMPLATE, 100, DRAIN, 1000, 1000, None, runs)])


@pytest.mark.parametrize(
    ("kube", "mooring", "bound", "measured", "met"),
    [
        (50, 260, 1000, "5.2 times, 0.52", True),
        (200, 360, 1000, "1.80 times, 0.72", True),
        (200, 340, 1000, "1.70 times, 0.68", False),
        (50, 400, 999, "not all pods were bound", False),
    ],
)
def test_goals_of_pods_with_claims(
    kube: float, mooring: float, bound: int, measured: str, met: bool
) -> None:
    (goal,) = goals(found(kube, mooring, bound))
    assert (goal.measured, goal.met) == (measured, met)


def test_pods_with_claims_have_a_table_of_their_own() -> None:
    made = tables(found(100, 400))
    assert list(made) == ["claims"]
    title, columns, (row,) = made["claims"]
    assert title.startswith("Pods with claims for devices")
    shown = dict(zip(columns, row, strict=True))
    assert shown["of a loop with the same writes"] == "0.20 / 0.80"
    assert (shown["way"], shown["in scheduler_perf"], shown["times"]) == (
        "drain",
        "the same",
        "4.0",
    )


@pytest.mark.parametrize("workload", list(core_devices.DEVICE_WORKLOADS))
def test_decisions_with_devices_are_measured(workload: str) -> None:
    kind = core_devices.DEVICE_WORKLOADS[workload]
    speed = core_devices.measure(kind, 20, Effort(0.0, 1))
    assert (speed.nodes, speed.workload) == (20, workload)
    assert speed.decisions >= 300
