"""Asking filters again and again: which ones are asked, and that the answers are the runtime's."""

from mooring.framework import hook
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Rejection
from mooring.framework.nodes import Nodes
from mooring.model.pod import Pod
from mooring.plugins.preemption.what_if_filters import WhatIfFilters
from mooring.testing import make_node, make_pod
from tests.unit.plugins.preemption.preemption_rig import Hidden, Rig, high, low

TAINT = {"key": "k", "effect": "NoSchedule"}


class Curious(hook.FilterNodes):
    """Somebody's own filter; nobody knows what it looks at."""

    name = "Curious"
    reason = "curious"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> list[bool]:
        self.asked.append(len(nodes))
        return [node.name != "odd" for node in nodes]


def reasons(rejections: dict[int, Rejection]) -> dict[int, tuple[str, str]]:
    return {row: (one.plugin, one.verdict.reason) for row, one in rejections.items()}


def test_filters_that_look_at_one_node_are_asked_for_all_at_once() -> None:
    nodes = [make_node("free"), make_node("full", cpu="1"), make_node("shut", taints=[TAINT])]
    rig = Rig(*nodes, low("a", "full"))
    cycle = Cycle(high("1"), rig.cluster)
    rig.runtime.filter_walk.run(cycle)
    filters = WhatIfFilters(rig.runtime, cycle, [0, 1, 2])
    assert not filters.one_by_one
    expected = {
        1: ("NodeResourcesFit", "Insufficient cpu"),
        2: ("TaintToleration", "node(s) had untolerated taint(s)"),
    }
    assert reasons(filters.rejections([2, 1, 0])) == expected
    rig.runtime.remove_pod(cycle, rig.cluster.pods_on(1)[0], 1)
    assert reasons(filters.rejections([0, 1])) == {}


def test_the_first_plugin_in_order_gives_the_reason() -> None:
    rig = Rig(make_node("n", cpu="1", taints=[TAINT]), make_node("m", cpu="1"), low("a", "n"))
    cycle = Cycle(high("1"), rig.cluster)
    rig.runtime.filter_walk.run(cycle)
    # The node is full and tainted; the taint is looked at first.
    for rows in ([0], [0, 1]):
        found = WhatIfFilters(rig.runtime, cycle, rows).rejections(rows)
        assert found[0] == rig.runtime.rejection(cycle, 0)
        assert found[0].plugin == "TaintToleration"


def test_somebody_elses_filter_is_asked_node_by_node() -> None:
    curious = Curious()
    rig = Rig(make_node("odd"), make_node("even"), more=[curious])
    cycle = Cycle(high("1"), rig.cluster)
    rig.runtime.filter_walk.run(cycle)
    filters = WhatIfFilters(rig.runtime, cycle, [0, 1])
    assert filters.one_by_one
    curious.asked.clear()
    assert reasons(filters.rejections([0, 1])) == {0: ("Curious", "curious")}
    assert curious.asked == [1, 1]


def test_a_filter_that_counts_pods_of_other_nodes_is_asked_node_by_node() -> None:
    constraint = {
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }  # fmt: skip
    rig = Rig(make_node("n", labels={"zone": "a"}))
    cycle = Cycle(high("1", spec={"topologySpreadConstraints": [constraint]}), rig.cluster)
    rig.runtime.filter_walk.run(cycle)
    assert WhatIfFilters(rig.runtime, cycle, [0]).one_by_one


def test_a_handle_that_shows_no_filters_is_asked_itself() -> None:
    rig = Rig(make_node("n", cpu="1"), low("a", "n"))
    cycle = Cycle(high("1"), rig.cluster)
    rig.runtime.filter_walk.run(cycle)
    hidden = Hidden(rig.runtime)
    assert reasons(WhatIfFilters(hidden, cycle, [0]).rejections([0])) == {
        0: ("NodeResourcesFit", "Insufficient cpu")
    }
    assert hidden.asked == 1


def test_nominated_pods_count() -> None:
    rig = Rig(make_node("n", cpu="2"), make_node("m", cpu="2"))
    rig.cluster.nominations.put(make_pod("x", requests={"cpu": "2"}, priority=100), "n")
    cycle = Cycle(high("1"), rig.cluster)
    rig.runtime.filter_walk.run(cycle)
    filters = WhatIfFilters(rig.runtime, cycle, [0, 1])
    expected = {0: ("NodeResourcesFit", "Insufficient cpu")}
    assert reasons(filters.rejections([0, 1])) == expected
    assert reasons(filters.rejections([0])) == expected
