"""The core: pods get nodes once, nothing is lost, and everybody is told what happened."""

import math
from typing import Any

import pytest
from msgspec.structs import replace

import mooring as mr
from mooring import Node, Pod, hook
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate, Filtering, Preemption
from mooring.framework.verdict import fail
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim
from mooring.scheduler.effects import ObjectWritten
from mooring.scheduler.queued_pod import SubQueue
from mooring.testing import make_node, make_pod
from tests.unit.scheduler.world import World


def node(name: str, cpu: str = "4", **more: Any) -> Node:
    return make_node(name, cpu=cpu, memory="16Gi", **more)


def pod(name: str, cpu: str = "1", priority: int = 0, **spec: Any) -> Pod:
    made = make_pod(name, requests={"cpu": cpu}).raw
    meta = {**made["metadata"], "uid": f"{name}-uid", "creationTimestamp": "2026-01-01T00:00:00Z"}
    whole = {**made["spec"], "priority": priority, **spec}
    return Pod.from_dict({**made, "metadata": meta, "spec": whole})


def test_a_pod_gets_a_node_and_an_event() -> None:
    world = World(node("a"), pod("p"))
    world.run()
    assert world.where("p") == "a"
    assert world.events == [("p", "Scheduled", "Successfully assigned default/p to a")]
    assert len(world.core.queue) == 0
    assert world.used == [1000]
    assert world.cluster.assumed == 0


def test_the_next_pod_sees_the_one_before_though_it_is_not_bound_yet() -> None:
    world = World(node("a", "1"), node("b", "1"), pod("p"), pod("q"), pod("r"))
    world.prompt = False
    world.run()
    assert sorted(one.binding.node_name for one in world.binds) == ["a", "b"]
    assert [reason for _, reason, _ in world.events] == ["FailedScheduling"]


def test_a_pod_that_fits_nowhere_says_why_and_waits_for_a_change_that_helps() -> None:
    world = World(node("a", "1"), pod("big", "2"))
    world.run()
    ((name, reason, note),) = world.events
    assert (name, reason) == ("big", "FailedScheduling")
    assert note.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    queued = world.core.queue.get("default/big")
    assert queued is not None
    assert queued.sub_queue is SubQueue.UNSCHEDULABLE
    world.put(node("a", "1", labels={"colour": "red"}))  # does not help
    world.wait(2)
    assert queued.attempts == 1
    world.put(node("b", "4"))
    world.wait(2)
    assert world.where("big") == "b"


def test_a_binding_that_fails_is_taken_back_and_tried_again() -> None:
    world = World(node("a"), pod("p"))
    world.prompt = False
    world.run()
    world.reject(world.binds.pop(), "binding rejected: the server is away")
    assert world.used == [0]
    assert world.events[-1] == ("p", "FailedScheduling", "binding rejected: the server is away")
    queued = world.core.queue.get("default/p")
    assert queued is not None
    assert queued.sub_queue is SubQueue.ERROR_BACKOFF
    world.wait(3)
    world.bind(world.binds.pop())
    assert world.where("p") == "a"


def test_a_pod_deleted_while_it_is_bound_leaves_nothing_behind() -> None:
    world = World(node("a"), pod("p"))
    world.prompt = False
    world.run()
    world.delete(world.pods["default/p"])
    assert world.used == [0]
    world.reject(world.binds.pop(), "not found")
    world.wait(60)
    assert (len(world.core.queue), world.used, world.events) == (0, [0], [])


def test_a_pod_that_somebody_else_bound_is_not_tried() -> None:
    world = World(node("a"), node("b"))
    world.put(pod("p"))
    world.put(pod("p", nodeName="b"))
    world.run()
    assert (world.binds, world.used) == ([], [0, 1000])


def test_a_pod_bound_elsewhere_while_its_binding_fails_is_not_put_back() -> None:
    world = World(node("a"), node("b"), pod("p"))
    world.prompt = False
    world.run()
    target = world.binds[0].binding.node_name
    other = "b" if target == "a" else "a"
    world.put(pod("p", nodeName=other))
    world.reject(world.binds.pop(), "already bound")
    assert len(world.core.queue) == 0
    assert sum(world.used) == 1000


def test_a_new_pod_of_the_same_name_is_another_pod() -> None:
    world = World(node("a"), pod("p"))
    world.prompt = False
    world.run()
    first = world.binds.pop()
    raw = pod("p").raw
    again = Pod.from_dict({**raw, "metadata": {**raw["metadata"], "uid": "another"}})
    world.put(again)
    world.reject(first, "uid mismatch")
    world.run()
    assert [one.pod.uid for one in world.binds] == ["another"]
    assert world.used == [1000]


def test_more_important_pods_come_first() -> None:
    world = World(node("a", "1"), pod("low"), pod("high", priority=5))
    world.run()
    assert (world.where("high"), world.where("low")) == ("a", "")


def test_gated_pods_wait_until_the_gate_is_gone() -> None:
    gated = pod("p", schedulingGates=[{"name": "quota"}])
    world = World(node("a"), gated)
    world.run()
    assert (world.where("p"), world.events) == ("", [])
    world.put(pod("p"))
    world.run()
    assert world.where("p") == "a"


def test_pods_of_other_schedulers_are_left_alone() -> None:
    world = World(node("a"), pod("p", schedulerName="someone-else"))
    world.run()
    assert (world.binds, len(world.core.queue)) == ([], 0)


def test_room_is_made_and_the_pod_goes_there() -> None:
    victim = pod("victim", "4", nodeName="a")
    world = World(node("a"), victim, pod("vip", "4", priority=100))
    world.prompt = False
    world.run()
    (evict,) = world.evicts
    assert ([one.name for one in evict.victims], evict.node) == (["victim"], "a")
    assert world.cluster.nominations.node_of("default/vip") == "a"
    assert world.events[-1][1] == "FailedScheduling"
    world.evict(evict)
    world.wait(2)
    assert [one.pod.name for one in world.binds] == ["vip"]


def test_a_plugin_that_makes_room_is_not_asked_for_what_it_does_not_offer() -> None:
    """Nobody could interrupt it there, and its failure would be mooring's own."""

    class Makes(hook.PostFilter):
        name = "Makes"

        @property
        def preempting(self) -> set[str]:
            raise ValueError("no")

        def post_filter(self, cycle: Cycle, filtering: Filtering) -> Preemption:
            victims = {"a": Candidate("a", cycle.cluster.pods_on(0), 0)}
            return Preemption(mr.accept(), eligible=True, candidates=victims)

    policy = mr.Policy("makes-room")
    policy.add(Makes())
    plugins = {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}}
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    world = World(node("a"), pod("low", cpu="4", nodeName="a"), config=config, policy=policy)
    world.put(pod("vip", cpu="4", priority=100))
    world.run()
    assert [one.name for one in world.evicts[0].victims] == ["low"]
    world.wait(2)
    assert world.where("vip") == "a"


def test_victims_that_are_gone_before_the_report_leave_nobody_behind() -> None:
    victim = pod("victim", "4", nodeName="a")
    world = World(node("a"), victim, pod("vip", "4", priority=100))
    world.prompt = False
    world.run()
    evict = world.evicts.pop()
    world.delete(victim)
    world.wait(2)
    assert world.binds == []
    world.evict(evict)
    world.run()
    assert [one.pod.name for one in world.binds] == ["vip"]


def test_a_promised_node_is_kept_for_the_pod() -> None:
    victim = pod("victim", "4", nodeName="a")
    world = World(node("a"), victim, pod("vip", "4", priority=100))
    world.prompt = False
    world.run()
    world.put(pod("late", "4"))
    world.evict(world.evicts.pop())
    world.wait(2)
    assert [one.pod.name for one in world.binds] == ["vip"]


class Gatekeeper(hook.Permit, hook.Reserve):
    """Lets pods wait; counts what it holds."""

    name = "Gatekeeper"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.held: list[str] = []

    def reserve(self, cycle: Cycle, node: Node) -> None:
        self.held.append(cycle.pod.name)

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        if cycle.pod.name in self.held:
            self.held.remove(cycle.pod.name)

    def permit(self, cycle: Cycle, node: Node) -> Any:
        return self.answer


def guarded(answer: Any) -> tuple[World, Gatekeeper]:
    policy = mr.Policy("guard")
    keeper = Gatekeeper(answer)
    policy.add(keeper)
    return World(node("a"), pod("p"), policy=policy), keeper


def test_a_pod_waits_for_permission_and_holds_its_node_meanwhile() -> None:
    world, keeper = guarded(hook.Wait(30))
    world.run()
    assert (world.binds, world.used, keeper.held) == ([], [1000], ["p"])
    waiting = world.core.waiting.get("default/p")
    assert waiting is not None
    waiting.allow("Gatekeeper")
    world.run()
    assert world.where("p") == "a"


def test_permission_that_does_not_come_ends_the_wait() -> None:
    world, keeper = guarded(hook.Wait(30))
    world.run()
    world.wait(31)
    assert (world.where("p"), world.used, keeper.held) == ("", [0], [])
    assert world.events[-1][1:] == (
        "FailedScheduling",
        (
            "0/1 nodes are available: "
            "1 rejected due to timeout after waiting 30s at plugin Gatekeeper."
        ),
    )


def test_a_rejected_permission_gives_everything_back() -> None:
    world, keeper = guarded("not today")
    world.run()
    assert (world.used, keeper.held) == ([0], [])
    assert world.events[-1][2] == "0/1 nodes are available: 1 not today."


def test_a_deleted_pod_waits_no_more() -> None:
    world, keeper = guarded(hook.Wait(30))
    world.run()
    world.delete(world.pods["default/p"])
    world.run()
    assert (len(world.core.waiting), world.used, keeper.held) == (0, [0], [])
    assert len(world.core.queue) == 0


def test_of_pods_that_need_not_wait_any_longer_only_some_are_settled_when_that_is_enough() -> None:
    """Plugins may hang over each of them."""
    world, keeper = guarded(hook.Wait(30))
    world.put(pod("q"))
    world.run()
    world.now += 31
    world.do(world.core.tick(world.now, enough=lambda: True))
    assert (len(world.core.waiting), len(keeper.held)) == (1, 1)
    assert (world.core.next_time() or math.inf) <= world.now
    world.do(world.core.tick(world.now, enough=lambda: True))
    assert (len(world.core.waiting), keeper.held) == (0, [])


def test_a_pod_that_waits_under_the_name_of_one_that_was_not_settled_yet_is_another() -> None:
    world, keeper = guarded(hook.Wait(30))
    world.run()
    first = world.pods["default/p"]
    world.delete(first)
    world.put(replace(first, metadata=replace(first.metadata, uid="another-uid")))
    cycle = world.core.schedule_one(world.now)
    assert cycle is not None
    assert list(cycle) == []
    assert (len(world.core.waiting), keeper.held) == (1, ["p", "p"])
    world.run()
    assert (len(world.core.waiting), keeper.held, world.used) == (1, ["p"], [1000])
    assert [one.pod.uid for one in world.core.queue.in_flight] == ["another-uid"]


@pytest.mark.parametrize("uid", ["p-uid", "another-uid"])
def test_a_pod_that_somebody_else_bound_waits_no_more(uid: str) -> None:
    """With another id it is a new pod of the name, seen before the first one was seen to go."""
    world, keeper = guarded(hook.Wait(30))
    world.run()
    bound = pod("p", nodeName="elsewhere")
    world.put(replace(bound, metadata=replace(bound.metadata, uid=uid)))
    world.run()
    assert (len(world.core.waiting), world.used, keeper.held) == (0, [0], [])
    assert (len(world.core.queue), len(world.core.queue.in_flight)) == (0, 0)
    assert world.where("p") == "elsewhere"


def test_a_plugin_that_raises_is_named_and_the_others_go_on() -> None:
    policy = mr.Policy("broken")

    @policy.filter
    def explode(pod: Pod, node: Node) -> bool:
        if pod.name == "bad":
            raise ZeroDivisionError("by zero")
        return True

    world = World(node("a"), pod("bad", priority=9), pod("good"), policy=policy)
    world.run()
    assert world.where("good") == "a"
    name, reason, note = world.events[0]
    assert (name, reason) == ("bad", "FailedScheduling")
    assert "plugin broken failed in filter for pod default/bad" in note
    queued = world.core.queue.get("default/bad")
    assert queued is not None
    assert queued.sub_queue is SubQueue.ERROR_BACKOFF


# -- what the decision says, and what the queue makes of it


def queued_as(world: World, name: str) -> SubQueue:
    queued = world.core.queue.get(f"default/{name}")
    assert queued is not None
    return queued.sub_queue


def test_a_cluster_without_nodes() -> None:
    world = World(pod("p"))
    world.run()
    assert world.events == [("p", "FailedScheduling", "no nodes available to schedule pods")]
    assert queued_as(world, "p") is SubQueue.ERROR_BACKOFF  # as in kube-scheduler: nobody rejected
    world.put(node("a"))
    world.wait(3)
    assert world.where("p") == "a"


def test_a_pod_of_a_group_waits_for_any_change() -> None:
    world = World(node("a"), pod("p", schedulingGroup={"podGroupName": "all"}))
    world.run()
    ((_, reason, note),) = world.events
    assert reason == "FailedScheduling"
    assert "pod groups (spec.schedulingGroup) are not supported by mooring yet" in note
    assert queued_as(world, "p") is SubQueue.UNSCHEDULABLE
    world.put(node("b"))
    assert queued_as(world, "p") is SubQueue.BACKOFF


class Narrow(hook.PreFilter):
    """Answers one thing."""

    name = "Narrow"

    def __init__(self, answer: hook.PreFilterAnswer) -> None:
        self.answer = answer

    def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
        return self.answer


def narrowed(answer: hook.PreFilterAnswer) -> World:
    policy = mr.Policy("narrow")
    policy.add(Narrow(answer))
    world = World(node("a"), pod("p"), policy=policy)
    world.run()
    return world


def test_plugins_that_leave_no_node_have_rejected_the_pod() -> None:
    world = narrowed(())
    assert world.events[0][2].startswith("0/1 nodes are available: node(s) didn't satisfy plugin N")
    assert world.core.queue.rejected == {("Narrow", "default-scheduler"): 1}


def test_a_pre_filter_plugin_that_cannot_answer_is_an_error() -> None:
    world = narrowed(fail("no idea"))
    note = 'running PreFilter plugin "Narrow": no idea'
    assert world.events == [("p", "FailedScheduling", note)]
    assert queued_as(world, "p") is SubQueue.ERROR_BACKOFF


def test_preempt_hooks_that_leave_nobody_are_told_of() -> None:
    policy = mr.Policy("kind")

    @policy.preempt
    def spare(pod: Pod, node: Node, victims: Any) -> bool:
        return False

    low = make_pod("low", node="a", requests={"cpu": "4"}, priority=-1)
    world = World(node("a"), low, pod("p", "4", priority=5), policy=policy)
    world.run()
    assert world.evicts == []
    assert world.events[0][2] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: no candidate node for preemption"
    )


class TestWrittenObjects:
    """What the API server answered counts at once, and events from before do not take it back."""

    def test_a_decision_sees_it_before_informers_do(self) -> None:
        world = World(claim("1"))
        world.core.report(ObjectWritten(claim("5", phase="Bound")), world.now)
        assert world.cluster.catalog.get(PersistentVolumeClaim, "default/c") == claim(
            "5", phase="Bound"
        )
        world.put(claim("3", phase="Lost"))
        found = world.cluster.catalog.get(PersistentVolumeClaim, "default/c")
        assert found is not None
        assert found.resource_version == "5"
        world.put(claim("6"))
        found = world.cluster.catalog.get(PersistentVolumeClaim, "default/c")
        assert found is not None
        assert found.resource_version == "6"

    def test_what_is_gone_by_then_does_not_come_back(self) -> None:
        world = World(claim("1"))
        world.delete(claim("4"))
        world.core.report(ObjectWritten(claim("3")), world.now)
        assert world.cluster.catalog.get(PersistentVolumeClaim, "default/c") is None

    def test_it_requeues_pods_as_an_event_does(self) -> None:
        waiting = pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
        world = World(node("a"), claim("1"), waiting)
        world.run()
        assert world.where("p") == ""
        bound = claim("5", phase="Bound", volume="pv")
        world.put(PersistentVolume.from_dict({"metadata": {"name": "pv"}}))
        world.core.report(ObjectWritten(bound), world.now)
        world.wait(10)
        assert world.where("p") == "a"


def claim(version: str, phase: str = "Pending", volume: str = "") -> PersistentVolumeClaim:
    return PersistentVolumeClaim.from_dict(
        {
            "metadata": {
                "name": "c", "namespace": "default", "uid": "u", "resourceVersion": version,
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"} if volume else {},
            },
            "spec": {"volumeName": volume, "accessModes": ["ReadWriteOnce"]},
            "status": {"phase": phase},
        }
    )  # fmt: skip
