"""Pods of one template share one description."""

from typing import Any

import pytest

from mooring import Pod, QuantityError
from mooring.state.memory_bounds import BOUNDS, MemoryBounds
from mooring.state.shapes import Shape, Shapes, have_same_shape

SHAPES = Shapes()


def shape_of(pod: Pod) -> Shape:
    return SHAPES.of(pod)


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
    assert shape_of(first).requests == first.requests == second.requests


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


def labelled(name: str, **labels: str) -> Pod:
    return Pod.from_dict({"metadata": {"name": name, "labels": labels}})


def test_pods_that_differ_in_their_labels_alone_share_the_rest() -> None:
    """As those of a StatefulSet or an indexed Job do."""
    shapes = Shapes()
    first, second = shapes.of(labelled("a", index="0")), shapes.of(labelled("b", index="1"))
    assert first is not second
    assert (first.labels, second.labels) == ({"index": "0"}, {"index": "1"})
    assert first.spec is second.spec
    assert first.data is second.data


def test_specs_that_take_turns_have_one_shape_each() -> None:
    shapes = Shapes()
    kinds = [shapes.of(pod(priority=number)) for number in range(3)]
    for _ in range(2):
        assert [shapes.of(pod(priority=number)) for number in range(3)] == kinds
    resized = pod(status={"allocatedResources": {"cpu": "2"}})
    other = shapes.of(resized)
    assert shapes.of(pod()) is not other
    assert shapes.of(resized) is other


def test_a_claim_of_the_pods_own_makes_a_shape_of_its_own() -> None:
    own = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]
    assert shape_of(pod("a", volumes=own)) is not shape_of(pod("b", volumes=own))


def test_a_resized_pod_counts_with_the_larger_amount() -> None:
    resized = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
    assert shape_of(pod(status=resized)).requests["cpu"] == 3000


def test_silent_containers_count_for_scoring() -> None:
    silent = Pod.from_dict({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}})
    shape = shape_of(silent)
    assert (shape.requests, shape.spec.taken) == ({}, (("pods", 1),))
    assert (shape.spec.nonzero_cpu, shape.spec.nonzero_memory) == (200, 2 * 200 * 1024 * 1024)


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


def test_nothing_is_written_to_the_pod() -> None:
    one = pod()
    before = dict(one.__dict__)
    shape = Shapes().of(one)
    assert Shapes().of(one) is not shape  # of another cluster
    assert {key: value for key, value in one.__dict__.items() if key != "requests"} == before


def test_what_plugins_remember_of_many_templates_is_forgotten() -> None:
    shapes = [shape_of(pod(priority=number)) for number in range(BOUNDS.templates + 1)]
    for number, one in enumerate(shapes):
        one.data["plugin"] = number
    assert shapes[-1].data == {"plugin": BOUNDS.templates}
    assert shapes[1].data == {"plugin": 1}
    assert shapes[0].data == {}


def test_templates_that_are_gone_take_no_place() -> None:
    """As was seen: one that many pods have was forgotten for 700 that nobody has any more."""
    hot = shape_of(pod("hot"))
    hot.data["plugin"] = "worked out"
    for number in range(2 * BOUNDS.templates):
        shape_of(pod(priority=number)).data["plugin"] = number
    assert hot.data == {"plugin": "worked out"}


def test_a_lower_limit_holds_at_once() -> None:
    known = Shapes(MemoryBounds(templates=3))
    shapes = [known.of(pod(priority=number)) for number in range(4)]
    for one in shapes[:3]:
        one.data["plugin"] = 1
    known.remembering.most = 1
    assert shapes[3].data == {}
    assert [one.spec._data for one in shapes] == [None, None, None, {}]


def test_what_plugins_remember_stays_within_its_cluster() -> None:
    one = pod()
    first, second = Shapes(), Shapes()
    shape = first.of(one)
    shape.data["plugin"] = "worked out"
    assert second.of(one).data == {}
    assert first.of(pod("other")).data == {"plugin": "worked out"}


def test_only_the_last_few_strangers_are_held() -> None:
    shapes = Shapes()
    first = pod(priority=1)
    shape = shapes.of_stranger(first)
    assert shapes.of_stranger(first) is shape
    for number in range(100):
        shapes.of_stranger(pod(priority=number))
    assert len(shapes._recent) < 100
    assert all(number == id(one) for number, (one, _) in shapes._recent.items())
    assert len(shapes) < 100


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (pod(), True),
        (pod(status={"phase": "Running"}), True),
        (pod(node="n"), False),  # it has, but that is not looked at so closely
        (pod(priority=1), False),
        (pod(status={"allocatedResources": {"cpu": "2"}}), False),
    ],
)
def test_two_versions_of_a_pod_often_have_the_same_shape(other: Pod, same: bool) -> None:
    assert have_same_shape(pod(), other) is same
    if same:
        assert shape_of(pod()) is shape_of(other)
