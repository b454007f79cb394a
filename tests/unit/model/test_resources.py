import copy
from collections.abc import Callable
from typing import Any

import pytest

from mooring import Pod, QuantityError
from mooring.model.resources import (
    Resources,
    container_scoring_requests,
    read_resources,
    scoring_requests,
    spec_requests,
)
from tests.unit.model.golden import rows

GOLDEN = rows("pod_requests")
OTHER = rows("other_requests")


@pytest.mark.parametrize(
    ("pod", "requests"), GOLDEN, ids=[pod["metadata"]["name"] for pod, _ in GOLDEN]
)
def test_requests_are_what_kube_scheduler_counts(
    pod: dict[str, object], requests: dict[str, int]
) -> None:
    assert Pod.from_dict(pod).requests == requests


@pytest.mark.parametrize(
    ("pod", "answers"),
    [(pod, answers) for (pod, _), answers in zip(GOLDEN, OTHER, strict=True)],
    ids=[answers[0] for answers in OTHER],
)
def test_other_ways_to_count_requests_are_kube_schedulers(
    pod: dict[str, Any], answers: list[Any]
) -> None:
    name, spec, scoring, container = answers
    assert pod["metadata"]["name"] == name
    read = Pod.from_dict(pod)
    assert spec_requests(read) == spec
    counted = scoring_requests(read)
    assert {"cpu": counted["cpu"], "memory": counted["memory"]} == scoring
    assert container_scoring_requests(read) == container


def test_silent_containers_count_when_nodes_are_scored() -> None:
    containers = [
        {"name": "a", "resources": {"requests": {"cpu": "0"}}},
        {"name": "b", "resources": {"requests": {"memory": "1Mi", "example.com/gpu": 2}}},
    ]
    init = [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]
    pod = Pod.from_dict(
        {
            "spec": {
                "containers": containers,
                "initContainers": init,
                "overhead": {"cpu": "7m"},
            }
        }
    )
    assert pod.requests == {"cpu": 7, "memory": 2**20, "example.com/gpu": 2}
    # a says it needs no cpu, so only b and the sidecar count 100m; a and the sidecar 200Mi
    counted = {"cpu": 207, "memory": 401 * 2**20, "example.com/gpu": 2}
    assert scoring_requests(pod) == counted
    assert container_scoring_requests(pod) == counted


def test_pod_level_requests_count_except_in_the_scoring_of_node_resources_fit() -> None:
    pod = Pod.from_dict(
        {
            "spec": {
                "containers": [{"name": "a"}, {"name": "b"}],
                "resources": {"requests": {"cpu": 2}},
            }
        }
    )
    assert spec_requests(pod) == pod.requests == {"cpu": 2000}
    assert scoring_requests(pod) == {"cpu": 2000, "memory": 400 * 2**20}
    assert container_scoring_requests(pod) == {"cpu": 200, "memory": 400 * 2**20}


@pytest.mark.parametrize(
    ("text", "memory", "cpu"),
    [
        ("9223372036854775807", 2**63 - 1, -1000),
        ("9223372036854775808", -(2**63), 0),
        ("123456789012345678901", -5670419503621182411, -7269072992350064888),
        ("99999999999999999", 99999999999999999, 7766279631452240920),
        ("8Ei", 2**63 - 1, -1000),
        ("1Ei", 2**60, -(2**63)),
        ("10P", 10**16, 0),
        ("9E", 9 * 10**18, 0),
        ("10E", 0, 0),
        ("20000000000G", 0, 0),
        ("1e40", 0, 0),
    ],
)
def test_amounts_beyond_64_bits_overflow_as_in_kubernetes(text: str, memory: int, cpu: int) -> None:
    assert read_resources({"memory": text, "cpu": text}) == {"memory": memory, "cpu": cpu}


def test_the_golden_pods_have_every_feature() -> None:
    pods = [Pod.from_dict(pod) for pod, _ in GOLDEN]
    assert sum(pod.spec.overhead is not None for pod in pods) > 30
    assert sum(bool(pod.spec.resources and pod.spec.resources.requests) for pod in pods) > 40
    assert sum(pod.status.container_statuses is not None for pod in pods) > 30
    assert sum(pod.status.resources is not None for pod in pods) > 20
    reasons = {one.reason for pod in pods for one in pod.status.conditions or ()}
    assert {"Infeasible", "Deferred"} <= reasons
    sidecars = {one.restart_policy for pod in pods for one in pod.spec.init_containers or ()}
    assert {None, "Always", "OnFailure"} <= sidecars


def test_a_resource_nobody_asks_for_has_amount_zero() -> None:
    requests = Pod().requests
    assert requests["nvidia.com/gpu"] == 0
    assert "nvidia.com/gpu" not in requests  # reading adds nothing


def test_cpu_is_in_thousandths_and_everything_else_in_units() -> None:
    amounts = read_resources({"cpu": "1.5", "memory": "1.5Ki", "nvidia.com/gpu": 2, "pods": "110"})
    assert amounts == {"cpu": 1500, "memory": 1536, "nvidia.com/gpu": 2, "pods": 110}
    assert read_resources(None) == {}


def test_an_impossible_amount_is_an_error_when_requests_are_read() -> None:
    pod = Pod.from_dict({"spec": {"overhead": {"cpu": "lots"}}})
    with pytest.raises(QuantityError, match="'lots'"):
        _ = pod.requests


@pytest.mark.parametrize(
    "change",
    [
        lambda amounts: amounts.__setitem__("cpu", 1),
        lambda amounts: amounts.__delitem__("cpu"),
        lambda amounts: amounts.__ior__({"cpu": 1}),
        lambda amounts: amounts.update(cpu=1),
        lambda amounts: amounts.setdefault("memory", 1),
        lambda amounts: amounts.pop("cpu"),
        lambda amounts: amounts.popitem(),
        lambda amounts: amounts.clear(),
    ],
)
def test_amounts_are_read_only(change: Callable[[Any], object]) -> None:
    amounts = read_resources({"cpu": "2"})
    with pytest.raises(TypeError, match=r"read-only; change a copy: dict\(\.\.\.\)"):
        change(amounts)
    assert amounts == {"cpu": 2000}
    assert {**amounts, "cpu": 1} == {"cpu": 1}


def test_amounts_can_be_copied() -> None:
    amounts = read_resources({"cpu": "2"})
    for copied in (copy.copy(amounts), copy.deepcopy(amounts)):
        assert (type(copied), copied) == (Resources, amounts)
