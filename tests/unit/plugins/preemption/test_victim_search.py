"""The search for victims: whom it spares, in which order, and that it leaves no trace."""

import random
from collections.abc import Mapping

import pytest

from mooring.errors import PluginError
from mooring.framework import hook
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import ACCEPT, Verdicts, fail
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import PodDisruptionBudget
from mooring.plugins.preemption.disruption_budgets import DisruptionBudgets
from mooring.plugins.preemption.victim_search import VictimSearch, VictimSearchResult
from mooring.testing import make_node, make_pod
from tests.unit.plugins.preemption.preemption_rig import Hidden, Rig, budget, high, low

WEB = {"app": "web"}
PROTECTS_WEB = {"matchLabels": WEB}


def run(
    rig: Rig, pod: Pod, *, hidden: bool = False, limit: int | None = None, start: int = 0
) -> VictimSearchResult:
    cycle, filtering = rig.failed(pod)
    budgets = DisruptionBudgets(rig.cluster.catalog.all(PodDisruptionBudget).values())
    handle = Hidden(rig.runtime) if hidden else rig.runtime
    return VictimSearch(handle, cycle, budgets).run(filtering.resolvable, limit=limit, start=start)


def victims(candidates: Mapping[str, Candidate]) -> dict[str, list[str]]:
    return {node: [pod.name for pod in one.victims] for node, one in candidates.items()}


def small(name: str = "n", cpu: str = "4") -> Node:
    return make_node(name, cpu=cpu)


def test_the_most_important_pods_are_spared() -> None:
    pods = [low("p1", "n", 1), low("p3", "n", 3), low("p2", "n", 2), low("p0", "n", 0)]
    found = run(Rig(small(), *pods), high("2"))
    assert victims(found.candidates) == {"n": ["p1", "p0"]}
    assert found.rejected == {}


def test_a_small_pod_is_spared_though_a_more_important_one_is_not() -> None:
    pods = [low("big", "n", 5, cpu="3"), low("tiny", "n", 1, cpu="500m")]
    assert victims(run(Rig(small(), *pods), high("3")).candidates) == {"n": ["big"]}


def test_pods_of_the_same_priority_are_no_victims() -> None:
    found = run(Rig(small(), low("same", "n", 100, cpu="4")), high("1"))
    assert found.candidates == {}
    verdict = found.rejected["n"]
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == ("No preemption victims found for incoming pod",)


def test_where_no_preemption_helps_the_filters_say_why() -> None:
    rig = Rig(small(), low("stays", "n", 200, cpu="3"), low("goes", "n", 0, cpu="1"))
    found = run(rig, high("2"))
    assert found.candidates == {}
    assert found.rejected["n"].reasons == ("Insufficient cpu",)
    assert found.rejected["n"].code == "Unschedulable"


def test_protected_pods_are_spared_first() -> None:
    pods = [low("important", "n", 9), low("web-1", "n", 1, labels=WEB)]
    pods += [low("web-2", "n", 2, labels=WEB), low("other", "n", 0)]
    rig = Rig(small(), *pods, budget("b", 0, PROTECTS_WEB))
    # Two must go; both protected ones are put back before anybody else is tried.
    found = run(rig, high("2"))
    assert victims(found.candidates) == {"n": ["important", "other"]}
    assert found.candidates["n"].pdb_violations == 0


def test_victims_are_in_order_of_importance_though_protected_ones_were_tried_first() -> None:
    pods = [low("web-1", "n", 1, labels=WEB), low("mid", "n", 5), low("web-9", "n", 9, labels=WEB)]
    rig = Rig(small(cpu="3"), *pods, budget("b", 0, PROTECTS_WEB))
    found = run(rig, high("3"))
    assert victims(found.candidates) == {"n": ["web-9", "mid", "web-1"]}
    assert found.candidates["n"].pdb_violations == 2


def test_a_fixed_obstacle_behind_the_movable_one_is_reported_in_the_order_of_plugins() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    rig = Rig(
        make_node("tainted", cpu="1", taints=[taint]),
        make_node("full", cpu="1"),
        low("a", "tainted"), low("b", "full"),
    )  # fmt: skip
    cycle, filtering = rig.failed(high("1"))
    assert filtering.resolvable == [1]
    # Asked about all rows, whatever the filters said: the taint comes first and stays.
    found = VictimSearch(rig.runtime, cycle, DisruptionBudgets([])).run([0, 1])
    assert victims(found.candidates) == {"full": ["b"]}
    assert found.rejected["tainted"].reasons == ("node(s) had untolerated taint(s)",)


def test_pods_nominated_to_the_node_keep_their_room() -> None:
    rig = Rig(small(), low("a", "n", 1, cpu="2"), low("b", "n", 2, cpu="2"))
    nominated = make_pod("nominated", requests={"cpu": "2"}, priority=100)
    rig.cluster.nominations.put(nominated, "n")
    for hidden in (False, True):
        assert victims(run(rig, high("2"), hidden=hidden).candidates) == {"n": ["b", "a"]}
        assert run(rig, high("3"), hidden=hidden).rejected["n"].reasons == ("Insufficient cpu",)


class Grumpy(hook.FilterNodes):
    """Fails, or cannot answer, when a certain pod is off its node."""

    name = "Grumpy"

    def __init__(self, pod: str, *, raises: bool) -> None:
        self.pod = pod
        self.raises = raises

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:
        gone = [self.pod not in (one.name for one in node.pods) for node in nodes]
        if any(gone) and self.raises:
            raise RuntimeError("out of order")
        return Verdicts.each([fail("no idea") if one else ACCEPT for one in gone])


def test_a_filter_that_cannot_answer_is_named() -> None:
    rig = Rig(small(), low("a", "n", cpu="4"), more=[Grumpy("a", raises=False)])
    found = run(rig, high("1"))
    assert found.rejected["n"].error
    assert found.rejected["n"].reason == 'running "Grumpy" filter plugin: no idea'


@pytest.mark.parametrize("hidden", [False, True])
def test_a_filter_that_fails_is_named_and_leaves_the_state_as_it_was(hidden: bool) -> None:
    pods = [low("b", "n", 1, start="08:00"), low("c", "n", 1, start="08:00")]
    pods += [low("stays", "n", 200), low("a", "n", 1, start="08:00")]
    rig = Rig(small(), *pods, more=[Grumpy("c", raises=True)])
    before = rig.state()
    with pytest.raises(PluginError, match=r"plugin Grumpy failed in filter .*out of order"):
        run(rig, high("2"), hidden=hidden)
    assert rig.state() == before
    assert [pod.name for pod in rig.cluster.pods_on(0) if pod.priority == 1] == ["b", "c", "a"]


class Moody(hook.FilterNodes):
    """Rejects every node, then none, for no reason that preemption could change."""

    name = "Moody"
    rejects = True

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> list[bool]:
        return [not self.rejects] * len(nodes)


def test_a_node_on_which_nobody_has_to_leave_is_an_error() -> None:
    moody = Moody()
    rig = Rig(small(), low("a", "n"), low("b", "n"), more=[moody])
    cycle, filtering = rig.failed(high("1"))
    moody.rejects = False
    found = VictimSearch(rig.runtime, cycle, DisruptionBudgets([])).run(filtering.resolvable)
    assert found.rejected["n"] == fail('expected at least one victim pod on node "n"')


class Fragile(hook.WhatIf, hook.FilterNodes):
    """Fails when it is called because a pod came back."""

    name = "Fragile"

    def pre_filter(self, cycle: Cycle) -> None:
        cycle.data[self.name] = 0

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        raise RuntimeError("not again")

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        cycle.data[self.name] += 1

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> None:
        return None


def test_a_plugin_that_fails_while_a_pod_comes_back_leaves_the_state_as_it_was() -> None:
    rig = Rig(small(), low("a", "n", 1), low("b", "n", 2), low("c", "n", 3), more=[Fragile()])
    before = rig.state()
    with pytest.raises(PluginError, match="plugin Fragile failed in add_pod"):
        run(rig, high("2"))
    assert rig.state() == before


def test_equally_important_pods_keep_their_order_on_the_node() -> None:
    pods = [
        low(name, "n", 1, cpu=cpu, start="08:00")
        for name, cpu in (("a", "2"), ("b", "1"), ("c", "1"))
    ]
    rig = Rig(small(), *pods)
    for _ in range(3):
        assert victims(run(rig, high("2")).candidates) == {"n": ["b", "c"]}
        assert [pod.name for pod in rig.cluster.pods_on(0)] == ["a", "b", "c"]


def many(count: int, *, breaking: int = 0) -> Rig:
    """Full nodes; the first of them have pods that no budget allows to be preempted."""
    things: list[KubeObject] = [budget("b", 0, PROTECTS_WEB)]
    for number in range(count):
        things.append(make_node(f"n{number}", cpu="1"))
        labels = WEB if number < breaking else {}
        things.append(low(f"p{number}", f"n{number}", labels=labels))
    return Rig(*things)


def test_a_limit_ends_the_search() -> None:
    found = run(many(10), high("1"), limit=3)
    assert list(found.candidates) == ["n0", "n1", "n2"]
    assert found.rejected == {}


def test_the_search_starts_anywhere_and_goes_round() -> None:
    assert list(run(many(5), high("1"), limit=3, start=3).candidates) == ["n3", "n4", "n0"]
    assert len(run(many(5), high("1"), start=2).candidates) == 5


def test_it_goes_on_until_one_candidate_breaks_no_budget() -> None:
    found = run(many(10, breaking=6), high("1"), limit=2)
    # No more than two with broken budgets are kept; the harmless one comes first.
    assert list(found.candidates) == ["n6", "n0", "n1"]


def test_no_limit_looks_at_all_nodes() -> None:
    assert len(run(many(10, breaking=10), high("1")).candidates) == 10
    assert len(run(many(10, breaking=10), high("1"), limit=2).candidates) == 2


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["plain", "ports", "spread", "apart"])
def test_all_at_once_is_the_same_as_one_by_one(seed: int, kind: str) -> None:
    rng = random.Random(f"{seed} {kind}")
    things: list[KubeObject] = [budget("b", rng.randint(0, 2), PROTECTS_WEB)]
    for number in range(15):
        node = f"n{number}"
        cordoned, taints = rng.random() < 0.1, [{"key": "k", "effect": "NoSchedule"}]
        things.append(
            make_node(
                node, cpu="4", labels={"zone": f"z{number % 3}"}, unschedulable=cordoned,
                taints=taints if rng.random() < 0.1 else (),
            )
        )  # fmt: skip
        for index in range(rng.randint(0, 5)):
            port = rng.choice([80, 443, 0])
            ports = [{"containerPort": 1, "hostPort": port}] if port else []
            things.append(
                low(
                    f"p{number}-{index}", node, rng.choice([0, 1, 1, 2, 200]),
                    cpu=rng.choice(["500m", "1", "2"]), start=rng.choice(["08:00", "09:00", ""]),
                    labels=rng.choice([WEB, {"app": "db"}, {}]),
                    spec={"containers": [{"name": "c", "image": "i", "ports": ports, "resources":
                          {"requests": {"cpu": rng.choice(["500m", "1", "2"])}}}]},
                )
            )  # fmt: skip
    selector = {"matchLabels": {"app": "web"}}
    spec: dict[str, object] = {}
    if kind == "ports":
        spec["containers"] = [
            {"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 80}],
             "resources": {"requests": {"cpu": "4"}}}
        ]  # fmt: skip
    if kind == "spread":
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": selector}
        ]  # fmt: skip
    if kind == "apart":
        term = {"topologyKey": "zone", "labelSelector": selector}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        spec["affinity"] = {"podAntiAffinity": {required: [term]}}
    rig = Rig(*things)
    if seed % 3 == 0:
        rig.cluster.nominations.put(make_pod("x", requests={"cpu": "1"}, priority=500), "n3")
    pod = high(str(rng.choice([3, 4])), labels=WEB, spec=spec)
    cycle = Cycle(pod, rig.cluster)
    filtering = rig.runtime.filter_walk.run(cycle)
    rows = filtering.resolvable
    before, order = rig.state(), [rig.cluster.pods_on(row) for row in range(15)]
    budgets = DisruptionBudgets(rig.cluster.catalog.all(PodDisruptionBudget).values())
    quick = VictimSearch(rig.runtime, cycle, budgets).run(rows)
    assert rig.state() == before
    slow = VictimSearch(Hidden(rig.runtime), cycle, budgets).run(rows)
    assert rig.state() == before
    assert victims(quick.candidates) == victims(slow.candidates)
    assert quick == slow
    for row in range(15):  # equals keep their order
        for priority in (0, 1, 2):
            ranked = [pod.name for pod in order[row] if pod.priority == priority]
            now = [pod.name for pod in rig.cluster.pods_on(row) if pod.priority == priority]
            starts = {pod.name: pod.status.start_time for pod in order[row]}
            for start in set(starts.values()):
                assert [n for n in now if starts[n] == start] == [
                    n for n in ranked if starts[n] == start
                ]
