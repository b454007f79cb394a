"""What would help a pod that affinity or anti-affinity keeps from a node."""

from typing import Any

from mooring.testing import make_node, make_pod
from tests.unit.explaining.suggested import suggest, texts

HOST = "kubernetes.io/hostname"


def term(app: str, key: str) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def affinity(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def test_own_anti_affinity() -> None:
    objects = [make_node("a"), make_pod("x", labels={"app": "web"}, node="a")]
    found = suggest(objects, make_pod(spec=affinity("podAntiAffinity", term("web", HOST))))
    assert texts(found) == [
        f"drop the anti-affinity to pods with app=web by {HOST}",
        "add one more node like a (8 cpu and 32Gi memory)",
    ]


def test_own_affinity() -> None:
    found = suggest([make_node("a")], make_pod(spec=affinity("podAffinity", term("db", HOST))))
    assert texts(found) == [f"drop the affinity to pods with app=db by {HOST}"]


def test_pods_that_want_to_be_apart() -> None:
    shy = make_pod("shy", node="a", spec=affinity("podAntiAffinity", term("web", HOST)))
    found = suggest([make_node("a"), shy], make_pod(labels={"app": "web"}))
    assert texts(found) == [
        "remove default/shy from a, which has anti-affinity to this pod",
        "add one more node like a (8 cpu and 32Gi memory)",
    ]
