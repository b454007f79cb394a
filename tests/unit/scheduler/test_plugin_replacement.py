"""Other plugins decide from now on: what becomes of pods, remembered answers and old plugins."""

from typing import Any

import pytest

import mooring as mr
from mooring import Node, Pod, hook
from mooring.config.runtimes import build_profiles
from mooring.errors import InputError
from mooring.framework.cycle import Cycle
from mooring.plugins.in_tree import default_registry
from mooring.scheduler.plugin_replacement import prepare
from mooring.scheduler.queued_pod import SubQueue
from mooring.state.aspects import Aspect
from mooring.testing import make_node
from tests.unit.scheduler.test_binding_cycles import pod
from tests.unit.scheduler.world import World


class Holding(hook.Reserve, hook.Permit):
    """Answers what a test says to Permit, and knows which pods it holds something for."""

    def __init__(self, name: str = "Holding", permit: Any = None) -> None:
        self.name = name
        self.answer = permit
        self.held: list[str] = []

    def reserve(self, cycle: Cycle, node: Node) -> None:
        self.held.append(cycle.pod.name)

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        self.held.remove(cycle.pod.name)

    def permit(self, cycle: Cycle, node: Node) -> Any:
        return self.answer


def policy(*plugins: hook.Hook, accept: bool | None = None, name: str = "test") -> mr.Policy:
    made = mr.Policy(name)
    for plugin in plugins:
        made.add(plugin)
    if accept is not None:
        made.filter(name="decide", reason="not today")(lambda *_: accept)
    return made


def replace(world: World, old: mr.Policy, new: mr.Policy, config: Any = None) -> None:
    """Let another policy decide, as ``--reload`` does."""
    registry = default_registry()
    profiles = build_profiles(config, registry, [new])
    names = {made.name for made in (old, new)}
    names |= {one.name for made in (old, new) for one in made.plugins}
    prepared = prepare(world.runtimes, profiles, registry, names)
    world.core.replace_plugins(prepared, world.now)


def test_pods_that_the_old_policy_rejected_are_tried_again_at_once() -> None:
    old = policy(accept=False)
    world = World(make_node("a"), pod("p"), policy=old)
    world.run()
    assert world.core.queue.get("default/p") is not None
    assert world.conditions[-1][2].startswith("0/1 nodes are available: 1 not today.")
    replace(world, old, policy(accept=True))
    world.run()  # no time has passed
    assert world.where("p") == "a"


def test_pods_after_an_error_do_not_wait_for_their_backoff() -> None:
    old = mr.Policy("test")

    @old.filter
    def broken(pod: Pod, node: Node) -> bool:
        raise KeyError("gpu")

    world = World(make_node("a"), pod("p"), policy=old)
    world.run()
    queued = world.core.queue.get("default/p")
    assert queued is not None
    assert queued.sub_queue is SubQueue.ERROR_BACKOFF
    replace(world, old, policy(accept=True))
    world.run()
    assert world.where("p") == "a"


def test_a_gated_pod_is_let_in_by_the_new_policy() -> None:
    class Gate(hook.PreEnqueue):
        name = "Gate"

        def __init__(self, *, shut: bool) -> None:
            self.shut = shut

        def pre_enqueue(self, pod: Pod) -> bool:
            return not self.shut

    old = policy(Gate(shut=True))
    world = World(make_node("a"), pod("p"), policy=old)
    world.run()
    queued = world.core.queue.get("default/p")
    assert queued is not None
    assert queued.sub_queue is SubQueue.GATED
    replace(world, old, policy(Gate(shut=False)))
    world.run()
    assert world.where("p") == "a"


def test_a_pod_that_waits_for_a_replaced_plugin_gives_its_place_back_and_is_tried_again() -> None:
    before, after = Holding(permit=hook.Wait(60)), Holding()
    old = policy(before)
    world = World(make_node("a"), pod("p"), policy=old)
    world.run()
    assert (len(world.core.waiting), before.held, world.used) == (1, ["p"], [1000])
    replace(world, old, policy(after))
    world.run()
    assert world.conditions[-1][1:] == (
        "Unschedulable",
        "0/1 nodes are available: 1 plugin Holding was replaced while the pod waited for it.",
    )
    assert (before.held, after.held) == ([], ["p"])  # each gave back what it had
    assert world.where("p") == "a"


def test_a_pod_that_waits_for_a_plugin_that_stays_goes_on_waiting() -> None:
    class Package(Holding):
        """Of an installed package; the policy has another plugin."""

    waits, before, after = Package("Package", hook.Wait(60)), Holding(), Holding()
    old = policy(waits, before)
    world = World(make_node("a"), pod("p"), policy=old)
    world.run()
    registry = default_registry()
    new = policy(waits, after)
    profiles = build_profiles(None, registry, [new])
    prepared = prepare(world.runtimes, profiles, registry, {"test", "Holding"})
    world.core.replace_plugins(prepared, world.now)
    world.run()
    waiting = world.core.waiting.get("default/p")
    assert waiting is not None
    waiting.reject("Package", "no")
    world.do(world.core.tick(world.now))
    assert (before.held, after.held) == ([], [])  # who reserved is told, and nobody else


def test_a_pod_that_is_being_bound_stays_with_the_plugins_that_chose_its_node() -> None:
    before, after = Holding(), Holding()
    old = policy(before)
    world = World(make_node("a"), policy=old)
    world.prompt = False
    world.put(pod("p"))
    world.run()
    hooks = world.runtimes["default-scheduler"].binding_hooks
    replace(world, old, policy(after))
    effect = world.binds[0]
    assert effect.hooks is hooks
    assert hooks is not world.runtimes["default-scheduler"].binding_hooks
    world.reject(effect)
    assert (before.held, after.held) == ([], [])


def test_what_the_old_plugin_remembered_is_forgotten() -> None:
    class Remembers(hook.FilterNodes):
        name = "Remembers"

        def __init__(self, *, accept: bool) -> None:
            self.accept = accept

        def filter_nodes(self, pod: Pod, nodes: mr.Nodes) -> Any:
            return nodes.columns.remember(
                (self.name,), lambda: [self.accept] * len(nodes), Aspect.LABELS
            )

    old = policy(Remembers(accept=False))
    world = World(make_node("a"), pod("p"), policy=old)
    world.run()
    assert world.where("p") == ""
    world.cluster.shapes.of_stranger(pod("p")).data["Remembers"] = 1
    replace(world, old, policy(Remembers(accept=True)))
    world.run()
    assert world.where("p") == "a"
    assert "Remembers" not in world.cluster.shapes.of_stranger(pod("p")).data


def test_requeue_hints_are_those_of_the_new_policy() -> None:
    class Patient(hook.PreFilter, hook.Requeues):
        name = "Patient"

        def __init__(self, kind: type[Any]) -> None:
            self.kind = kind

        def pre_filter(self, cycle: Cycle) -> Any:
            return mr.reject("not now")

        def requeue_on(self) -> list[hook.RequeueHint]:
            return [hook.RequeueHint(self.kind, hook.Action.ADD)]

    old = policy(Patient(Pod))
    world = World(make_node("a"), pod("p"), policy=old)
    world.run()
    replace(world, old, policy(Patient(Node)))
    world.run()
    tries = len(world.conditions)
    world.put(make_node("b"))
    world.wait(30)
    assert len(world.conditions) == tries + 1


def test_plugins_that_are_not_replaced_stay_the_same_objects() -> None:
    old = policy(accept=True)
    world = World(make_node("a"), policy=old)
    runtime = world.runtimes["default-scheduler"]
    before = dict(runtime.plugins)
    replace(world, old, policy(accept=False))
    assert runtime.plugins.keys() == before.keys()
    assert [name for name, one in runtime.plugins.items() if one is not before[name]] == ["test"]


@pytest.mark.parametrize("what", ["hints", "scope"])
def test_a_plugin_that_cannot_be_used_changes_nothing(what: str) -> None:
    class Broken(hook.PreFilter, hook.FilterNodes, hook.Requeues):
        name = "Broken"

        def pre_filter(self, cycle: Cycle) -> Any:
            raise AssertionError("nobody asks it")

        def filter_nodes(self, pod: Pod, nodes: mr.Nodes) -> Any:
            raise AssertionError("nobody asks it")

        def requeue_on(self) -> list[hook.RequeueHint]:
            if what == "hints":
                raise KeyError("hints")
            return []

        @property
        def filter_scope(self) -> Any:
            if what == "scope":
                raise KeyError("scope")
            return hook.Scope.CLUSTER

        @filter_scope.setter
        def filter_scope(self, value: object) -> None: ...

    old = policy(accept=True)
    world = World(make_node("a"), policy=old)
    with pytest.raises((InputError, KeyError)):
        replace(world, old, policy(Broken()))
    world.put(pod("p"))
    world.run()
    assert world.where("p") == "a"


def test_all_or_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong in the second profile, the first one has its old plugins again."""
    config = {"profiles": [{"schedulerName": "one"}, {"schedulerName": "two"}]}
    old = policy(accept=True)
    world = World(make_node("a"), policy=old, config=config)
    points = {name: runtime.points for name, runtime in world.runtimes.items()}
    second = world.runtimes["two"]
    install, failed = second.install, list[object]()

    def fail_once(*args: Any) -> None:
        if not failed:
            failed.append(args)
            raise KeyError("scope")
        install(*args)

    monkeypatch.setattr(second, "install", fail_once)
    with pytest.raises(KeyError, match="scope"):
        replace(world, old, policy(accept=False), config)
    assert {name: runtime.points for name, runtime in world.runtimes.items()} == points
