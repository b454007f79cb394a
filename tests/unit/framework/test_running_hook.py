"""Who is asked can be read from the stack, whatever is asked and however."""

import asyncio
import sys
import traceback
from collections.abc import Iterator, Sequence
from types import MethodType
from typing import Any

import mooring as mr
from mooring import hook
from mooring.framework import foreign
from mooring.framework.binding import Binding
from mooring.framework.binding_hooks import BindingHooks
from mooring.framework.cycle import Cycle
from mooring.framework.extension_points import PluginAtPoint
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_calls import filter_asker
from mooring.framework.policy_plugin import PolicyBind, PolicyFilter, PolicyPreempt, PolicyScore
from mooring.framework.remedies.remedy_calls import RemedyQuestion
from mooring.framework.running_hook import Asked, asked_in, rule_in, traceback_of, waiting_frames
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

POD = make_pod("web")
NODE = make_node("a")
BINDING = Binding(namespace="default", name="web", uid="1", node_name="a", pod=POD)
seen: list[Asked] = []


def look(*_: Any) -> Any:
    """A plugin's library."""
    seen.append(asked_in(sys._getframe()))
    return True


class Gate(hook.Filter, hook.Reserve, hook.Permit, hook.PreBind, hook.WhatIf):
    """A plugin without a name of its own."""

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool:
        return bool(look())

    def pre_filter(self, cycle: Cycle) -> None:
        look()

    def add_pod(self, cycle: Cycle, pod: mr.Pod, row: int) -> None:
        look()

    def remove_pod(self, cycle: Cycle, pod: mr.Pod, row: int) -> None:
        look()

    def reserve(self, cycle: Cycle, node: mr.Node) -> bool:
        return bool(look())

    def unreserve(self, cycle: Cycle, node: mr.Node) -> None:
        look()

    def permit(self, cycle: Cycle, node: mr.Node) -> bool:
        return bool(look())

    async def pre_bind(self, binding: Binding) -> None:
        await asyncio.sleep(0)
        look()


class Proposing(hook.Remedies):
    """Knows what would help."""

    def remedies(self, case: hook.RemedyCase) -> Iterator[hook.Remedy]:
        look()
        yield from ()


def told() -> list[str]:
    found = [str(one) for one in seen]
    seen.clear()
    return found


def test_a_plugin_that_says_what_would_help() -> None:
    case = hook.RemedyCase(POD, NODE, mr.reject("no"), Cluster(), lambda _: False)
    assert RemedyQuestion("Proposing", Proposing(), case).ask() == []
    assert told() == ["plugin Proposing in remedies for pod default/web"]


def test_a_plugin_with_hooks() -> None:
    plugin = Gate()
    placing = BindingHooks(
        {point: [PluginAtPoint("Gate", plugin, 1)] for point in ("reserve", "permit")}
    )
    cycle = Cycle(POD, Cluster())
    placing.reserve(cycle, NODE)
    placing.permit(cycle, NODE)
    placing.unreserve(cycle, NODE)
    filter_asker(plugin, "Gate").ask(POD, Nodes([NODE]))
    foreign.call(plugin.add_pod, cycle, make_pod("another"), 0)
    asyncio.run(_waits(plugin))
    hooks = ("reserve", "permit", "unreserve", "filter", "add_pod", "pre_bind")
    assert told() == [f"plugin Gate in {one} for pod default/web" for one in hooks]


async def _waits(plugin: Gate) -> None:
    await foreign.wait(plugin.pre_bind, BINDING)


def test_a_policy_with_functions() -> None:
    policy = mr.Policy("troubled")
    policy.filter(name="one")(look)
    policy.filter_nodes(name="all")(look_at_all)
    policy.score(name="rate")(look_at_score)
    policy.preempt(name="spare")(look)
    policy.bind(name="note")(look)
    nodes = Nodes([NODE])
    PolicyFilter(policy).filter_nodes(POD, nodes)
    PolicyScore(policy).score_nodes(POD, nodes)
    PolicyPreempt(policy).preempt(POD, NODE, [make_pod("victim")])
    asyncio.run(_binds(PolicyBind(policy)))
    functions = (
        "filter 'one'",
        "filter_nodes 'all'",
        "score 'rate'",
        "preempt 'spare'",
        "bind 'note'",
    )
    assert told() == [f"plugin troubled in {one} for pod default/web" for one in functions]


async def _binds(plugin: PolicyBind) -> None:
    await plugin.bind(BINDING)


def look_at_all(pod: mr.Pod, nodes: Sequence[mr.Node]) -> list[bool]:
    return [bool(look()) for _ in nodes]


def look_at_score(pod: mr.Pod, node: mr.Node) -> float:
    look()
    return 50


def test_what_is_not_known_is_left_out() -> None:
    assert str(asked_in(None)) == "a plugin"
    look()
    foreign.call(look)
    foreign.call(look, POD)
    assert told() == ["a plugin", "a plugin", "a plugin for pod default/web"]


def test_what_plugins_hand_over_is_not_run() -> None:
    class Hostile:
        __class__ = property(lambda _: sys.exit(5))

        def __getattr__(self, name: str) -> Any:
            sys.exit(6)

        def __call__(self, *args: object) -> None:
            look()

    foreign.call(Hostile(), Hostile(), POD)
    assert told() == ["a plugin for pod default/web"]


def test_nor_is_anything_of_the_plugin_itself() -> None:
    """It may hang, and who asks may be the one who would interrupt it."""
    run: list[str] = []

    class Asks:
        def __call__(self, *_: object) -> None:
            look()

        def __getattr__(self, name: str) -> Any:
            run.append(name)
            return "asks"

    class Named(Gate):
        @property
        def name(self) -> str:  # type: ignore[override]
            run.append("name")
            return "mine"

    plugin = Named()
    foreign.call(plugin.reserve, Cycle(POD, Cluster()), NODE)
    foreign.call(MethodType(Asks(), plugin), POD)
    assert told() == [
        "plugin Named in reserve for pod default/web",
        "plugin Named for pod default/web",
    ]
    assert run == []


def test_a_function_that_waits_is_found_in_its_coroutine() -> None:
    policy = mr.Policy("troubled")

    async def library() -> None:
        await asyncio.get_running_loop().create_future()

    @policy.bind
    async def waits(binding: mr.Binding) -> None:
        await library()

    async def main() -> None:
        work = foreign.wait(PolicyBind(policy).bind, BINDING)
        task = asyncio.ensure_future(work)
        await asyncio.sleep(0)
        frames = waiting_frames(work)
        assert rule_in(frames) is policy.binds[0]
        shown = traceback.format_tb(traceback_of(frames))
        assert "await library()" in shown[-2]
        assert "create_future()" in shown[-1]
        task.cancel()

    asyncio.run(main())
    assert rule_in([sys._getframe()]) is None
    assert waiting_frames(None) == []
