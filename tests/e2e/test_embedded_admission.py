"""What the embedded API server admits, compared with what the real one admits."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from mooring.embedded.resources import (
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    Obj,
)
from mooring.embedded.status_errors import StatusError
from mooring.errors import ApiError
from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.real_and_embedded import RealAndEmbedded, comparable

pytestmark = pytest.mark.kube


@pytest.fixture
def both(control_plane: ControlPlane, namespace: str) -> Iterator[RealAndEmbedded]:
    stored = RealAndEmbedded(control_plane, namespace)
    yield stored
    stored.clean()


def _pod(name: str, **spec: object) -> Obj:
    container: Obj = {"name": "c", "image": "a:1", **spec.pop("container", {})}  # type: ignore[dict-item]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def _rejection(act: Callable[[], object]) -> str:
    with pytest.raises((ApiError, StatusError)) as caught:
        act()
    text = str(caught.value)
    return text.rpartition(" Forbidden: ")[2].rpartition(" NotFound: ")[2]


def test_priorities_come_from_classes(both: RealAndEmbedded) -> None:
    for name, value, more in [
        ("h3-usual", 7, {"globalDefault": True, "preemptionPolicy": "Never"}),
        ("h3-high", 1000, {}),
    ]:
        real, ours = both.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
                **more,
            }
        )
        assert comparable(ours) == comparable(real)
        both.store.put(PRIORITY_CLASSES, ours)

    def known() -> bool:
        real, _ = both.create({**_pod("probe"), "metadata": {"generateName": "probe-"}})
        return bool(real["spec"].get("priorityClassName"))

    both.plane.wait_for(known, "the priority class is known to the API server")
    for pod in (
        _pod("usual"),
        _pod("high", priorityClassName="h3-high"),
        _pod("agreeing", priorityClassName="h3-high", priority=1000),
        _pod("system", priorityClassName="system-cluster-critical"),
    ):
        real, ours = both.create(pod)
        assert comparable(ours) == comparable(real)
    stand_in = {"metadata": {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    second = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "second"},
        "value": 1,
        "globalDefault": True,
    }
    for wrong in (
        _pod("unknown", priorityClassName="nothing"),
        _pod("differing", priorityClassName="h3-high", priority=3),
        _pod("policy", priorityClassName="h3-high", preemptionPolicy="Never"),
        second,
    ):
        placed = both.placed(wrong)
        said = _rejection(lambda placed=placed: both.plane.create(placed))  # type: ignore[misc]
        assert _rejection(lambda placed=placed: both.ours(placed, stand_in)) == said  # type: ignore[misc]


def test_claims_get_the_default_class(both: RealAndEmbedded) -> None:
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    for name in ("h3-b", "h3-a"):
        real, ours = both.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": name, "annotations": marked},
                "provisioner": "p",
            }
        )
        both.store.put(STORAGE_CLASSES, {**ours, "metadata": real["metadata"]})
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }

    def known() -> bool:
        real, ours = both.create({**claim, "metadata": {"generateName": "c-"}})
        return bool(real["spec"].get("storageClassName") == ours["spec"]["storageClassName"])

    both.plane.wait_for(known, "the storage classes are known to the API server")
    chosen = {**claim, "spec": {**claim["spec"], "storageClassName": ""}}  # type: ignore[dict-item]
    real, ours = both.create(chosen)
    assert comparable(ours) == comparable(real)


def test_limit_ranges_complete_and_reject_pods(both: RealAndEmbedded) -> None:
    limits = [
        {
            "type": "Container",
            "max": {"cpu": "2"},
            "min": {"memory": "10Mi"},
            "defaultRequest": {"cpu": "0.1"},
            "default": {"cpu": "500m", "memory": "1Gi"},
            "maxLimitRequestRatio": {"cpu": "8"},
        },
        {"type": "Pod", "max": {"memory": "2Gi"}},
        {"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}, "min": {"storage": "1Gi"}},
    ]
    real, ours = both.create(
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "limits"},
            "spec": {"limits": limits},
        }
    )
    assert comparable(ours) == comparable(real)
    both.store.put(LIMIT_RANGES, ours)
    for good in (
        _pod("plain"),
        _pod("partly", container={"resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}}),
        _pod("init", initContainers=[{"name": "i", "image": "a:1"}]),
    ):
        real, ours = both.create(good)
        assert comparable(ours) == comparable(real)
    stand_in = {"metadata": {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}}

    def asking(**amounts: dict[str, str]) -> Obj:
        return _pod("wrong", container={"resources": amounts})

    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {
            "storageClassName": "x",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "10Gi"}},
        },
    }
    for wrong in (
        asking(limits={"cpu": "4"}),
        asking(requests={"memory": "1Mi"}),
        asking(requests={"cpu": "10m"}),
        asking(limits={"memory": "3Gi"}, requests={"memory": "1Gi"}),
        claim,
    ):
        placed = both.placed(wrong)
        said = _rejection(lambda placed=placed: both.plane.create(placed))  # type: ignore[misc]
        assert _rejection(lambda placed=placed: both.ours(placed, stand_in)) == said  # type: ignore[misc]


def test_a_pod_takes_over_the_topology_of_its_node(both: RealAndEmbedded) -> None:
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "a": "b"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "h3-node", "labels": labels}}
    _, ours = both.create(node)
    both.store.put(NODES, ours)
    count = itertools.count()

    def same() -> bool:
        real, ours = both.create(_pod(f"placed-{next(count)}", nodeName="h3-node"))
        return comparable(ours) == comparable(real)

    both.plane.wait_for(same, "a pod is labelled as its node")


def test_a_namespace_has_to_be_there(both: RealAndEmbedded) -> None:
    stand_in = {"metadata": {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    pod = _pod("lost")
    pod["metadata"]["namespace"] = "nowhere"

    said = _rejection(lambda: both.plane.create(pod))

    assert _rejection(lambda: both.ours(pod, stand_in)) == said


def test_an_ending_namespace_takes_nothing_new(both: RealAndEmbedded) -> None:
    stand_in = {"metadata": {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    _, ours = both.create({**_pod("x"), "kind": "Namespace", "spec": {}})
    both.plane.request("DELETE", both.plane.path("Namespace", "x"))
    both.store.put(NAMESPACES, {**ours, "status": {"phase": "Terminating"}})
    account = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
    account["metadata"] = {"name": "late", "namespace": "x"}

    said = _rejection(lambda: both.plane.create(account))

    assert _rejection(lambda: both.ours(account, stand_in)) == said
