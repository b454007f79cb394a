"""Pods of one template share one description."""

from typing import Any

import pytest

from mooring import Pod, QuantityError
from mooring.state.memory_bounds import BOUNDS
from mooring.state.shapes import Remembering, shape_of


def pod(name: str = "p", node: str = "", status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    return Pod.from_dict(
        {
            "metadata": {"name": name, "labels": {"app": "a"}},
            "spec": {"containers": containers, "nodeName": node, **spec},
            "status": status or {},
        }
    )


def test_pods_of_one_template_share_a_shape() -> None:
    token = {"name": "kube-api-access-x7", "projected": {"sources": []}}
    other = {"name": "kube-api-access-q2", "projected": {"sources": []}}
    first = pod("p-1", volumes=[token])
    second = pod("p-2", node="n", status={"phase": "Running"}, volumes=[other])
    assert shape_of(first) is shape_of(second)
    assert first.requests is second.requests


@pytest.mark.parametrize(
    "other",
    [
        pod(nodeSelector={"disk": "ssd"}),
        pod(tolerations=[{"operator": "Exists"}]),
        pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
        pod(status={"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}),
        pod(status={"allocatedResources": {"cpu": "2"}}),
    ],
)
def test_what_scheduling_reads_makes_another_shape(other: Pod) -> None:
    assert shape_of(pod()) is not shape_of(other)


def test_a_claim_of_the_pods_own_makes_a_shape_of_its_own() -> None:
    own = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]
    assert shape_of(pod("a", volumes=own)) is not shape_of(pod("b", volumes=own))


def test_a_resized_pod_counts_with_the_larger_amount() -> None:
    resized = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
    assert shape_of(pod(status=resized)).requests["cpu"] == 3000


def test_silent_containers_count_for_scoring() -> None:
    silent = Pod.from_dict({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}})
    shape = shape_of(silent)
    assert (shape.requests, shape.requested) == ({}, ())
    assert (shape.nonzero_cpu, shape.nonzero_memory) == (200, 2 * 200 * 1024 * 1024)


def test_host_ports_of_containers_and_sidecars_count() -> None:
    port = {"hostPort": 80, "containerPort": 80}
    found = shape_of(
        pod(
            containers=[{"ports": [port, {"containerPort": 90}]}],
            initContainers=[
                {"ports": [{"hostPort": 81, "hostIP": "10.0.0.1"}], "restartPolicy": "Always"},
                {"ports": [{"hostPort": 82}]},
            ],
        )
    )
    assert found.host_ports == (("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 81))  # noqa: S104


def test_terms_know_their_namespaces() -> None:
    def term(**more: Any) -> dict[str, Any]:
        return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}, **more}

    affinity = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                term(),
                term(namespaces=["x", "y"]),
                term(namespaceSelector={}),
            ]
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "podAffinityTerm": term()}
            ]
        },
    }
    shape = shape_of(pod(affinity=affinity))
    own, named, everywhere = shape.affinity
    assert own.namespaces == {"default"}
    assert named.namespaces == {"x", "y"}
    assert [one.matches("z", {"app": "a"}, {}) for one in shape.affinity] == [False, False, True]
    assert own.matches("default", {"app": "a"}, {})
    assert not everywhere.matches("z", {"app": "b"}, {})
    assert [one.weight for one in shape.preferred] == [-5]
    assert shape.has_affinity


def test_an_impossible_quantity_raises() -> None:
    with pytest.raises(QuantityError):
        shape_of(pod(containers=[{"resources": {"requests": {"cpu": "lots"}}}]))


def test_what_plugins_remember_of_many_templates_is_forgotten() -> None:
    pods = [pod(priority=number) for number in range(BOUNDS.templates + 1)]
    for one in pods:
        shape_of(one).data["plugin"] = one.spec.priority
    assert shape_of(pods[-1]).data == {"plugin": BOUNDS.templates}
    assert shape_of(pods[1]).data == {"plugin": 1}
    assert shape_of(pods[0]).data == {}


def test_templates_that_are_gone_take_no_place() -> None:
    """As was seen: one that many pods have was forgotten for 700 that nobody has any more."""
    hot = pod("hot")
    shape_of(hot).data["plugin"] = "worked out"
    for number in range(2 * BOUNDS.templates):
        shape_of(pod(priority=number)).data["plugin"] = number
    assert shape_of(hot).data == {"plugin": "worked out"}


def test_a_lower_limit_holds_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    remembering = Remembering(3)
    monkeypatch.setattr("mooring.state.shapes._remembering", remembering)
    shapes = [shape_of(pod(priority=number)) for number in range(4)]
    for one in shapes[:3]:
        one.data["plugin"] = 1
    remembering.most = 1
    assert shapes[3].data == {}
    assert [one._data for one in shapes] == [None, None, None, {}]
