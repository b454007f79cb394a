"""Who is asked about pods, and when plugins are asked anew whether they have anything to say."""

from collections.abc import Callable

import pytest

from mooring import Pod, kinds
from mooring.errors import PluginError
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.observer import Observer
from mooring.framework.decisions.relevant_plugins import RelevantPlugins
from mooring.framework.runtime import Runtime
from mooring.plugins.affinity.inter_pod_affinity import InterPodAffinity
from mooring.plugins.spread.pod_topology_spread import PodTopologySpread
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.property.test_equivalence_classes import default_runtime
from tests.unit.framework.deciding import decide_alone

HOST = "kubernetes.io/hostname"
QUICK = (
    (PodTopologySpread, "accepted"),
    (PodTopologySpread, "quick_scores"),
    (InterPodAffinity, "accepted"),
    (InterPodAffinity, "quick_scores"),
)


class Asked:
    """Notes which quick answers are asked for about every pod, and which only once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        for plugin, name in QUICK:
            for one in (name, f"{name}_alike"):
                monkeypatch.setattr(plugin, one, self._noting(plugin, one))

    def _noting(self, plugin: type, name: str) -> Callable[..., object]:
        ask = getattr(plugin, name)

        def noting(*arguments: object) -> object:
            self.calls.append(f"{plugin.__name__} {name}")
            return ask(*arguments)

        return noting

    def taken(self) -> list[str]:
        calls, self.calls = self.calls, []
        return calls


ONCE = [
    "PodTopologySpread accepted_alike",
    "InterPodAffinity accepted_alike",
    "PodTopologySpread quick_scores_alike",
    "InterPodAffinity quick_scores_alike",
]


def cluster(*names: str) -> Cluster:
    made = Cluster()
    for name in names or "abc":
        made.put_node(make_node(name, cpu="100", labels={HOST: name}))
    return made


def names(made: Runtime, pod: Pod) -> list[str]:
    nodes = made.cluster.columns.nodes
    return [nodes[int(row)].name for row in decide_alone(made, pod).best]


def apart(**labels: str) -> dict[str, object]:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": labels}}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    }


def pod(number: int, **labels: str) -> Pod:
    return make_pod(f"p{number}", labels=labels or {"app": "x"}, requests={"cpu": "1"})


class TestPodsWithoutRules:
    def test_plugins_say_once_that_they_have_nothing_to_say(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, made = Asked(monkeypatch), default_runtime(cluster())
        kept = pod(0)  # pods of a template share their description while one of them is there
        for number in range(2):
            names(made, pod(number))
        assert ONCE[0].removesuffix("_alike") in asked.taken()
        names(made, pod(2))
        assert asked.taken() == ONCE
        names(made, pod(3))
        assert asked.taken() == []
        assert kept.name

    def test_each_is_asked_about_pods_whose_labels_all_differ(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, made = Asked(monkeypatch), default_runtime(cluster())
        for number in range(6):
            asked.taken()
            names(made, pod(number, index=str(number)))
        calls = asked.taken()
        assert "InterPodAffinity accepted" in calls
        assert "InterPodAffinity accepted_alike" not in calls

    def test_a_new_term_about_them_counts(self) -> None:
        state = cluster()
        made = default_runtime(state)
        for number in range(4):
            assert names(made, pod(number)) == ["a", "b", "c"]
        state.put_pod(make_pod("shy", labels={"app": "y"}, spec=apart(app="x"), node="b"))
        for number in range(4, 8):
            assert names(made, pod(number)) == ["a", "c"]
        state.remove_pod("default/shy")
        for number in range(8, 12):
            assert names(made, pod(number)) == ["a", "b", "c"]
        state.put_pod(make_pod("shy2", labels={"app": "y"}, spec=apart(app="x"), node="c"))
        assert names(made, pod(12)) == ["a", "b"]

    def test_a_service_that_selects_them_counts(self) -> None:
        state = cluster()
        made = default_runtime(state)
        for node, app in (("a", "x"), ("b", "y"), ("c", "y")):
            state.put_pod(make_pod(f"on-{node}", labels={"app": app}, node=node))
        for number in range(4):
            assert names(made, pod(number)) == ["a", "b", "c"]
        service = {"metadata": {"name": "s", "namespace": "default"}}
        state.put(kinds.Service.from_dict({**service, "spec": {"selector": {"app": "x"}}}))
        for number in range(4, 8):
            assert names(made, pod(number)) == ["b", "c"]
        assert names(made, pod(8, app="other")) == ["a", "b", "c"]

    def test_their_controller_counts(self) -> None:
        state = cluster()
        made = default_runtime(state)
        body = {"metadata": {"name": "r", "namespace": "default"}}
        selector = {"selector": {"matchLabels": {"app": "x"}}}
        state.put(kinds.ReplicaSet.from_dict({**body, "spec": selector}))
        for node, app in (("a", "x"), ("b", "y"), ("c", "y")):
            state.put_pod(make_pod(f"on-{node}", labels={"app": app}, node=node))
        for number in range(4):
            assert names(made, pod(number)) == ["a", "b", "c"]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r"}
        for number in range(4, 8):
            owned = pod(number)
            metadata = {**owned.raw["metadata"], "ownerReferences": [{**owner, "controller": True}]}
            assert names(made, Pod.from_dict({**owned.raw, "metadata": metadata})) == ["b", "c"]
        assert names(made, pod(8)) == ["a", "b", "c"]


def fail(*_: object) -> None:
    raise ValueError("no idea")


@pytest.mark.parametrize(("name", "point"), [("accepted", "filter"), ("quick_scores", "score")])
def test_a_failure_names_the_plugin(name: str, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InterPodAffinity, f"{name}_alike", fail)
    made = default_runtime(cluster())
    kept = pod(0)
    for number in range(2):
        names(made, pod(number))
    with pytest.raises(PluginError, match=f"plugin InterPodAffinity failed in {point} for pod"):
        names(made, pod(2))
    assert kept.name


class Quiet(Observer):
    """Wants to know of decisions alone."""

    each_step = False

    def __init__(self) -> None:
        self.told: list[str] = []

    def begun(self, cycle: Cycle) -> None:
        self.told.append("begun")

    def started(self, point: str) -> None:
        self.told.append(point)

    def decided(self, decision: object) -> None:
        self.told.append("decided")


def test_an_observer_need_not_be_told_of_each_step() -> None:
    made, quiet = default_runtime(cluster()), Quiet()
    for number in range(2):
        decide_alone(made, pod(number), quiet)
        quiet.told.clear()
    decide_alone(made, pod(2), quiet)
    assert quiet.told == ["begun", "decided"]


def test_pods_of_groups_are_decided_in_full() -> None:
    made = default_runtime(cluster())
    for number in range(4):
        grouped = make_pod(f"g{number}", spec={"schedulingGroup": {"podGroupName": "g"}})
        decision = decide_alone(made, grouped)
        assert not len(decision.best)
        assert "pod groups" in decision.message


def test_every_plugin_is_asked_about_the_first_pod() -> None:
    made = RelevantPlugins(every := object())  # type: ignore[arg-type]
    assert made.of(Cycle(pod(0), cluster())) is every
