"""What happens in a cluster is never seen in its forks, nor the other way round.

Some clusters, forks of one another, change in turn at random: nodes and pods come, change and go,
pods are assumed, confirmed and forgotten, nodes are nominated, other objects change, what-ifs are
taken back. After every step the clusters it was not about are exactly what they were, arrays that
were read before included, and every cluster is what a new one made of its own truth would be.
"""

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from itertools import count
from typing import Any

import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mooring import Pod
from mooring.model.selectors import LabelSelector
from mooring.model.workloads import Namespace, Service
from mooring.state.aspects import Aspect
from mooring.state.cluster import Cluster
from mooring.state.memory_bounds import BOUNDS, MemoryBounds
from mooring.state.shapes import Shapes
from tests.property.test_columns import (
    FORGETFUL,
    IMAGES,
    NODES,
    PODS,
    RESOURCES,
    node,
    pod,
    rows,
)

CLUSTERS = st.integers(0, 4)
MOST_CLUSTERS = 5
TEMPLATES = st.integers(0, 7)
KINDS = (Namespace, Service)
#: Keys that nobody has used before.
ANEW = count(1)


class Truth:
    """What one cluster was told."""

    def __init__(self) -> None:
        self.nodes: dict[str, int] = {}
        self.pods: dict[str, Pod] = {}
        self.places: dict[str, str] = {}
        self.confirmed: set[str] = set()
        self.nominations: dict[str, str] = {}
        self.things: dict[tuple[str, str], int] = {}
        self.assumed_things: dict[tuple[str, str], int] = {}

    def rebuilt(self, order: list[str]) -> Cluster:
        """A new cluster of all that, with nodes in the same rows."""
        assert sorted(order) == sorted(self.nodes)
        cluster = Cluster()
        for name in order:
            cluster.put_node(node(name, self.nodes[name]))
        for name, waiting in self.pods.items():
            if name in self.places:
                cluster.assume(waiting, self.places[name])
                if name in self.confirmed:
                    cluster.confirm(f"default/{name}")
            else:
                cluster.put_pod(waiting)
        for name, where in self.nominations.items():
            cluster.nominations.put(self.pods[name], where)
        for (kind, name), version in self.things.items():
            cluster.put(thing(kind, name, version))
        for (kind, name), version in self.assumed_things.items():
            assert not cluster.assume_cache.assume(thing(kind, name, version))
        return cluster


def new_pod(name: str, template: int, where: str = "", *, terminating: bool = False) -> Pod:
    """A pod of one of a few templates, some with terms, ports and resources of their own."""
    found = pod(name, template % 4, where, terminating=terminating)
    if template < 4:
        return found
    term = {"labelSelector": {"matchLabels": {"app": f"t{template}"}}, "topologyKey": "zone"}
    terms = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": template, "podAffinityTerm": term}
        ],
    }
    container = {"resources": {"requests": {"x.io/disk": template}}, "ports": [{"hostPort": 80}]}
    body = found.raw
    return Pod.from_dict(
        {
            **body,
            "metadata": {**body["metadata"], "labels": {"app": f"t{template}"}},
            "spec": {
                "nodeName": where,
                "containers": [container],
                "affinity": {"podAffinity": terms, "podAntiAffinity": terms},
            },
        }
    )


#: Pods that the terms of others are about.
SHAPES = Shapes()
COMING = [SHAPES.of(new_pod("coming", template)) for template in (0, 4, 5, 6, 7)]


def thing(kind: str, name: str, version: int) -> Namespace | Service:
    body = {"metadata": {"name": name, "labels": {"version": str(version)}}}
    return Namespace.from_dict(body) if kind == "Namespace" else Service.from_dict(body)


def picture(cluster: Cluster) -> dict[str, Any]:
    """All that can be read of a cluster and does not depend on how it came to be."""
    nominations = cluster.nominations
    return {
        "rows": rows(cluster),
        "nodes": {name: one.raw for name, one in cluster.nodes.items()},
        "used": {name: dict(one.used) for name, one in cluster.nodes.items()},
        "free": {name: dict(one.free) for name, one in cluster.nodes.items()},
        "kept": {
            name: (dict(one.used), {info.pod.key: info.pod for info in one.infos})
            for name, one in cluster._usage.items()
        },
        "pods": {name: cluster.pod("default", name) for name in "pqrst"},
        "ids": {name: cluster.pod_by_uid(name) for name in "pqrst"},
        "assumed": {name: cluster.assumed_pod(f"default/{name}") for name in "pqrst"},
        "counts": (cluster.pods, cluster.assumed, cluster.claim_users("default/c")),
        "nominations": {
            name: {one.key: one for one in nominations.on(name)}
            for name in sorted(nominations.nodes)
        },
        "nominated": {name: nominations.node_of(f"default/{name}") for name in "pqrst"},
        "catalog": {kind: dict(cluster.catalog.all(kind)) for kind in KINDS},
        "assumed objects": {
            key: cluster.assume_cache.get(kind, key)
            for kind in KINDS
            for key in ("x", "y", "default/x", "default/y")
        },
        "remembered": remembered(cluster),
        "asked anew": asked_anew(cluster),
    }


def asked_anew(cluster: Cluster) -> dict[str, Any]:
    """What indexes find that nobody has asked before."""
    number = next(ANEW)
    selector = LabelSelector(match_labels={"app": "a"})
    counts = cluster.pod_counts.matching(
        number, lambda group: selector.matches(group.labels), (selector,)
    )
    return {
        "app a": counts.tolist(),
        "terms": [
            Counter(
                (one.weight, row, pods)
                for one in terms.matching_terms(shape, {}, version)
                for row, pods in one.rows.items()
            )
            for terms in (cluster.affinity, cluster.anti_affinity, cluster.preferred)
            for shape in COMING
            for version in (0, number)
        ],
    }


def remembered(cluster: Cluster) -> dict[str, Any]:
    """What was remembered of nodes, or is now."""
    columns = cluster.columns
    return {
        "labels": columns.remember(
            "labels", lambda: [dict(one.labels) for one in columns.nodes], Aspect.LABELS
        ),
        "taints": columns.remember(
            "taints", lambda: [list(one.taints) for one in columns.nodes], Aspect.TAINTS
        ),
        "images": columns.remember("images", lambda: [*map(images, columns.nodes)], Aspect.IMAGES),
    }


def images(one: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = one.images
    return found


def history(cluster: Cluster) -> dict[str, Any]:
    """What depends on how a cluster came to be, and what is not to be seen at all."""
    columns = cluster.columns
    found = [columns.image(name) for name in IMAGES]
    return {
        "generation": columns.generation.tolist(),
        "versions": {aspect: columns.version(aspect) for aspect in Aspect},
        "catalog": {kind: cluster.catalog.version(kind) for kind in KINDS},
        "sizes": [one and (one.size, one.spread) for one in found],
        "pods": [one.pods for one in cluster.nodes.values()],
        "taint sets": columns.taint_sets.copy(),
        "terms": [
            dict(deepcopy([(key, one.rows) for key, one in terms._terms.entries.items()]))
            for terms in (cluster.affinity, cluster.anti_affinity, cluster.preferred)
        ],
        "groups": {key: one.rows.copy() for key, one in cluster.pod_counts._groups.entries.items()},
    }


def arrays(cluster: Cluster) -> dict[str, npt.NDArray[Any]]:
    """Arrays as plugins read them."""
    columns = cluster.columns
    found: dict[str, npt.NDArray[Any]] = {name: columns.used(name) for name in RESOURCES}
    found |= {f"allocatable {name}": columns.allocatable(name) for name in RESOURCES}
    found |= {
        "generation": columns.generation,
        "taints": columns.taint_ids,
        "cordoned": columns.unschedulable,
        "cpu": columns.nonzero_cpu,
        "zone": columns.labels("zone").ids,
    }
    return found


class ForksMachine(RuleBasedStateMachine):
    """Drives clusters that are forks of one another."""

    bounds = BOUNDS

    def __init__(self) -> None:
        super().__init__()
        self.clusters = [Cluster(bounds=self.bounds)]
        self.truths = [Truth()]
        self.touched: int | None = None
        self.before: list[tuple[Any, ...]] = []

    def _at(self, index: int) -> tuple[Cluster, Truth]:
        """The cluster that a step is about; all others are looked at before it."""
        self.touched = index % len(self.clusters)
        self.before = []
        for one in self.clusters:
            views = arrays(one)
            numbers = {name: view.tolist() for name, view in views.items()}
            self.before.append((one, picture(one), history(one), views, numbers))
        return self.clusters[self.touched], self.truths[self.touched]

    @initialize(
        variants=st.tuples(*[st.integers(0, 2)] * 3),
        templates=st.tuples(*[TEMPLATES] * 5),
        places=st.permutations("abcab"),
    )
    def fill(
        self, variants: tuple[int, ...], templates: tuple[int, ...], places: list[str]
    ) -> None:
        """Begin with something of everything to share."""
        for name, variant in zip("abc", variants, strict=True):
            self.put_node(0, name, variant)
        for name, template, where in zip("pqrst", templates, places, strict=True):
            bound = where if name in "pqr" else ""
            self.put_pod(0, name, template, bound, terminating=False)
        self.assume(0, "s", places[3])
        self.nominate(0, "t", places[4])
        for kind in ("Namespace", "Service"):
            self.put_thing(0, kind, "x", 1)
            self.assume_thing(0, kind, "x", 3)
        self.fork(0)

    @precondition(lambda self: len(self.clusters) < MOST_CLUSTERS)
    @rule(index=CLUSTERS)
    def fork(self, index: int) -> None:
        cluster, truth = self._at(index)
        self.clusters.append(cluster.fork())
        self.truths.append(deepcopy(truth))
        self.touched = None  # the parent stays the same, too

    @precondition(lambda self: len(self.clusters) > 1)
    @rule(index=CLUSTERS)
    def drop(self, index: int) -> None:
        """A fork, or the cluster that it was made of, is not needed any more."""
        del self.clusters[index % len(self.clusters)], self.truths[index % len(self.truths)]
        self.touched, self.before = None, []

    @rule(index=CLUSTERS, name=NODES, variant=st.integers(0, 2))
    def put_node(self, index: int, name: str, variant: int) -> None:
        cluster, truth = self._at(index)
        cluster.put_node(node(name, variant))
        truth.nodes[name] = variant

    @rule(index=CLUSTERS, name=NODES)
    def remove_node(self, index: int, name: str) -> None:
        cluster, truth = self._at(index)
        cluster.remove_node(name)
        truth.nodes.pop(name, None)

    @rule(
        index=CLUSTERS, name=PODS, template=TEMPLATES, where=NODES | st.just(""),
        terminating=st.booleans(),
    )  # fmt: skip
    def put_pod(self, index: int, name: str, template: int, where: str, terminating: bool) -> None:
        cluster, truth = self._at(index)
        new = new_pod(name, template, where, terminating=terminating)
        cluster.put_pod(new)
        truth.pods[name] = new
        truth.nominations.pop(name, None)
        if where:
            truth.places.pop(name, None)
            truth.confirmed.discard(name)

    @rule(index=CLUSTERS, name=PODS)
    def remove_pod(self, index: int, name: str) -> None:
        cluster, truth = self._at(index)
        cluster.remove_pod(f"default/{name}")
        for one in (truth.pods, truth.places, truth.nominations):
            one.pop(name, None)
        truth.confirmed.discard(name)

    @rule(index=CLUSTERS, name=PODS, where=NODES)
    def assume(self, index: int, name: str, where: str) -> None:
        cluster, truth = self._at(index)
        waiting = truth.pods.get(name)
        if waiting is not None and not waiting.node_name and name not in truth.places:
            cluster.assume(waiting, where)
            truth.places[name] = where
            truth.nominations.pop(name, None)

    @rule(index=CLUSTERS, name=PODS)
    def confirm(self, index: int, name: str) -> None:
        cluster, truth = self._at(index)
        cluster.confirm(f"default/{name}")
        if name in truth.places:
            truth.confirmed.add(name)

    @rule(index=CLUSTERS, name=PODS)
    def forget(self, index: int, name: str) -> None:
        cluster, truth = self._at(index)
        cluster.forget(f"default/{name}")
        if name not in truth.confirmed:
            truth.places.pop(name, None)

    @rule(index=CLUSTERS, name=PODS, where=NODES | st.just(""))
    def nominate(self, index: int, name: str, where: str) -> None:
        cluster, truth = self._at(index)
        waiting = truth.pods.get(name)
        if not where:
            cluster.nominations.remove(f"default/{name}")
            truth.nominations.pop(name, None)
        elif waiting is not None and not waiting.node_name and name not in truth.places:
            cluster.nominations.put(waiting, where)
            truth.nominations[name] = where

    @rule(
        index=CLUSTERS, kind=st.sampled_from(["Namespace", "Service"]),
        name=st.sampled_from("xy"), version=st.integers(0, 2),
    )  # fmt: skip
    def put_thing(self, index: int, kind: str, name: str, version: int) -> None:
        cluster, truth = self._at(index)
        if version:
            cluster.put(thing(kind, name, version))
            truth.things[kind, name] = version
        else:
            cluster.remove(thing(kind, name, version))
            truth.things.pop((kind, name), None)
            truth.assumed_things.pop((kind, name), None)

    @rule(
        index=CLUSTERS, kind=st.sampled_from(["Namespace", "Service"]),
        name=st.sampled_from("xy"), version=st.integers(3, 5),
    )  # fmt: skip
    def assume_thing(self, index: int, kind: str, name: str, version: int) -> None:
        cluster, truth = self._at(index)
        if (kind, name) in truth.things:
            cluster.assume_cache.assume(thing(kind, name, version))
            truth.assumed_things[kind, name] = version

    @rule(
        index=CLUSTERS, kind=st.sampled_from(["Namespace", "Service"]), name=st.sampled_from("xy")
    )
    def restore_thing(self, index: int, kind: str, name: str) -> None:
        cluster, truth = self._at(index)
        cluster.assume_cache.restore(thing(kind, name, 0))
        truth.assumed_things.pop((kind, name), None)

    @rule(index=CLUSTERS, data=st.data(), template=TEMPLATES)
    def think(self, index: int, data: st.DataObject, template: int) -> None:
        """A what-if that is taken back leaves no trace."""
        cluster, _ = self._at(index)
        if not len(cluster.columns):
            return
        row = data.draw(st.integers(0, len(cluster.columns) - 1))
        gone = list(cluster.pods_on(row))
        for one in gone:
            cluster.remove_what_if(one, row)
        guest = new_pod("guest", template)
        cluster.add_what_if(guest, row)
        self._check_others()
        for other in self.clusters:
            if other is not cluster:
                other.fork()  # there is no what-if there
        cluster.remove_what_if(guest, row)
        for one in gone:
            cluster.add_what_if(one, row)

    @invariant()
    def the_others_are_what_they_were(self) -> None:
        self._check_others()
        self.before = []

    def _check_others(self) -> None:
        for index, (one, seen, told, views, numbers) in enumerate(self.before):
            if index != self.touched:
                assert {name: view.tolist() for name, view in views.items()} == numbers
                assert history(one) == told
                assert picture(one) == seen

    @invariant()
    def each_is_what_a_new_one_would_be(self) -> None:
        for cluster, truth in zip(self.clusters, self.truths, strict=True):
            assert picture(cluster) == picture(truth.rebuilt(cluster.columns.names))

    @invariant()
    def each_keeps_within_its_bounds(self) -> None:
        for one in self.clusters:
            assert one.columns.bounds == one.columns.table.bounds == self.bounds
            assert len(one.columns._memo) <= self.bounds.results
            assert len(one.pod_counts._followed) <= self.bounds.selectors
            assert len(one.shapes.remembering._specs) <= self.bounds.templates
            assert len(one.columns._used) <= len(RESOURCES)
            kept: Mapping[str, Any] = one._usage
            assert {name for name, usage in kept.items() if not usage} <= set(one.nodes)


TestForks = ForksMachine.TestCase
TestForks.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


class ForgetfulForksMachine(ForksMachine):
    """The same with clusters that keep no arrays and remember next to nothing."""

    bounds = FORGETFUL


TestForgetfulForks = ForgetfulForksMachine.TestCase
TestForgetfulForks.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)


class ArraysForksMachine(ForksMachine):
    """The same where every number is kept in an array, too."""

    bounds = MemoryBounds(array_share=10**6)


TestArraysForks = ArraysForksMachine.TestCase
TestArraysForks.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
