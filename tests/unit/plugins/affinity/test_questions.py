"""What is asked about affinity: the same for pods that terms cannot tell apart."""

from typing import Any

import pytest

from mooring.plugins.affinity.questions import Questions
from mooring.plugins.affinity.resolved_terms import TermResolver
from mooring.state.cluster import Cluster
from mooring.state.shapes import Shape
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import cluster_of

ZONE = "topology.kubernetes.io/zone"


def terms(kind: str, key: str, value: str) -> dict[str, Any]:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {key: value}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@pytest.fixture
def cluster() -> Cluster:
    return cluster_of(make_node("n", labels={ZONE: "a"}))


def questions(cluster: Cluster) -> Questions:
    return Questions(cluster, TermResolver(cluster.catalog), 1, ignore_existing=False)


def shape(cluster: Cluster, index: int, spec: dict[str, Any] | None = None) -> Shape:
    labels = {"app": "db", "index": str(index)}
    return cluster.shape_of(make_pod(f"db-{index}", labels=labels, spec=spec))


def test_pods_of_a_stateful_set_are_asked_about_once(cluster: Cluster) -> None:
    asked = questions(cluster)
    apart = terms("podAntiAffinity", "app", "db")
    first = asked.of(shape(cluster, 0, apart))
    assert first.apart
    assert asked.of(shape(cluster, 1, apart)) is first
    assert asked.of(shape(cluster, 2)) is not first


def test_a_label_that_a_term_of_another_pod_selects_tells_them_apart(cluster: Cluster) -> None:
    asked = questions(cluster)
    before = asked.of(shape(cluster, 0))
    assert not before.apart
    away = terms("podAntiAffinity", "index", "1")
    cluster.put(make_pod("other", node="n", spec=away))
    assert [bool(asked.of(shape(cluster, index)).apart) for index in range(3)] == [
        False, True, False,
    ]  # fmt: skip


def test_a_label_that_the_pods_own_affinity_selects_tells_them_apart(cluster: Cluster) -> None:
    asked = questions(cluster)
    near = terms("podAffinity", "index", "1")
    assert [asked.of(shape(cluster, index, near)).first for index in range(3)] == [
        False, True, False,
    ]  # fmt: skip
