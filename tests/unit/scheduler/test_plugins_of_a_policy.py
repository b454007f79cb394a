"""Plugins that are added to a policy, in mooring's own scheduler."""

from collections.abc import Sequence

import pytest

import mooring as mr
from mooring import hook, kinds
from mooring.testing import make_node, make_pod
from tests.unit.scheduler.world import World


class Everybody(hook.FilterNodes):
    """Has nothing to say about any node."""

    def filter_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> hook.FilterAnswers:
        return None


class Fullest(hook.Score):
    """Looks the nodes up in what it was attached to."""

    def attach(self, handle: hook.Handle) -> None:
        self.handle = handle

    def score(self, pod: mr.Pod, node: mr.Node) -> float:
        return 100 if node.name == max(self.handle.cluster.nodes) else 0


class Never(hook.Filter, hook.Requeues):
    """Rejects every node, and knows what helps."""

    def __init__(self, name: str, *helps: hook.RequeueHint) -> None:
        self.name = name
        self.helps = helps
        self.asked = 0

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
        self.asked += 1
        return False

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        return self.helps


def policy_of(*plugins: hook.Hook) -> mr.Policy:
    policy = mr.Policy("p")
    for one in plugins:
        policy.add(one)
    return policy


def test_none_accepts_all_nodes() -> None:
    world = World(make_node("a"), make_pod("p"), policy=policy_of(Everybody()))
    world.run()
    assert world.where("p") == "a"


def test_one_with_simple_hooks_is_attached() -> None:
    nodes = [make_node(name) for name in "abc"]
    world = World(*nodes, make_pod("p"), policy=policy_of(Fullest()))
    world.run()
    assert world.where("p") == "c"
    assert world.events[-1][1] == "Scheduled"


NODE_ADDED = hook.RequeueHint(mr.Node, hook.Action.ADD)
CLASS_ADDED = hook.RequeueHint(kinds.StorageClass, hook.Action.ADD)


class TestRequeueHints:
    @pytest.mark.parametrize(("helps", "tries"), [((), 1), ((CLASS_ADDED,), 1), ((NODE_ADDED,), 2)])
    def test_count_if_every_filter_has_them(
        self, helps: tuple[hook.RequeueHint, ...], tries: int
    ) -> None:
        plugins = [Never("one", *helps), Never("other")]
        world = World(make_node("a"), make_pod("p"), policy=policy_of(*plugins))
        world.run()
        world.put(make_node("b"))
        world.wait(20)
        first_time, again = 1, 2  # nodes
        assert plugins[0].asked == (first_time if tries == 1 else first_time + again)

    def test_do_not_count_beside_a_function(self) -> None:
        plugin = Never("one")
        policy = policy_of(plugin)
        policy.filter(name="other")(lambda pod, node: True)  # noqa: ARG005
        world = World(make_node("a"), make_pod("p"), policy=policy)
        world.run()
        world.put(make_node("b"))
        world.wait(20)
        assert plugin.asked == 3
