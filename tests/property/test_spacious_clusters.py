"""The same as `test_equivalence_classes` where every pod fits on nearly every node.

Then scores are worked out by domain and spread over all nodes at once; on the random clusters of
the other test some node is nearly always left out. Nodes are alike but for their zones.
"""

import copy
from typing import Any

import pytest

from mooring.framework.arrays import Mask
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.equivalence_class import EquivalenceClass
from mooring.framework.runtime import Runtime
from mooring.model.workloads import ReplicaSet, Service
from mooring.plugins.affinity.inter_pod_affinity import InterPodAffinity
from mooring.plugins.domain_sums import DomainSums
from mooring.plugins.spread.pod_topology_spread import PodTopologySpread
from mooring.plugins.spread.scores_by_place import NodePlaces
from mooring.plugins.spread.standing_constraints import StandingConstraint
from tests.property.random_world import HOSTNAME, Json
from tests.property.test_equivalence_classes import Story, default_runtime, differs, say_nothing

ZONE = "topology.kubernetes.io/zone"
ZONES = ("a", "b", "c")


def constraint(key: str, when: str, app: str) -> Json:
    return {
        "maxSkew": 2,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": app}},
    }


def term(key: str, app: str) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def preferred(key: str, app: str) -> list[Json]:
    return [{"weight": 7, "podAffinityTerm": term(key, app)}]


REQUIRED, PREFERRED = (
    f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred")
)
SPECS: dict[str, Json] = {
    "plain": {},
    "web": {},  # a service selects these, so they are spread by default
    "zones": {"topologySpreadConstraints": [constraint(ZONE, "ScheduleAnyway", "zones")]},
    "hosts": {"topologySpreadConstraints": [constraint(HOSTNAME, "ScheduleAnyway", "hosts")]},
    "both": {
        "topologySpreadConstraints": [
            constraint(ZONE, "ScheduleAnyway", "both"),
            constraint(HOSTNAME, "ScheduleAnyway", "web"),
        ]
    },
    "strict": {"topologySpreadConstraints": [constraint(ZONE, "DoNotSchedule", "strict")]},
    "near": {"affinity": {"podAffinity": {REQUIRED: [term(ZONE, "near")]}}},
    "apart": {"affinity": {"podAntiAffinity": {REQUIRED: [term(HOSTNAME, "apart")]}}},
    "nearer": {"affinity": {"podAffinity": {PREFERRED: preferred(ZONE, "web")}}},
    "farther": {"affinity": {"podAntiAffinity": {PREFERRED: preferred(HOSTNAME, "farther")}}},
}


class SpaciousStory(Story):
    """A cluster with room for everybody."""

    def __init__(self, seed: int, nodes: int) -> None:
        super().__init__(seed, 0)
        for _ in range(nodes):
            self._add_node()
        labels = {"app": "web"}
        meta = {"name": "web", "namespace": "default"}
        self.cluster.put(Service.from_dict({"metadata": meta, "spec": {"selector": labels}}))
        self.cluster.put(
            ReplicaSet.from_dict(
                {"metadata": meta, "spec": {"selector": {"matchLabels": {"kind": "replica"}}}}
            )
        )
        self.templates = [self._template(app, spec) for app, spec in SPECS.items()]

    def _template(self, app: str, spec: Json) -> Json:
        requests = {"cpu": f"{self.chance.choice((50, 100))}m", "memory": "100Mi"}
        containers = [{"name": "c", "resources": {"requests": requests}}]
        labels = {"app": app, "kind": "replica"}
        meta: Json = {"name": app, "namespace": "default", "labels": labels}
        if app == "web":
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}
            meta["ownerReferences"] = [{**owner, "controller": True}]
        return {"metadata": meta, "spec": {"containers": containers, **spec}}

    def _asked_in_full(self) -> Runtime:
        """Plugins that remember nothing: what they keep by domain follows the rows as well."""
        return default_runtime(self.cluster)

    def _change(self) -> None:
        changes = (self._remove_pod, self._remove_pod, self._heartbeat, self._change_node)
        self.chance.choice(changes)()

    def _change_node(self) -> None:
        """A node moves to another zone, is cordoned for a while, or leaves; another one comes."""
        if self.chance.random() < 0.8:
            return
        name = self.chance.choice(list(self.nodes))
        what = self.chance.choice(("zone", "cordon", "remove", "add"))
        if what == "zone":
            self.nodes[name]["metadata"]["labels"][ZONE] = self.chance.choice(ZONES)
            self._put(name)
        elif what == "cordon":
            spec = self.nodes[name]["spec"]
            spec["unschedulable"] = not spec.get("unschedulable", False)
            self._put(name)
        elif what == "remove":
            del self.nodes[name]
            self.cluster.remove_node(name)
        else:
            self._add_node()

    def _add_node(self) -> None:
        self._number += 1
        name = f"node-{self._number}"
        labels = {HOSTNAME: name, ZONE: self.chance.choice(ZONES)}
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "500"}
        self.nodes[name] = {
            "metadata": {"name": name, "labels": labels},
            "spec": {},
            "status": {"allocatable": copy.copy(amounts), "capacity": amounts},
        }
        self._put(name)


def accept_all(_self: object, _cycle: Cycle, possible: Mask) -> Mask:
    return possible


@pytest.mark.parametrize("nodes", [8, 40])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_kept_decides_as_asking_everybody_does(seed: int, nodes: int) -> None:
    story = SpaciousStory(seed, nodes)
    assert list(story.differences()) == []
    assert story.decided["kept"] > story.decided["full"]


@pytest.mark.parametrize(
    ("owner", "name", "planted"),
    [
        (DomainSums, "_add", say_nothing),
        (EquivalenceClass, "_change_best", say_nothing),
        (InterPodAffinity, "accepted", accept_all),
        (InterPodAffinity, "quick_scores", say_nothing),
        (NodePlaces, "_move", say_nothing),
        (PodTopologySpread, "quick_scores", say_nothing),
        (StandingConstraint, "accepted", accept_all),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_a_planted_difference_is_found(
    owner: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, planted)
    assert any(differs(SpaciousStory(seed, nodes)) for seed in range(20) for nodes in (8, 40))
