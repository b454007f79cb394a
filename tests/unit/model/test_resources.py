import pytest

from mooring import Pod, QuantityError
from mooring.model.resources import read_resources
from tests.unit.model.golden import rows

GOLDEN = rows("pod_requests")


@pytest.mark.parametrize(
    ("pod", "requests"), GOLDEN, ids=[pod["metadata"]["name"] for pod, _ in GOLDEN]
)
def test_requests_are_what_kube_scheduler_counts(
    pod: dict[str, object], requests: dict[str, int]
) -> None:
    assert Pod.from_dict(pod).requests == requests


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
