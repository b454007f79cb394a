"""What is kept for pods that are alike, as authors of plugins see it: who is asked, and when."""

import gc
import weakref
from collections.abc import Hashable

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from mooring import Node, Nodes, Pod, Verdict, accept_if, hook, kinds
from mooring.errors import PluginError
from mooring.framework.arrays import Amounts
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Scoring
from mooring.framework.decisions.observer import NOBODY, Observer
from mooring.framework.filtering import Filtering, PreFilterResult, Rejection
from mooring.framework.handle import Handle
from mooring.framework.runtime import Runtime
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdicts, fail
from mooring.state.cluster import Cluster
from mooring.state.memory_bounds import MemoryBounds
from mooring.testing import make_node, make_pod
from tests.property.test_equivalence_classes import default_runtime
from tests.unit.framework.deciding import decide_alone
from tests.unit.framework.test_runtime import chosen, runtime


class Fits(hook.Filter, hook.Sign):
    """Accepts nodes with so many CPUs; notes which nodes it is asked about."""

    name = "Fits"
    filter_scope = Scope.ROW

    def __init__(self) -> None:
        self.asked: list[str] = []

    def filter(self, pod: Pod, node: Node) -> Verdict:
        self.asked.append(node.name)
        return accept_if(node.free["cpu"] >= pod.requests["cpu"], "too small")

    def sign(self, pod: Pod) -> Hashable:
        return pod.requests["cpu"]


class Prefers(hook.ScoreNodes, hook.Normalize, hook.Sign):
    """Prefers nodes by the number in a label; the best of the possible ones gets 100."""

    name = "Prefers"
    score_scope = Scope.NODES

    def __init__(self) -> None:
        self.asked = 0

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:
        self.asked += 1
        return np.array([int(node.labels.get("good", "0")) for node in nodes], np.int64)

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:
        return scores * 100 // max(int(scores.max()), 1)

    def sign(self, pod: Pod) -> Hashable:
        return ()


class PrefersNames(hook.Score):
    """Prefers a node, moderately."""

    name = "PrefersNames"

    def __init__(self, best: str) -> None:
        self.best = best

    def score(self, pod: Pod, node: Node) -> float:
        return 60 if node.name == self.best else 0


class EveryScore(Observer):
    """Has every plugin asked."""

    each_score = True


def pod(name: str, cpu: str = "1") -> Pod:
    return make_pod(name, requests={"cpu": cpu})


def place(made: Runtime, name: str, node: str, cpu: str = "1") -> None:
    made.cluster.assume(pod(name, cpu), node)


class TestWhoIsAsked:
    def test_after_two_pods_only_nodes_that_changed_are_looked_at(self) -> None:
        plugin = Fits()
        made = runtime(plugin, nodes="abcdefghi")
        for number in range(2):
            assert len(chosen(made, pod(f"p{number}"))) == 9
        plugin.asked.clear()
        place(made, "q", "c", cpu="4")
        assert chosen(made, pod("p2")) == list("abdefghi")
        assert plugin.asked == ["c"]

    def test_another_signature_is_another_class(self) -> None:
        plugin = Fits()
        made = runtime(plugin, nodes="ab")
        place(made, "q", "a", cpu="2")
        for number in range(3):
            assert chosen(made, pod(f"small-{number}")) == ["a", "b"]
            assert chosen(made, pod(f"large-{number}", cpu="3")) == ["b"]

    @pytest.mark.parametrize("scope", [Scope.ROW, Scope.NODES])
    def test_a_plugin_that_reads_objects_hears_of_their_changes(self, scope: Scope) -> None:
        class HasDriver(Fits):
            filter_scope = scope
            reads = (kinds.CSINode,)

            def filter(self, pod: Pod, node: Node) -> Verdict:
                found = made.cluster.catalog.get(kinds.CSINode, node.name)
                return accept_if(found is not None, "no driver")

        made = runtime(HasDriver(), nodes="ab")
        csi_nodes = [kinds.CSINode.from_dict({"metadata": {"name": name}}) for name in "ab"]
        for one in csi_nodes:
            made.cluster.put(one)
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == ["a", "b"]
        made.cluster.remove(csi_nodes[0])
        assert chosen(made, pod("p3")) == ["b"]

    def test_a_plugin_that_says_nothing_is_asked_every_time(self) -> None:
        class Clock(hook.Filter):
            name = "Clock"
            hour = 1

            def filter(self, pod: Pod, node: Node) -> Verdict:
                return accept_if(node.name == "a" or self.hour > 1, "too early")

        clock = Clock()
        made = runtime(Fits(), clock, nodes="ab")
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == ["a"]
        clock.hour = 2
        assert chosen(made, pod("later")) == ["a", "b"]

    def test_a_score_that_says_nothing_is_added_to_what_is_kept(self) -> None:
        names = PrefersNames("b")
        made = runtime(Fits(), names, nodes="abc")
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == ["b"]
        names.best = "c"
        assert chosen(made, pod("p3")) == ["c"]


def test_what_plugins_of_others_prepare_is_not_kept() -> None:
    class Narrows(hook.PreFilter, Fits):
        name = "Narrows"

        def pre_filter(self, cycle: Cycle) -> list[str]:
            nodes = cycle.cluster.nodes.values()
            return [node.name for node in nodes if node.free["cpu"] == 4000]

    made = runtime(Narrows(), nodes="abc")
    for number in range(3):
        assert chosen(made, pod(f"p{number}")) == list("abc")[number:]
        place(made, f"q{number}", "abc"[number])


class TestNormalizing:
    def nodes(self, made: Runtime) -> None:
        for name, good in (("a", "100"), ("b", "50"), ("c", "10")):
            made.cluster.put_node(make_node(name, cpu="4", labels={"good": good}))

    def test_counts_the_nodes_that_are_possible_now(self) -> None:
        # Without a, b has 100 and beats c, which has 20 + 60; with it, b would have 50.
        made = runtime(Fits(), Prefers(), PrefersNames("c"), nodes="abc")
        self.nodes(made)
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == ["a"]
        place(made, "q", "a", cpu="4")
        for number in range(3, 6):
            assert chosen(made, pod(f"p{number}")) == ["b"]

    def test_is_not_kept_for_plugins_of_others(self) -> None:
        # It gets all possible nodes, and may keep or change the arrays that it gets.
        plugin = Prefers()
        made = runtime(Fits(), plugin, nodes="abc")
        self.nodes(made)
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == ["a"]
        assert plugin.asked == 3


class Speed(hook.Score, hook.Sign):
    """The number in a label, which only some nodes have."""

    name = "Speed"
    score_scope = Scope.NODES

    def __init__(self) -> None:
        self.asked: list[str] = []

    def score(self, pod: Pod, node: Node) -> float:
        self.asked.append(node.name)
        return float(node.labels["speed"])

    def sign(self, pod: Pod) -> Hashable:
        return ()


class TestScores:
    def runtime(self, *speeds: str) -> tuple[Runtime, Speed]:
        """Nodes with these speeds, and full ones without."""
        plugin = Speed()
        made = runtime(Fits(), plugin, nodes="xyz")
        for name in "xyz":
            place(made, f"full-{name}", name, cpu="4")
        for name, speed in zip("abcd", speeds, strict=False):
            made.cluster.put_node(make_node(name, cpu="4", labels={"speed": speed}))
        return made, plugin

    def test_are_asked_about_nodes_that_the_filters_leave(self) -> None:
        made, plugin = self.runtime("10", "90")
        for number in range(4):
            assert chosen(made, pod(f"p{number}")) == ["b"]
        assert set(plugin.asked) == {"a", "b"}

    def test_are_asked_about_a_node_that_becomes_possible(self) -> None:
        made, _ = self.runtime("10", "90")
        made.cluster.put_node(make_node("x", cpu="4", labels={"speed": "99"}))
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == ["b"]
        made.cluster.remove_pod("default/full-x")
        assert chosen(made, pod("last")) == ["x"]

    def test_that_are_not_kept_are_not_asked_about_the_only_node(self) -> None:
        class Angry(hook.Score):
            name = "Angry"

            def score(self, pod: Pod, node: Node) -> float:
                raise ValueError("nobody should ask")

        made = runtime(Fits(), Angry(), nodes="ab")
        place(made, "q", "b", cpu="4")
        for number in range(4):
            assert chosen(made, pod(f"p{number}")) == ["a"]

    def test_follow_a_node_that_changes(self) -> None:
        made, _ = self.runtime("10", "90")
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == ["b"]
        made.cluster.put_node(make_node("a", cpu="4", labels={"speed": "95"}))
        assert chosen(made, pod("last")) == ["a"]

    def test_forget_a_node_that_is_gone(self) -> None:
        made, _ = self.runtime("10", "90", "90")
        for number in range(3):
            assert chosen(made, pod(f"p{number}")) == ["b", "c"]
        made.cluster.remove_node("c")
        decision = decide_alone(made, pod("last"))
        assert [made.cluster.columns.nodes[row].name for row in decision.best] == ["b"]
        assert decision.filtering.size == 5


def test_what_a_filter_leaves_for_later_hooks_is_there_for_every_pod() -> None:
    class Numa(hook.FilterNodes, hook.Reserve, hook.Sign):
        name = "Numa"
        filter_scope = Scope.ROW

        def filter_nodes(self, pod: Pod, nodes: Nodes) -> None:
            nodes.cycle.data[self.name] = pod.name

        def reserve(self, cycle: Cycle, node: Node) -> None:
            assert cycle.data[self.name] == cycle.pod.name

        def unreserve(self, cycle: Cycle, node: Node) -> None:
            pass

        def sign(self, pod: Pod) -> Hashable:
            return ()

    plugin = Numa()
    made = runtime(Fits(), plugin, nodes="ab")
    for number in range(4):
        decision = decide_alone(made, pod(f"p{number}"))
        plugin.reserve(decision.cycle, made.cluster.columns.nodes[0])


class LooksAgain:
    """Asks all filters about a node, and with another pod there."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def look(self, cycle: Cycle, row: int) -> None:
        assert self.handle.rejection(cycle, row) is None
        self.handle.add_pod(cycle, make_pod("what-if", labels={"app": "web"}), row)


class LooksInPreScore(LooksAgain, hook.PreScore):
    name = "LooksInPreScore"

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> None:
        self.look(cycle, 0)


class LooksInScore(LooksAgain, hook.ScoreNodes):
    name = "LooksInScore"

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:
        assert self.handle.rejection(nodes.cycle, 0) is None
        return np.zeros(len(nodes), np.int64)


class LooksInReserve(LooksAgain, hook.Reserve):
    name = "LooksInReserve"

    def reserve(self, cycle: Cycle, node: Node) -> None:
        self.look(cycle, cycle.cluster.columns.row_of[node.name])

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        pass


class LooksInPermit(LooksAgain, hook.Permit):
    name = "LooksInPermit"

    def permit(self, cycle: Cycle, node: Node) -> None:
        self.look(cycle, cycle.cluster.columns.row_of[node.name])


@pytest.mark.parametrize("plugin", [LooksInPreScore, LooksInScore, LooksInReserve, LooksInPermit])
def test_filters_are_ready_for_hooks_that_ask_them_again(plugin: type[hook.Hook]) -> None:
    spread = {
        "maxSkew": 2,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "other"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    made = default_runtime(cluster_of(3), plugin)
    for number in range(4):
        web = make_pod(
            f"p{number}",
            labels={"app": "web"},
            spec={"topologySpreadConstraints": [spread], "affinity": apart},
        )
        made.cluster.put(web)
        decision = decide_alone(made, web)
        node = made.cluster.columns.nodes[int(decision.best[0])]
        made.cluster.assume(web, node.name)
        assert made.binding_hooks.reserve(decision.cycle, node) == ()
        assert made.binding_hooks.permit(decision.cycle, node) == {}


@pytest.mark.parametrize("point", ["preFilter", "preScore"])
def test_a_plugin_that_is_not_prepared_fails_for_every_pod_alike(point: str) -> None:
    disabled = {point: {"disabled": [{"name": "PodTopologySpread"}]}}
    made = default_runtime(cluster_of(3), plugins=disabled)
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": action,
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        for action in ("DoNotSchedule", "ScheduleAnyway")
    ]
    for number in range(3):
        web = make_pod(
            f"p{number}",
            labels={"app": "web"},
            spec={"topologySpreadConstraints": constraints},
        )
        with pytest.raises(PluginError, match="PodTopologySpread"):
            decide_alone(made, web)


def test_a_score_out_of_range_fails_as_if_everybody_were_asked() -> None:
    class Wild(hook.Score, hook.Sign):
        name = "Wild"
        score_scope = Scope.ROW

        def score(self, pod: Pod, node: Node) -> float:
            return 60.0 * len(node.pods)

        def sign(self, pod: Pod) -> Hashable:
            return ()

    made = runtime(Wild(), nodes="abcdefgh")
    for number in range(2):
        chosen(made, pod(f"p{number}"))
    place(made, "q", "c")
    assert chosen(made, pod("r")) == ["c"]
    place(made, "r", "c")
    for number in range(2):
        with pytest.raises(PluginError, match="Wild"):
            decide_alone(made, pod(f"s{number}"))


def test_sums_that_wrap_around_get_the_same_answer_as_if_everybody_were_asked() -> None:
    cluster = cluster_of(40)
    made = default_runtime(cluster)
    for number in range(6):
        small = make_pod(f"p{number}", requests={"cpu": "1", "memory": "1Mi"})
        kept = decide_alone(made, small)
        everybody = decide_alone(made, small, EveryScore())
        assert list(kept.best) == list(everybody.best)
        huge = make_pod(f"huge-{number}", requests={"memory": str(2**62)}, node="n2")
        cluster.put_pod(huge)


def test_a_runtime_that_is_gone_leaves_nothing_behind() -> None:
    # A fork shares the descriptions of templates with its cluster.
    cluster = Cluster()
    for name in "abc":
        cluster.put_node(make_node(name, cpu="4"))
    cluster.put_pod(make_pod("there", requests={"cpu": "1"}, node="a"))
    gone: list[weakref.ref[object]] = []
    for number in range(3):
        fork = cluster.fork()
        made = default_runtime(fork)
        for more in range(3):
            decide_alone(made, pod(f"p{number}-{more}"))
        gone += [weakref.ref(fork), weakref.ref(made)]
    del fork, made
    gc.collect()
    assert [one() for one in gone] == [None] * 6


class Steps(Observer):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def started(self, point: str) -> None:
        self.steps.append(point)

    def pre_filtered(self, whole: Rejection | None, result: PreFilterResult | None) -> None:
        self.steps.append("pre-filtered")

    def filtered(self, filtering: Filtering) -> None:
        self.steps.append(f"filtered {len(filtering.feasible)}")

    def scored(self, scoring: Scoring | None) -> None:
        self.steps.append("scored")


def test_observers_are_told_of_each_step_once() -> None:
    cluster = Cluster()
    for name in "ab":
        cluster.put_node(make_node(name, cpu="4", labels={"kubernetes.io/hostname": name}))
    made = default_runtime(cluster)
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for number in range(3):
        watching = Steps()
        one = make_pod(f"p{number}", labels={"app": "x"}, spec={"affinity": apart})
        decision = decide_alone(made, one, watching)
        told = watching.steps
        assert told.count("pre-filtered") == told.count("Filter") == 1, told
        if number < 2:
            cluster.assume(one, cluster.columns.nodes[int(decision.best[0])].name)
    assert not len(decision.best)


class Evil:
    """Comparing it ends the process."""

    def __eq__(self, other: object) -> bool:
        raise SystemExit

    def __hash__(self) -> int:
        return 1


class TestSigning:
    def test_a_pod_that_is_not_signed_is_decided_in_full(self) -> None:
        class Sometimes(Fits):
            def sign(self, pod: Pod) -> Hashable:
                return None if pod.name.startswith("odd") else super().sign(pod)

        plugin = Sometimes()
        made = runtime(plugin, nodes="ab")
        for number in range(3):
            assert chosen(made, pod(f"odd-{number}")) == ["a", "b"]
        assert plugin.asked == ["a", "b"] * 3

    @pytest.mark.parametrize(
        "signature",
        [ValueError("no idea"), ["unhashable"], (1, object()), Pod, frozenset({Evil()})],
    )
    def test_a_signature_that_fails_names_the_plugin(self, signature: object) -> None:
        class Broken(Fits):
            def sign(self, pod: Pod) -> Hashable:
                if isinstance(signature, Exception):
                    raise signature
                return signature

        made = runtime(Broken(), nodes="ab")
        with pytest.raises(PluginError, match="plugin Fits failed in sign for pod default/p"):
            chosen(made, pod("p"))

    def test_a_plugin_that_fails_for_a_row_fails_the_attempt_and_is_asked_again(self) -> None:
        class Breaks(Fits):
            broken = False

            def filter(self, pod: Pod, node: Node) -> Verdict:
                if self.broken:
                    raise ValueError("not today")
                return super().filter(pod, node)

        plugin = Breaks()
        made = runtime(plugin, nodes="abcdefgh")
        for number in range(2):
            chosen(made, pod(f"p{number}"))
        place(made, "q", "c", cpu="4")
        plugin.broken = True
        with pytest.raises(PluginError, match="not today"):
            chosen(made, pod("p2"))
        plugin.broken = False
        assert chosen(made, pod("p3")) == list("abdefgh")


def test_a_verdict_that_is_an_error_ends_the_attempt_with_its_reason() -> None:
    class Fails(hook.FilterNodes, hook.Sign):
        name = "Fails"
        filter_scope = Scope.ROW
        failing = ""

        def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:
            failed = np.array([node.name == self.failing for node in nodes])
            return Verdicts.where(failed, fail("no data"))

        def sign(self, pod: Pod) -> Hashable:
            return ()

    plugin = Fails()
    made = runtime(plugin, nodes="abcdefgh")
    for number in range(2):
        chosen(made, pod(f"p{number}"))
    plugin.failing = "c"
    place(made, "q", "c")
    for number in range(3):
        decision = decide_alone(made, pod(f"r{number}"))
        assert decision.error == 'running "Fails" filter plugin: no data'
    plugin.failing = ""
    place(made, "r", "c")
    assert chosen(made, pod("last")) == list("abcdefgh")


def test_classes_that_nobody_uses_are_forgotten() -> None:
    plugin = Fits()
    made = runtime(plugin, nodes="ab")
    made.cluster.columns.bounds = MemoryBounds(classes=3)
    for number in range(3):
        chosen(made, pod(f"p{number}"))
    plugin.asked.clear()
    for cpu in ("10m", "20m", "30m"):
        for number in range(2):
            chosen(made, pod(f"p{number}-{cpu}", cpu=cpu))
    plugin.asked.clear()
    assert chosen(made, pod("again")) == ["a", "b"]
    assert plugin.asked == ["a", "b"]


def test_specs_of_pods_that_have_their_node_are_forgotten() -> None:
    made = default_runtime(cluster_of(3))
    made.cluster.columns.bounds = MemoryBounds(classes=3)
    for number in range(100):
        place(made, f"p{number}", "n0", cpu=f"{number}m")
        assert len(chosen(made, pod(f"q{number}", cpu=f"{number}m"))) > 0
    classes = made._classes
    assert classes is not None
    assert len(classes._by_spec) <= 12


@pytest.mark.parametrize("large", ["annotations", "json"])
def test_pods_that_classes_hold_count(large: str) -> None:
    # A plugin is asked about rows that change with the pod that was decided first.
    def one(number: int, cpu: str) -> Pod:
        text = "x" * 100_000
        made = pod(f"p{number}-{cpu}", cpu=cpu)
        if large == "json":
            return Pod.from_json(msgspec.json.encode({**made.raw, "unknown": text}))
        return replace(made, metadata=replace(made.metadata, annotations={"a": text}))

    plugin = Fits()
    made = runtime(plugin, nodes="ab")
    made.cluster.columns.bounds = MemoryBounds(class_bytes=250_000)
    for cpu in ("10m", "20m", "30m", "40m"):
        for number in range(2):
            chosen(made, one(number, cpu))
    plugin.asked.clear()
    assert chosen(made, one(2, "40m")) == chosen(made, one(2, "30m")) == ["a", "b"]
    assert plugin.asked == []
    assert chosen(made, one(2, "10m")) == ["a", "b"]
    assert plugin.asked == ["a", "b"]


def test_what_is_kept_is_not_used_while_a_pod_is_nominated() -> None:
    made = runtime(Fits(), nodes="ab")
    for number in range(2):
        chosen(made, pod(f"p{number}"))
    made.cluster.nominations.put(pod("important", cpu="4"), "a")
    last = pod("p2")
    assert made.decide_from_kept(Cycle(last, made.cluster), NOBODY) is None


def test_a_pod_that_names_its_node_is_decided_in_full() -> None:
    made = default_runtime(cluster_of(3))
    for number in range(3):
        assert len(decide_alone(made, pod(f"p{number}")).best) == 3
    on_b = make_pod("q", requests={"cpu": "1"}, node="n1")
    assert [made.cluster.columns.nodes[row].name for row in decide_alone(made, on_b).best] == ["n1"]


def test_that_a_named_node_is_gone_says_nothing_about_other_pods() -> None:
    made = default_runtime(cluster_of(3))
    assert not len(decide_alone(made, make_pod("q", requests={"cpu": "1"}, node="gone")).best)
    assert len(decide_alone(made, pod("p")).best) == 3


def test_specs_of_pods_that_are_gone_are_not_held() -> None:
    made = default_runtime(cluster_of(3))
    one = pod("p")
    made.cluster.put(one)
    spec = weakref.ref(Cycle(one, made.cluster).shape.spec)
    decide_alone(made, one)
    made.cluster.remove(one)
    made.cluster.shapes._recent.clear()
    gc.collect()
    assert spec() is None


def cluster_of(count: int) -> Cluster:
    cluster = Cluster()
    for number in range(count):
        cluster.put(make_node(f"n{number}", cpu="64"))
    return cluster
