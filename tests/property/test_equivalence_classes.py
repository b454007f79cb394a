"""What is kept for pods that are alike decides exactly as asking every plugin about every node.

Random clusters change in every way: pods come and go, nodes come, go and change in each aspect,
namespaces, services and device classes change. In between, pods of a few templates are decided
twice on the same state: from what is kept, and in full. The whole set of best nodes is compared.
"""

import copy
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from mooring.config.runtimes import build_profiles, build_runtime
from mooring.errors import PluginError
from mooring.framework import hook
from mooring.framework.arrays import Amounts, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Decision
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.framework.decisions.equivalence_class import EquivalenceClass
from mooring.framework.decisions.kept_plugins import KeptPlugins
from mooring.framework.decisions.observer import NOBODY, Observer
from mooring.framework.runtime import Runtime
from mooring.framework.scope import Scope
from mooring.model.kinds import BY_NAME
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.affinity.inter_pod_affinity import InterPodAffinity
from mooring.plugins.in_tree import default_registry
from mooring.plugins.resources import resource_rows
from mooring.plugins.spread.pod_topology_spread import PodTopologySpread
from mooring.state.changes.row_log import RowLog
from mooring.state.cluster import Cluster
from tests.property.random_world import (
    HOSTNAME,
    Json,
    made,
    random_node,
    random_objects,
    random_pod,
)

STEPS = 60
TEMPLATES = 6


class EveryScore(Observer):
    """Has every plugin asked."""

    each_score = True


FULL = EveryScore()


class Difference(NamedTuple):
    """A decision that came out differently."""

    step: int
    pod: str
    kept: list[str]
    full: list[str]


class Roomy(hook.Filter, hook.Score, hook.Sign):
    """A plugin of somebody else, which is kept as well."""

    name = "Roomy"
    filter_scope = Scope.ROW
    score_scope = Scope.ROW

    def filter(self, pod: Pod, node: Node) -> bool:
        return len(node.pods) < 6 or pod.namespace == "one"

    def score(self, pod: Pod, node: Node) -> float:
        alike = sum(other.namespace == pod.namespace for other in node.pods)
        return 100 / (1 + alike) if "disk" in node.labels else 50

    def sign(self, pod: Pod) -> Hashable:
        return pod.namespace


class Story:
    """A cluster that changes, and pods that are decided about.

    Attributes:
        decided: how many decisions were made from what is kept, and how many were not.
    """

    def __init__(self, seed: int, nodes: int, *, foreign: bool = False) -> None:
        self.chance = random.Random(seed)
        self.cluster = Cluster()
        self.nodes: dict[str, Json] = {}
        self.decided: Counter[str] = Counter()
        self._number = 0
        for _ in range(nodes):
            self._add_node()
        self.others = random_objects(self.chance, list(self.nodes))
        for kind, thing in self.others:
            self.cluster.put(BY_NAME[kind].type.from_dict(thing))
        self.runtime = default_runtime(self.cluster, *([Roomy] if foreign else []))
        self.templates = [random_pod(self.chance, "t") for _ in range(TEMPLATES)]
        for template in self.templates:
            template["spec"].pop("nodeName", None)
        self._placed: list[Pod] = []

    def differences(self) -> Iterator[Difference]:
        """Tell the story; every decision that comes out differently."""
        for step in range(STEPS):
            for _ in range(self.chance.choice((0, 1, 1, 2, 30))):
                self._change()
            for _ in range(self.chance.randint(1, 4)):
                yield from self._decide(step)

    def _decide(self, step: int) -> Iterator[Difference]:
        pod = self._new_pod()
        self.cluster.put(pod)
        by_class = self.runtime.decide_from_kept(Cycle(pod, self.cluster), NOBODY)
        self.decided["kept" if by_class is not None else "full"] += 1
        full = without_extenders(decide(self._asked_in_full(), pod, FULL))
        if by_class is not None:
            kept, expected = ((one.best, one.filtering.feasible) for one in (by_class, full))
            if any(list(a) != list(b) for a, b in zip(kept, expected, strict=True)):
                yield Difference(step, pod.key, self._names(by_class), self._names(full))
        if len(full.best):
            row = int(self.chance.choice(list(full.best)))
            self._placed.append(self.cluster.assume(pod, self.cluster.columns.nodes[row].name))
        else:
            self.cluster.remove(pod)

    def _asked_in_full(self) -> Runtime:
        """The plugins that decide in full."""
        return self.runtime

    def _names(self, decision: Decision) -> list[str]:
        return [self.cluster.columns.nodes[row].name for row in decision.best]

    def _new_pod(self) -> Pod:
        self._number += 1
        body = copy.deepcopy(self.chance.choice(self.templates))
        name = f"pod-{self._number}"
        body["metadata"] |= {"name": name, "uid": name}
        if self.chance.random() < 0.3:  # a StatefulSet's pods differ in a label
            body["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = name
        return made(body)

    # -- what happens

    def _change(self) -> None:
        changes: list[Callable[[], None]] = [
            self._remove_pod, self._remove_pod, self._heartbeat, self._heartbeat,
            self._change_node, self._foreign_pod, self._rare,
        ]  # fmt: skip
        self.chance.choice(changes)()

    def _remove_pod(self) -> None:
        if self._placed:
            gone = self._placed.pop(self.chance.randrange(len(self._placed)))
            self.cluster.remove(gone)

    def _foreign_pod(self) -> None:
        """A pod of another scheduler is seen on a node."""
        self._number += 1
        body = random_pod(self.chance, f"other-{self._number}")
        body["spec"]["nodeName"] = self.chance.choice(list(self.nodes))
        pod = made(body)
        self.cluster.put(pod)
        self._placed.append(pod)

    def _heartbeat(self) -> None:
        self._put(self.chance.choice(list(self.nodes)))

    def _change_node(self) -> None:
        name = self.chance.choice(list(self.nodes))
        old, new = self.nodes[name], random_node(self.chance)
        part = self.chance.choice(("metadata", "spec", "status"))
        old[part] = {**new[part], "name": name} if part == "metadata" else new[part]
        if part == "metadata":
            old[part]["labels"][HOSTNAME] = name
        self._put(name)

    def _rare(self) -> None:
        if self.chance.random() < 0.8:
            return
        what = self.chance.choice(("add", "remove", "object"))
        if what == "add":
            self._add_node()
        elif what == "remove" and len(self.nodes) > 3:
            name = self.chance.choice(list(self.nodes))
            del self.nodes[name]
            self.cluster.remove_node(name)
        else:
            kind, thing = self.chance.choice(random_objects(self.chance, list(self.nodes)))
            self.cluster.put(BY_NAME[kind].type.from_dict(thing))

    def _add_node(self) -> None:
        self._number += 1
        name = f"node-{self._number}"
        node = random_node(self.chance)
        node["metadata"]["name"] = name
        node["metadata"]["labels"][HOSTNAME] = name
        self.nodes[name] = node
        self._put(name)

    def _put(self, name: str) -> None:
        self.cluster.put_node(Node.from_dict(copy.deepcopy(self.nodes[name])))


def default_runtime(
    cluster: Cluster, *more: type[hook.Hook], plugins: Mapping[str, Json] = {}
) -> Runtime:
    """The default profile's plugins, and more; `plugins` says what else of them is changed."""
    registry = default_registry()
    for plugin in more:
        registry.add(plugin)
    enabled = [{"name": plugin.name} for plugin in more]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": enabled}, **plugins}}],
    }
    (profile,) = build_profiles(config, registry).values()
    return build_runtime(profile, registry, cluster, lambda: 0)


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize("nodes", [5, 12, 80])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_kept_decides_as_asking_everybody_does(
    seed: int, nodes: int, *, foreign: bool
) -> None:
    story = Story(seed, nodes, foreign=foreign)
    assert list(story.differences()) == []
    assert story.decided["kept"]


def test_most_decisions_are_made_from_what_is_kept() -> None:
    decided: Counter[str] = Counter()
    for seed in range(5):
        story = Story(seed, 12)
        assert list(story.differences()) == []
        decided += story.decided
    assert decided["kept"] > decided["full"], decided


def blind_log(_: RowLog, row: int) -> None:
    """Notes no row that changed."""


def blind_one(_: object, row: int) -> int:
    """Says that all is as good as can be."""
    return 1


def blind_some(_: object, rows: Rows) -> Amounts:
    """Says the same of some rows."""
    return np.ones(len(rows), np.int64)


def say_nothing(*_: object) -> None:
    """Does nothing, or says that all nodes get the same."""


@pytest.mark.parametrize(
    ("owner", "name", "planted"),
    [
        (RowLog, "append", blind_log),
        (resource_rows.FitRows, "one", blind_one),
        (resource_rows.FitRows, "some", lambda _, rows: rows >= 0),
        (resource_rows.AllocationRows, "one", blind_one),
        (resource_rows.AllocationRows, "some", blind_some),
        (resource_rows.BalanceRows, "one", blind_one),
        (resource_rows.BalanceRows, "some", blind_some),
        (EquivalenceClass, "_change_best", say_nothing),
        (KeptPlugins, "version", lambda *_: 1),
        (PodTopologySpread, "accepted_alike", say_nothing),
        (PodTopologySpread, "quick_scores_alike", say_nothing),
        (InterPodAffinity, "accepted_alike", say_nothing),
        (InterPodAffinity, "quick_scores_alike", say_nothing),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_a_planted_difference_is_found(
    owner: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, planted)
    assert any(differs(Story(seed, nodes)) for seed in range(40) for nodes in (12, 80))


def differs(story: Story) -> bool:
    """Whether a decision comes out differently, or not at all."""
    try:
        return bool(list(story.differences()))
    except (IndexError, ValueError, PluginError):  # more nodes, or fewer, than there were
        return True
