import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest

from mooring.config.plugin_entry import describe_plugin, extension_points_of
from mooring.explaining.explainer import explain
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Filtering
from mooring.framework.hook import SKIP
from mooring.framework.plans.plan import Plan, WaitingEvent, Write
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdict
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.meta import KubeObject, OwnerReference
from mooring.model.pod import Pod
from mooring.plugins.devices import cel_selectors
from mooring.plugins.devices.claim_tracker import tracker_of
from mooring.plugins.devices.device_classes import ExtendedResourceCache
from mooring.plugins.devices.dynamic_resources import DynamicResources
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.scheduler.effects import CleanUp, Effect, ObjectWritten
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import (
    accepted,
    begin,
    cluster_of,
    filtered,
    made,
    normalized,
    pre_filtered,
    problems,
    scored,
)
from tests.unit.plugins.requeueing import plugin_on, requeues
from tests.unit.scheduler.world import World

DRIVER = "gpu.example.com"
NOW_NS = 1_800_000_000 * 10**9


def on(cluster: Cluster, **args: Any) -> DynamicResources:
    """The plugin of a scheduler that decides about a cluster."""
    runtime = Runtime(cluster, now_ns=lambda: NOW_NS)
    plugin = describe_plugin(DynamicResources).make(args, runtime, "args")
    assert isinstance(plugin, DynamicResources)
    return plugin


def published(node: str, *devices: str, **fields: Any) -> ResourceSlice:
    """The devices of a node."""
    return ResourceSlice.from_dict(
        {
            "metadata": {"name": f"slice-{node}"},
            "spec": {
                "driver": DRIVER,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "nodeName": node,
                "devices": [{"name": name, **fields} for name in devices],
            },
        }
    )


def claim(name: str, count: int = 1, **status: Any) -> ResourceClaim:
    exactly = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": count}
    return ResourceClaim.from_dict(
        {
            "metadata": {
                "name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "7"
            },
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
            "status": status,
        }
    )  # fmt: skip


def claiming(*names: str, **fields: Any) -> Pod:
    claims = [{"name": one, "resourceClaimName": one} for one in names]
    return make_pod(spec={"resourceClaims": claims}, **fields)


def allocated(device: str, pool: str = "a", **fields: Any) -> dict[str, Any]:
    """The status of a claim that has a device."""
    result = {"request": "gpu", "driver": DRIVER, "pool": pool, "device": device, **fields}
    return {"allocation": {"devices": {"results": [result]}}}


def slow_devices(**counts: int) -> Cluster:
    """Nodes with so many devices, a claim, and a class whose selector has to be asked."""
    selectors = [{"cel": {"expression": "device.driver != ''"}}]
    slow = {"metadata": {"name": DRIVER}, "spec": {"selectors": selectors}}
    return cluster_of(
        *map(make_node, counts), DeviceClass.from_dict(slow), claim("mine"),
        *(published(one, *(f"d-{number}" for number in range(n))) for one, n in counts.items()),
    )  # fmt: skip


def slowly(cluster: Cluster, **args: Any) -> DynamicResources:
    """The plugin where every look at the clock takes two seconds."""
    clock = iter(range(NOW_NS, NOW_NS + 10**15, 2 * 10**9))
    runtime = Runtime(cluster, now_ns=lambda: next(clock))
    plugin = describe_plugin(DynamicResources).make(args, runtime, "args")
    assert isinstance(plugin, DynamicResources)
    return plugin


ALL = {"apiVersion": "resource.k8s.io/v1"}
CLUSTER = cluster_of(make_node("a"), make_node("b"))


def devices() -> Cluster:
    """Two nodes with two devices each, and one without."""
    return cluster_of(
        make_node("a"), make_node("b"), make_node("bare"), device_class(DRIVER),
        published("a", "a-0", "a-1"), published("b", "b-0", "b-1"),
    )  # fmt: skip


def decided(plugin: DynamicResources, cluster: Cluster, pod: Pod) -> tuple[Cycle, dict[str, Any]]:
    """The decision about a pod, with the devices it would get on each node."""
    cycle = begin(cluster, pod)
    assert plugin.pre_filter(cycle) is None
    verdicts = plugin.filter_nodes(pod, cycle.nodes)
    mask = np.ones(len(cycle.nodes), np.bool_)
    if verdicts is not None:
        mask = verdicts.choice == 0
    return cycle, dict(plugin.record_notes(cycle, Filtering(mask), None))


def chosen(notes: dict[str, Any], node: str) -> list[str]:
    """The devices a pod gets on a node."""
    return [
        result["device"]
        for allocation in notes["allocations"][node].values()
        for result in allocation["devices"]["results"]
    ]


def test_it_has_the_extension_points_of_kube_scheduler() -> None:
    assert extension_points_of(DynamicResources) == (
        "preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind",
    )  # fmt: skip


def test_other_pods_pass_through() -> None:
    plugin, pod = on(CLUSTER), make_pod(spec={"resourceClaims": []})
    assert pre_filtered(plugin, CLUSTER, pod) is SKIP
    assert accepted(plugin, CLUSTER, pod) == ["a", "b"]
    assert scored(plugin, CLUSTER, pod) == {"a": 0, "b": 0}
    assert scored(plugin, CLUSTER, pod, ["b"]) == {"b": 0}
    assert normalized(plugin, CLUSTER, pod, [0, 0]) == [0, 0]
    cycle = begin(CLUSTER, pod)
    node = CLUSTER.nodes["a"]
    binding = Binding(namespace="default", name="pod", uid="1", node_name="a")
    # No word means yes.
    assert plugin.pre_enqueue(pod) is None
    assert plugin.reserve(cycle, node) is None
    plugin.unreserve(cycle, node)
    asyncio.run(plugin.pre_bind(binding))


def test_nothing_can_be_freed() -> None:
    plugin, cycle, none = on(CLUSTER), begin(CLUSTER, make_pod()), np.zeros(2, np.bool_)
    # kube-scheduler's plugin has no state of a pod that another one rejected before.
    early = plugin.post_filter(cycle, Filtering(none))
    assert (early.code, early.reason) == ("Error", "not found")
    plugin.pre_filter(cycle)
    verdict = plugin.post_filter(cycle, Filtering(none))
    assert (verdict.code, verdict.reason) == ("Unschedulable", "no new claims to deallocate")


class TestClaims:
    def test_a_pod_waits_for_its_claim(self) -> None:
        cluster = devices()
        plugin, pod = on(cluster), claiming("mine")
        gated = plugin.pre_enqueue(pod)
        assert gated is not None
        assert gated.reason == 'could not find ResourceClaim "default/mine"'
        assert pre_filtered(plugin, cluster, pod) == gated
        cluster.put(claim("mine"))
        assert plugin.pre_enqueue(pod) is None

    def test_nodes_without_enough_devices_are_rejected(self) -> None:
        cluster = devices()
        cluster.put(claim("mine", 2))
        cluster.put(claim("other", **allocated("a-0")))
        verdicts = filtered(on(cluster), cluster, claiming("mine"))
        assert {name for name, one in verdicts.items() if one.accepted} == {"b"}
        assert verdicts["a"].code == "UnschedulableAndUnresolvable"
        assert verdicts["a"].reasons == ("cannot allocate all claims",)

    def test_devices_in_use_follow_the_claims(self) -> None:
        cluster = devices()
        mine, other = claim("mine"), claim("other", **allocated("a-0"))
        cluster.put(mine)
        cluster.put(other)
        plugin, pod = on(cluster), claiming("mine")
        assert chosen(decided(plugin, cluster, pod)[1], "a") == ["a-1"]
        cluster.put(claim("other"))
        assert chosen(decided(plugin, cluster, pod)[1], "a") == ["a-0"]
        cluster.put(claim("other", **allocated("a-0")))
        cluster.remove(other)
        assert chosen(decided(plugin, cluster, pod)[1], "a") == ["a-0"]

    def test_an_allocated_claim_says_where(self) -> None:
        cluster = devices()
        status = allocated("b-0", "b")
        only = {"key": "metadata.name", "operator": "In", "values": ["b"]}
        status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [only]}]}
        cluster.put(claim("mine", **status))
        verdicts = filtered(on(cluster), cluster, claiming("mine"))
        assert {name for name, one in verdicts.items() if one.accepted} == {"b"}
        assert verdicts["a"].reasons == ("resourceclaim not available on the node",)

    def test_an_error_in_a_selector_ends_the_attempt(self) -> None:
        cluster = devices()
        broken = DeviceClass.from_dict(
            {
                "metadata": {"name": DRIVER},
                "spec": {"selectors": [{"cel": {"expression": "device.driver + 1"}}]},
            }
        )
        cluster.put(broken)
        cluster.put(claim("mine"))
        verdicts = filtered(on(cluster), cluster, claiming("mine"))
        assert verdicts["a"].code == "Error"
        assert verdicts["a"].reason.startswith(f"class {DRIVER}: selector #0: CEL compile error: ")

    def test_the_search_for_devices_ends(self) -> None:
        # No device is there for the second request, whichever the first one gets.
        wide = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 16}
        never = {**wide, "count": 1, "selectors": [{"cel": {"expression": "false"}}]}
        requests = [{"name": "x", "exactly": wide}, {"name": "y", "exactly": never}]
        cluster = cluster_of(
            make_node("a"),
            device_class(DRIVER),
            published("a", *(f"d-{number}" for number in range(32))),
            ResourceClaim.from_dict(
                {"metadata": {"name": "mine"}, "spec": {"devices": {"requests": requests}}}
            ),
        )
        clock = iter(range(NOW_NS, NOW_NS + 10**15, 10**9))
        runtime = Runtime(cluster, now_ns=lambda: next(clock))
        plugin = describe_plugin(DynamicResources).make({}, runtime, "args")
        assert isinstance(plugin, DynamicResources)
        verdict = filtered(plugin, cluster, claiming("mine"))["a"]
        assert (verdict.code, verdict.reason) == (
            "Error", "node a: timed out trying to allocate devices"
        )  # fmt: skip

    @pytest.mark.parametrize(("args", "code"), [({}, "Error"), ({"filterTimeout": "0s"}, "")])
    def test_a_search_without_a_limit_takes_as_long_as_it_takes(
        self, args: dict[str, Any], code: str
    ) -> None:
        cluster = slow_devices(a=8)
        verdict = filtered(slowly(cluster, **args), cluster, claiming("mine"))["a"]
        assert ("" if verdict.accepted else verdict.code) == code

    def test_a_node_that_other_plugins_reject_does_not_use_up_the_time_of_the_rest(self) -> None:
        cluster = slow_devices(a=8, b=1)
        verdicts = filtered(slowly(cluster), cluster, claiming("mine"), only=["b"])
        assert verdicts["b"].accepted

    def test_selectors_are_asked_only_while_the_time_is_watched(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one = {"allocationMode": "ExactCount", "count": 1}
        never = {**one, "deviceClassName": "never"}
        requests = [
            {"name": "x", "exactly": never},
            {"name": "y", "exactly": {**one, "deviceClassName": DRIVER}},
        ]
        spec = {"selectors": [{"cel": {"expression": "device.driver == ''"}}]}
        cluster = slow_devices(a=1)
        for thing in (
            DeviceClass.from_dict({"metadata": {"name": "never"}, "spec": spec}),
            ResourceClaim.from_dict(
                {"metadata": {"name": "both"}, "spec": {"devices": {"requests": requests}}}
            ),
        ):
            cluster.put(thing)
        compiled: list[str] = []

        def compile_noted(expression: str) -> Any:
            compiled.append(expression)
            return cel_selectors.compile_device_selector(expression)

        monkeypatch.setattr(tracker_of(cluster).selectors, "_compile", compile_noted)
        plugin, pod = on(cluster), claiming("both")
        rejected = "cannot allocate all claims"
        assert filtered(plugin, cluster, pod)["a"].reason == rejected
        # A device is taken. To find out whether that matters is for a search, which ends.
        cluster.put(claim("other", **allocated("d-0")))
        assert filtered(plugin, cluster, pod)["a"].reason == rejected
        assert compiled == ["device.driver == ''"]

    def test_selectors_that_take_too_long_end_the_attempt_on_all_nodes(self) -> None:
        cluster = slow_devices(a=8, b=8)
        plugin = slowly(cluster)
        verdicts = filtered(plugin, cluster, claiming("mine"))
        timed_out = "node a: timed out trying to allocate devices"
        assert [(one.code, one.reason) for one in verdicts.values()] == [("Error", timed_out)] * 2
        # The next attempt goes on where this one stopped, until node b needs too long.
        second = filtered(plugin, cluster, claiming("mine"))
        assert second["a"].accepted
        assert second["b"].reason == "node b: timed out trying to allocate devices"
        assert all(one.accepted for one in filtered(plugin, cluster, claiming("mine")).values())


class TestReservation:
    def test_the_devices_of_a_chosen_node_are_in_use_until_they_are_given_back(self) -> None:
        cluster = devices()
        cluster.put(claim("mine"))
        cluster.put(claim("other"))
        plugin = on(cluster)
        cycle, _ = decided(plugin, cluster, claiming("mine"))
        assert isinstance(plugin.reserve(cycle, cluster.nodes["a"]), Plan)
        assert chosen(decided(plugin, cluster, claiming("other"))[1], "a") == ["a-1"]
        assert chosen(decided(plugin, cluster, claiming("other"))[1], "b") == ["b-0"]
        plugin.unreserve(cycle, cluster.nodes["a"])
        plugin.unreserve(cycle, cluster.nodes["a"])
        assert chosen(decided(plugin, cluster, claiming("other"))[1], "a") == ["a-0"]

    def test_another_version_of_the_claim_does_not_free_its_devices(self) -> None:
        cluster = devices()
        cluster.put(claim("mine"))
        cluster.put(claim("other"))
        plugin = on(cluster)
        cycle, _ = decided(plugin, cluster, claiming("mine"))
        plugin.reserve(cycle, cluster.nodes["a"])
        cluster.put(claim("mine"))  # such as one with a finalizer
        assert chosen(decided(plugin, cluster, claiming("other"))[1], "a") == ["a-1"]
        # The allocation has been written: nothing is left to be given back.
        cluster.put(claim("mine", **allocated("a-0")))
        plugin.unreserve(cycle, cluster.nodes["a"])
        assert chosen(decided(plugin, cluster, claiming("other"))[1], "a") == ["a-1"]

    def test_a_claim_that_is_being_allocated_keeps_other_pods_waiting(self) -> None:
        cluster = devices()
        cluster.put(claim("mine"))
        plugin = on(cluster)
        cycle, _ = decided(plugin, cluster, claiming("mine"))
        plugin.reserve(cycle, cluster.nodes["a"])
        verdict = pre_filtered(plugin, cluster, claiming("mine", name="second"))
        assert isinstance(verdict, Verdict)
        assert verdict.reason == (
            "resource claim default/mine is in the process of being allocated"
        )

    def test_a_fork_knows_what_is_being_allocated(self) -> None:
        cluster = devices()
        cluster.put(claim("mine"))
        cluster.put(claim("other"))
        plugin = on(cluster)
        cycle, _ = decided(plugin, cluster, claiming("mine"))
        plugin.reserve(cycle, cluster.nodes["a"])
        fork = cluster.fork()
        assert chosen(decided(on(fork), fork, claiming("other"))[1], "a") == ["a-1"]
        plugin.unreserve(cycle, cluster.nodes["a"])
        assert chosen(decided(on(fork), fork, claiming("other"))[1], "a") == ["a-1"]

    def test_a_fork_knows_for_which_pod_a_claim_is_being_created(self) -> None:
        cluster = cluster_of(make_node("a"), device_class(DRIVER, GPU), published("a", "a-0"))
        first, second = (make_pod(name=one, requests={GPU: "1"}) for one in ("first", "second"))
        cluster.put(first)
        plugin = on(cluster)
        cycle, _ = decided(plugin, cluster, first)
        plugin.reserve(cycle, cluster.nodes["a"])
        fork = cluster.fork()
        assert accepted(on(fork), fork, second) == []
        fork.remove_pod(first.key)
        assert accepted(on(fork), fork, second) == ["a"]
        assert accepted(plugin, cluster, second) == []

    def test_the_plan_protects_the_claim_and_then_allocates_it(self) -> None:
        cluster = devices()
        cluster.put(claim("mine"))
        plugin, pod = on(cluster), claiming("mine", name="p")
        cycle, notes = decided(plugin, cluster, pod)
        plan = plugin.reserve(cycle, cluster.nodes["b"])
        assert isinstance(plan, Plan)
        protect, reserve = (written(step) for step in plan.writes)
        assert protect.body == {
            "metadata": {
                "uid": "uid-mine",
                "resourceVersion": "7",
                "finalizers": ["resource.kubernetes.io/delete-protection"],
            }
        }
        assert (reserve.key, reserve.subresource) == ("default/mine", "status")
        assert reserve.body == {
            "metadata": {"uid": "uid-mine", "resourceVersion": "7"},
            "status": {
                "allocation": {
                    **notes["allocations"]["b"]["default/mine"],
                    "allocationTimestamp": "2027-01-15T08:00:00Z",
                },
                "reservedFor": [{"resource": "pods", "name": "p", "uid": pod.uid}],
            },
        }
        assert plan.ready is None

    def test_a_claim_that_somebody_else_allocated_meanwhile_fails_the_plan(self) -> None:
        cluster = devices()
        cluster.put(claim("mine"))
        plugin = on(cluster)
        cycle, _ = decided(plugin, cluster, claiming("mine"))
        plan = plugin.reserve(cycle, cluster.nodes["b"])
        assert isinstance(plan, Plan)
        conflict = written(plan.writes[1]).on_conflict
        assert conflict is not None
        answer = conflict(claim("mine", **allocated("b-1", "b")))
        assert isinstance(answer, Verdict)
        assert answer.reason == "claim default/mine got allocated elsewhere in the meantime"

    def test_a_shared_claim_gets_one_more_user(self) -> None:
        cluster = devices()
        first = {"resource": "pods", "name": "first", "uid": "1"}
        cluster.put(claim("mine", **allocated("a-0"), reservedFor=[first]))
        plugin, pod = on(cluster), claiming("mine", name="p")
        cycle, _ = decided(plugin, cluster, pod)
        plan = plugin.reserve(cycle, cluster.nodes["a"])
        assert isinstance(plan, Plan)
        [reserve] = (written(step) for step in plan.writes)
        status: Any = reserve.body["status"]
        assert [one["name"] for one in status["reservedFor"]] == ["first", "p"]

    def test_a_pod_waits_for_the_conditions_of_its_devices(self) -> None:
        cluster = cluster_of(
            make_node("a"),
            device_class(DRIVER),
            claim("mine"),
            published("a", "a-0", bindingConditions=["ok"], bindingFailureConditions=["bad"]),
        )
        plugin = on(cluster)
        cycle, notes = decided(plugin, cluster, claiming("mine"))
        assert notes["bindingWait"] == ["a"]
        plan = plugin.reserve(cycle, cluster.nodes["a"])
        assert isinstance(plan, Plan)
        assert plan.ready is not None
        assert plan.objects == ((ResourceClaim, "default/mine"),)
        assert plan.ready(cluster) is False
        status = allocated("a-0", bindingConditions=["ok"], bindingFailureConditions=["bad"])
        cluster.put(claim("mine", **status))
        assert plan.ready(cluster) is False
        device = {"driver": DRIVER, "pool": "a", "device": "a-0"}
        failed = {"type": "bad", "status": "True", "reason": "Broken", "message": "no"}
        cluster.put(claim("mine", **status, devices=[{**device, "conditions": [failed]}]))
        answer = plan.ready(cluster)
        assert isinstance(answer, Verdict)
        assert answer.reason == ('device binding failed: claim=mine, reason=Broken, message="no"')
        ready = {"type": "ok", "status": "True"}
        cluster.put(claim("mine", **status, devices=[{**device, "conditions": [ready]}]))
        assert plan.ready(cluster) is True


class TestUndo:
    def test_a_pod_that_is_not_bound_gives_its_reservation_back_and_keeps_the_devices(self) -> None:
        cluster = devices()
        cluster.put(claim("mine"))
        plugin, pod = on(cluster), claiming("mine", name="p")
        cycle, _ = decided(plugin, cluster, pod)
        plan = plugin.reserve(cycle, cluster.nodes["b"])
        assert isinstance(plan, Plan)
        [release] = plan.undo
        assert callable(release)
        assert release(()) is None  # nothing was written
        user = {"resource": "pods", "name": "p", "uid": pod.uid}
        made = claim("mine", **allocated("b-0", "b"), reservedFor=[user])
        undo = written(release, claim("mine"), made)
        assert (undo.key, undo.subresource, undo.patch_type) == (
            "default/mine", "status", "strategic",
        )  # fmt: skip
        assert undo.body == {
            "metadata": {"uid": "uid-mine"},
            "status": {"reservedFor": [{"$patch": "delete", "uid": pod.uid}]},
        }

    def test_a_reservation_of_an_earlier_process_is_given_back_as_well(self) -> None:
        cluster = devices()
        pod = claiming("mine", name="p")
        user = {"resource": "pods", "name": "p", "uid": pod.uid}
        cluster.put(claim("mine", **allocated("a-0"), reservedFor=[user]))
        plugin = on(cluster)
        cycle, _ = decided(plugin, cluster, pod)
        plan = plugin.reserve(cycle, cluster.nodes["a"])
        assert isinstance(plan, Plan)
        assert (plan.writes, plan.ready) == ((), None)
        assert written(plan.undo[0]).doing == "unreserve claim default/mine"

    def test_the_claim_for_extended_resources_is_deleted(self) -> None:
        cluster = cluster_of(
            make_node("bare"), device_class("gpu.example.com", GPU), published("bare", "d-0")
        )
        plugin = on(cluster)
        cycle, _ = decided(plugin, cluster, asking(GPU))
        plan = plugin.reserve(cycle, cluster.nodes["bare"])
        assert isinstance(plan, Plan)
        name = written(plan.writes[0]).key.partition("/")[2]
        unprotect, delete = plan.undo
        assert callable(unprotect)
        assert callable(delete)
        assert (unprotect(()), delete(())) == (None, None)  # it was not created
        metadata = {"name": name, "namespace": "default", "uid": "u", "resourceVersion": "3"}
        bare = ResourceClaim.from_dict({"metadata": metadata})
        assert unprotect((bare,)) is None
        finalizers = ["resource.kubernetes.io/delete-protection"]
        kept = ResourceClaim.from_dict({"metadata": {**metadata, "finalizers": finalizers}})
        assert written(unprotect, bare, kept).body == {
            "metadata": {"uid": "u", "resourceVersion": "3", "finalizers": None}
        }
        deletion = written(delete, bare, kept)
        assert (deletion.verb, deletion.body) == ("delete", {"preconditions": {"uid": "u"}})


class TestBindingLimit:
    """How long a pod waits for the conditions of its devices."""

    def plan(self, ago: int | None, *, ready: bool = False) -> Plan:
        """Of a pod whose claim was allocated so many seconds ago; None for never."""
        pod = claiming("mine", name="p")
        fields: dict[str, Any] = {
            "bindingConditions": ["ok"], "bindingFailureConditions": ["bad"],
        }  # fmt: skip
        status: dict[str, Any] = {}
        if ago is not None:
            time = datetime.fromtimestamp(NOW_NS / 10**9 - ago, UTC)
            status = allocated("a-0", **fields)
            status["allocation"]["allocationTimestamp"] = f"{time:%Y-%m-%dT%H:%M:%SZ}"
            if ready:
                conditions = [{"type": "ok", "status": "True"}]
                device = {"driver": DRIVER, "pool": "a", "device": "a-0", "conditions": conditions}
                status["devices"] = [device]
        cluster = cluster_of(
            make_node("a"), device_class(DRIVER), claim("mine", **status),
            published("a", "a-0", **fields),
        )  # fmt: skip
        plugin = on(cluster, bindingTimeout="100s")
        cycle, _ = decided(plugin, cluster, pod)
        found = plugin.reserve(cycle, cluster.nodes["a"])
        assert isinstance(found, Plan)
        return found

    def test_a_new_allocation_has_the_whole_time(self) -> None:
        plan = self.plan(None)
        assert (plan.seconds, plan.too_late) == (
            100, "device binding timeout: context deadline exceeded",
        )  # fmt: skip
        assert plan.event == WaitingEvent(
            reason="BindingConditionsPending",
            note="waiting for binding conditions for device on node a",
        )

    def test_an_older_one_has_what_is_left(self) -> None:
        plan = self.plan(70)
        assert (plan.seconds, plan.too_late) == (30, "device binding timeout: claim=mine")
        assert self.plan(70, ready=True).seconds == 100

    def test_a_claim_that_is_gone_ends_the_wait(self) -> None:
        plan = self.plan(None)
        assert plan.ready is not None
        answer = plan.ready(cluster_of(make_node("a")))
        assert isinstance(answer, Verdict)
        assert (answer.error, answer.reason) == (
            True, 'could not find ResourceClaim "default/mine"',
        )  # fmt: skip


def written(step: object, *answers: KubeObject) -> Write:
    """What a step of a plan writes."""
    answer = step(answers) if callable(step) else step
    assert isinstance(answer, Write)
    return answer


# -- extended resources that devices provide

GPU = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/small"


def device_class(
    name: str, resource: str = "", created: str = "2026-01-01T00:00:00Z"
) -> DeviceClass:
    spec = {"extendedResourceName": resource} if resource else {}
    return DeviceClass.from_dict(
        {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}
    )


def asking(*resources: str) -> Pod:
    return make_pod(requests=dict.fromkeys(resources, "1"))


DEVICES = cluster_of(
    make_node("plugged", extended={GPU: 4}),
    make_node("bare"),
    make_node("unplugged", extended={GPU: 0}),
    device_class("gpu.example.com", GPU),
    device_class("small"),
)


def test_a_node_with_a_device_plugin_offers_the_resource_as_any_other() -> None:
    pod = asking(GPU)
    assert accepted(on(DEVICES), DEVICES, pod) == ["plugged"]
    assert accepted(on(DEVICES), DEVICES, pod, ["bare"]) == []
    greedy = make_pod(requests={GPU: "5"})
    fit = made(NodeResourcesFit)
    assert filtered(fit, DEVICES, greedy)["plugged"].reasons == (f"Insufficient {GPU}",)
    assert filtered(fit, DEVICES, greedy, ["plugged"])["plugged"].code == (
        "UnschedulableAndUnresolvable"
    )


@pytest.mark.parametrize("resource", [GPU, IMPLICIT], ids=["named", "implicit"])
def test_a_node_with_devices_offers_the_resource_by_a_claim(resource: str) -> None:
    cluster = cluster_of(
        *DEVICES.nodes.values(), *DEVICES.catalog.all(DeviceClass).values(),
        published("bare", "d-0"),
    )  # fmt: skip
    plugin, pod = on(cluster), asking(resource)
    cluster.put(pod)
    verdicts = filtered(plugin, cluster, pod)
    # It is not a lack of the resource.
    assert "bare" in accepted(made(NodeResourcesFit), cluster, pod)
    assert verdicts["bare"].accepted
    assert verdicts["unplugged"].reasons == ("cannot allocate all claims",)
    cycle, notes = decided(plugin, cluster, pod)
    assert notes["allocations"]["bare"]["<extended-resources>"]["devices"]["results"] == [
        {"request": "container-0-request-0", "driver": DRIVER, "pool": "bare", "device": "d-0"}
    ]
    plan = plugin.reserve(cycle, cluster.nodes["bare"])
    assert isinstance(plan, Plan)
    create = written(plan.writes[0])
    name = create.key.partition("/")[2]
    assert name.startswith(f"{pod.name}-extended-resources-")
    body: Any = create.body
    assert create.verb == "create"
    assert body["metadata"]["ownerReferences"][0]["uid"] == pod.uid
    made_claim = ResourceClaim.from_dict(
        {**body, "metadata": {**body["metadata"], "uid": "u", "resourceVersion": "1"}}
    )
    reserve: Any = written(plan.writes[2], made_claim).body
    assert reserve["metadata"] == {"uid": "u", "resourceVersion": "1"}
    told: Any = written(plan.writes[3]).body
    assert told["status"]["extendedResourceClaimStatus"] == {
        "resourceClaimName": name,
        "requestMappings": [
            {
                "containerName": pod.containers[0].name,
                "resourceName": resource,
                "requestName": "container-0-request-0",
            }
        ],
    }
    # Devices are in use under the name of no claim until the claim is seen.
    assert not filtered(plugin, cluster, asking(resource))["bare"].accepted
    cluster.put(
        msgspec.structs.replace(made_claim, status=claim("x", **allocated("d-0", "bare")).status)
    )
    plugin.unreserve(cycle, cluster.nodes["bare"])
    assert not filtered(plugin, cluster, asking(resource))["bare"].accepted


def test_a_claim_of_an_earlier_attempt_is_in_the_way() -> None:
    pod = asking(GPU)
    owner = {"kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    left = claim("left")
    metadata = msgspec.convert(
        {
            "name": "left",
            "namespace": "default",
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [owner],
        },
        type(left.metadata),
    )
    cluster = cluster_of(
        make_node("bare"), device_class(DRIVER, GPU),
        msgspec.structs.replace(left, metadata=metadata), published("bare", "d-0"),
    )  # fmt: skip
    plugin = on(cluster)
    cycle, _ = decided(plugin, cluster, pod)
    verdict = filtered(plugin, cluster, pod)["bare"]
    assert verdict.reasons == ("cannot schedule extended resource claim",)
    answer = plugin.post_filter(cycle, Filtering(np.zeros(1, np.bool_)))
    assert answer.reason == "deletion of ResourceClaim completed"
    [(plugin_name, plan)] = cycle.cleanups
    assert plugin_name == "DynamicResources"
    assert [written(step).verb for step in plan.writes] == ["patch", "delete"]
    assert {written(step).key for step in plan.writes} == {"default/left"}


def test_a_claim_whose_devices_failed_is_deallocated() -> None:
    status = allocated("a-0", bindingConditions=["ok"], bindingFailureConditions=["bad"])
    failed = {"type": "bad", "status": "True", "reason": "Broken", "message": "no"}
    device = {"driver": DRIVER, "pool": "a", "device": "a-0", "conditions": [failed]}
    pod = claiming("mine")
    own = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    cluster = devices()
    plugin = on(cluster)
    none = np.zeros(3, np.bool_)
    for users, freed in (([own], True), ([], True), ([own, {**own, "uid": "other"}], False)):
        cluster.put(claim("mine", **status, devices=[device], reservedFor=users))
        cycle = begin(cluster, pod)
        assert plugin.pre_filter(cycle) is None
        verdicts = plugin.filter_nodes(pod, cycle.nodes)
        assert verdicts is not None
        assert {one.reason for one in verdicts} == {"resourceclaim not available on the node"}
        answer = plugin.post_filter(cycle, Filtering(none, [(plugin.name, verdicts)]))
        if not freed:
            assert (answer.reason, cycle.cleanups) == ("still not schedulable", [])
            continue
        assert answer.reason == "deallocation of ResourceClaim completed"
        [write] = (written(step) for step in cycle.cleanups[0].plan.writes)
        assert (write.key, write.subresource) == ("default/mine", "status")
        assert write.body["status"] == {"allocation": None, "reservedFor": None, "devices": None}
    # Where another plugin said no before, kube-scheduler's plugin is not asked at all.
    cluster.put(claim("mine", **status, devices=[device]))
    cycle = begin(cluster, pod)
    assert plugin.pre_filter(cycle) is None
    verdicts = plugin.filter_nodes(pod, cycle.nodes)
    assert verdicts is not None
    answer = plugin.post_filter(cycle, Filtering(none, [("NodeName", verdicts)]))
    assert answer.reason == "still not schedulable"


class NotingWorld(World):
    """A world that keeps what is to be cleaned up."""

    def __init__(self, *objects: KubeObject) -> None:
        self.cleanups: list[CleanUp] = []
        super().__init__(*objects)

    def do(self, effects: list[Effect]) -> None:
        self.cleanups += [one for one in effects if isinstance(one, CleanUp)]
        super().do(effects)


def test_the_scheduler_has_the_claim_deallocated() -> None:
    status = allocated("a-0", bindingConditions=["ok"], bindingFailureConditions=["bad"])
    failed = {"type": "bad", "status": "True", "reason": "Broken", "message": "no"}
    device = {"driver": DRIVER, "pool": "a", "device": "a-0", "conditions": [failed]}
    world = NotingWorld(
        make_node("a"), device_class(DRIVER), published("a", "a-0"),
        claim("mine", **status, devices=[device]), claiming("mine", name="p"),
    )  # fmt: skip
    world.run()
    [cleanup] = world.cleanups
    assert (cleanup.pod.name, cleanup.profile) == ("p", "default-scheduler")
    assert [one.plugin for one in cleanup.plans] == ["DynamicResources"]
    # Somebody has done it: the pod is tried again.
    world.put(claim("mine"))
    world.wait(60)
    assert world.where("p") == "a"


def test_a_claim_is_deallocated_also_for_a_pod_that_preempts_others() -> None:
    status = allocated("b-0", "b")
    only = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [only]}]}
    world = NotingWorld(
        make_node("a"), make_node("b", cpu="1"), device_class(DRIVER), published("b", "b-0"),
        claim("mine", **status), make_pod("low", node="b", requests={"cpu": "1"}, priority=-1),
        claiming("mine", name="p", requests={"cpu": "1"}),
    )  # fmt: skip
    world.run()
    # parity v1.36.4: plugins/dynamicresources PostFilter writes before DefaultPreemption is asked.
    assert [one.plans[0].plugin for one in world.cleanups] == ["DynamicResources"]
    assert "default/low" not in world.pods


def test_a_created_claim_that_came_and_went_unseen_is_no_longer_counted() -> None:
    pod = asking(GPU)
    cluster = cluster_of(
        make_node("bare"), device_class(DRIVER, GPU), published("bare", "d-0"), pod
    )  # fmt: skip
    plugin = on(cluster)
    cycle, _ = decided(plugin, cluster, pod)
    plugin.reserve(cycle, cluster.nodes["bare"])
    other = make_pod("other", requests={GPU: "1"})
    assert not filtered(plugin, cluster, other)["bare"].accepted
    cluster.remove(pod)
    assert filtered(plugin, cluster, other)["bare"].accepted


def test_pods_that_ask_for_other_things_are_left_alone() -> None:
    plugin = on(DEVICES)
    for pod in (make_pod(requests={"cpu": "1"}), asking("example.com/other"), asking()):
        assert pre_filtered(plugin, DEVICES, pod) is SKIP
    none = make_pod(requests={GPU: "0"})
    assert pre_filtered(plugin, DEVICES, none) is SKIP


def test_without_a_class_it_is_a_lack_of_the_resource() -> None:
    cluster = cluster_of(make_node("bare"))
    pod, plugin, fit = asking(GPU), on(cluster), made(NodeResourcesFit)
    assert pre_filtered(plugin, cluster, pod) is SKIP
    assert filtered(fit, cluster, pod)["bare"].reasons == (f"Insufficient {GPU}",)
    named = device_class("gpu", GPU)
    cluster.put(named)
    assert pre_filtered(plugin, cluster, pod) is None
    assert accepted(fit, cluster, pod) == ["bare"]
    cluster.remove(named)
    assert pre_filtered(plugin, cluster, pod) is SKIP
    assert filtered(fit, cluster, pod)["bare"].reasons == (f"Insufficient {GPU}",)


def test_of_several_classes_for_a_resource_the_newest_counts_then_the_first_name() -> None:
    resources = ExtendedResourceCache()
    cluster = cluster_of(
        device_class("old", GPU, "2025-01-01T00:00:00Z"),
        device_class("b", GPU),
        device_class("a", GPU),
        device_class("c", GPU),
    )
    assert resources.read(cluster.catalog)[GPU] == "a"
    # v1.36.4 forgets the implicit name of a class that came after a better one of the same name.
    implicit = {name.rpartition("/")[2] for name in resources.read(cluster.catalog) if name != GPU}
    assert implicit == {"old", "b", "a"}
    cluster.put(device_class("z", GPU, "2026-02-01T00:00:00Z"))
    assert resources.read(cluster.catalog)[GPU] == "z"
    assert set(resources.read(Cluster().catalog)) == set()


def test_a_class_that_provides_the_resource_requeues_the_pod() -> None:
    plugin, pod = plugin_on(NodeResourcesFit), asking(GPU)
    assert requeues(plugin, pod, None, device_class("gpu", GPU)) is True
    assert requeues(plugin, pod, device_class("gpu"), device_class("gpu", GPU)) is True
    assert requeues(plugin, pod, device_class("gpu", "x.io/y"), device_class("gpu", GPU)) is True
    assert requeues(plugin, pod, device_class("gpu", GPU), device_class("gpu", GPU)) is False
    assert requeues(plugin, pod, None, device_class("other", "x.io/y")) is False
    assert requeues(plugin, pod, device_class("gpu", GPU), None) is None
    assert requeues(plugin, asking(IMPLICIT), None, device_class("small")) is True
    assert requeues(plugin, asking(IMPLICIT), None, device_class("large")) is False
    # kube-scheduler's DynamicResources looks at no class.
    assert requeues(plugin_on(DynamicResources), pod, None, device_class("other")) is True


def test_claims_requeue_pods() -> None:
    mine, other = claim("mine"), claim("other", **allocated("a-0"))
    plugin, pod = plugin_on(DynamicResources, mine, other), claiming("mine")
    assert requeues(plugin, pod, None, mine) is True
    assert requeues(plugin, pod, mine, claim("mine")) is False
    assert requeues(plugin, pod, mine, claim("mine", **allocated("a-0"))) is True
    assert requeues(plugin, pod, None, claim("third")) is False
    # A device has been freed.
    assert requeues(plugin, pod, other, claim("other")) is True
    assert requeues(plugin, claiming("missing"), other, claim("other")) is False


def test_a_claim_that_was_made_for_a_pod_requeues_it() -> None:
    plugin = plugin_on(DynamicResources)
    before = make_pod(
        "p", spec={"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}]}
    )
    after = msgspec.structs.replace(
        before,
        status=msgspec.convert({"resourceClaimStatuses": [{"name": "g"}]}, type(before.status)),
    )
    assert requeues(plugin, before, before, after) is True
    assert requeues(plugin, before, after, msgspec.structs.replace(after)) is False
    assert requeues(plugin, make_pod("q"), before, after) is False


@pytest.mark.parametrize("order", [("claim", "told"), ("told", "claim")])
def test_the_scheduler_places_a_pod_when_its_claim_was_made(order: tuple[str, str]) -> None:
    template = {"name": "g", "resourceClaimTemplateName": "t"}
    pod = make_pod("p", spec={"resourceClaims": [template]})
    made_for = msgspec.structs.replace(
        claim("p-g").metadata, owner_references=[OwnerReference("Pod", "p", pod.uid, "v1", True)]
    )
    status = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g"}]}
    parts = {
        "claim": msgspec.structs.replace(claim("p-g"), metadata=made_for),
        "told": msgspec.structs.replace(pod, status=msgspec.convert(status, type(pod.status))),
    }
    world = World(make_node("a"), device_class(DRIVER), published("a", "a-0"), pod)
    world.run()
    for name in order:
        world.put(parts[name])
    world.wait(60)
    assert world.where("p") == "a"


def test_the_scheduler_places_a_pod_when_devices_come() -> None:
    world = World(make_node("bare"), make_pod("p", requests={GPU: "1"}))
    world.run()
    assert f"1 Insufficient {GPU}." in world.events[-1][2]
    # NodeResourcesFit requeues the pod: now it is no lack of the resource any more.
    world.put(device_class("gpu.example.com", GPU))
    world.wait(60)
    assert world.events[-1][2].startswith("0/1 nodes are available: 1 cannot allocate all claims.")
    world.put(make_node("plugged", extended={GPU: 1}))
    world.wait(60)
    assert world.where("p") == "plugged"


def test_an_explanation_says_what_would_be_written() -> None:
    record = explain(
        {
            "nodes": [{"metadata": {"name": "bare"}, "status": {"allocatable": {"pods": "9"}}}],
            "deviceClasses": [
                {
                    "metadata": {"name": "gpu.example.com"},
                    "spec": {"extendedResourceName": GPU},
                }
            ],
            "resourceSlices": [{**ALL, **msgspec.to_builtins(published("bare", "d-0").raw)}],
        },
        make_pod("p", requests={GPU: "1"}),
    )
    assert record.feasible == ["bare"]
    found = record.to_dict()
    assert chosen(found, "bare") == ["d-0"]
    assert found["extendedResourceClaims"]["bare"]["requests"][0]["exactly"]["count"] == 1


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"filterTimeout": "10s", "bindingTimeout": "10m"}, []),
        ({"filterTimeout": "0s", "bindingTimeout": "1s"}, []),
        ({"filterTimeout": "-1s"}, ["args.filterTimeout: -1s is negative: must be at least 0s"]),
        (
            {"bindingTimeout": "999ms"},
            ["args.bindingTimeout: 999ms is too short: must be at least 1s"],
        ),
    ],
)
def test_arguments(args: dict[str, str], expected: list[str]) -> None:
    assert problems(DynamicResources, **args) == expected


@pytest.mark.parametrize("claim_first", [True, False])
def test_a_pod_goes_on_when_the_claim_of_its_template_is_there(*, claim_first: bool) -> None:
    own = {"name": "own", "resourceClaimTemplateName": "one"}
    manifest = make_pod("p", spec={"resourceClaims": [own]}).raw
    world = World(
        make_node("a"), device_class(DRIVER), published("a", "a-0"), Pod.from_dict(manifest)
    )
    world.run()
    assert world.core.queue.counts()["gated"] == 1
    pod = world.pods["default/p"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod.uid, "controller": True}
    created = claim("p-own")
    created = ResourceClaim.from_dict(
        {**created.raw, "metadata": {**created.raw["metadata"], "ownerReferences": [owner]}}
    )
    statuses = [{"name": "own", "resourceClaimName": "p-own"}]
    told = Pod.from_dict({**manifest, "status": {"resourceClaimStatuses": statuses}})
    # Two watches show them, in any order.
    world.put(*((created, told) if claim_first else (told, created)))
    world.run()
    assert len(world.binds) == 1


def test_a_pod_is_tried_again_when_the_claim_of_an_earlier_attempt_is_gone() -> None:
    pod = make_pod("p")
    plugin = on(cluster_of(make_node("a")))

    def special(uid: str, **annotations: str) -> ResourceClaim:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
        metadata = {"name": "c", "annotations": annotations, "ownerReferences": [owner]}
        return ResourceClaim.from_dict({"metadata": metadata})

    marked = {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert requeues(plugin, pod, special(pod.uid, **marked), None) is True
    assert requeues(plugin, pod, special("other", **marked), None) is False
    assert requeues(plugin, pod, special(pod.uid), None) is False


def test_devices_are_free_that_were_released_before_the_next_decision() -> None:
    """Nobody looked while the claim was allocated."""
    world = World(make_node("a"), device_class(DRIVER), published("a", "a-0"), claim("mine"))
    world.prompt = False
    world.put(claiming("mine", name="p"))
    world.run()
    (effect,) = world.binds
    made = claim("mine", **allocated("a-0"))
    for version, thing in (("8", claim("mine")), ("9", made)):  # finalizer, allocation
        metadata = {**thing.raw["metadata"], "resourceVersion": version}
        answer = ResourceClaim.from_dict({**thing.raw, "metadata": metadata})
        world.core.report(ObjectWritten(answer), world.now)
    world.bind(effect)
    world.delete(world.pods["default/p"])
    metadata = {**made.raw["metadata"], "resourceVersion": "12"}
    world.put(ResourceClaim.from_dict({**claim("mine").raw, "metadata": metadata}))
    world.put(claim("other"), claiming("other", "mine", name="late"), claiming("other", name="q"))
    world.wait(10)
    assert [one.pod.name for one in world.binds] == ["p", "q"]


def test_a_pod_that_is_bound_and_whose_claim_was_not_written_keeps_its_devices() -> None:
    """As on a fork, where nobody writes."""
    world = World(make_node("a"), device_class(DRIVER), published("a", "a-0"), claim("mine"))
    world.put(claim("other"), claiming("mine", name="p"))
    world.run()
    world.put(claiming("other", name="q"))
    world.run()
    assert [one.pod.name for one in world.binds] == ["p"]
