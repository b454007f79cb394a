from collections.abc import Mapping

import msgspec
import pytest

from mooring.errors import ApiError, KubeError
from mooring.kube.boot_clock import boot_clock
from mooring.kube.pod_status import PodCondition, is_retriable, pod_condition, status_patch
from mooring.kube.timestamps import micro_time, second_time
from mooring.model.pod import Pod

NOW = 1_700_000_000_123_456_789
UNSCHEDULABLE = {
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
}


def condition(status: Mapping[str, object]) -> PodCondition:
    return pod_condition(
        Pod.from_dict({"metadata": {"name": "a"}, "status": dict(status)}),
        "PodScheduled",
        "False",
        reason="Unschedulable",
        message="0/3 nodes are available.",
        now_ns=NOW,
    )


def test_a_condition_has_a_new_time_only_when_its_status_changes() -> None:
    new = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available.",
    }
    timed = new | {"lastTransitionTime": "2023-11-14T22:13:20Z"}
    assert msgspec.to_builtins(condition({})) == timed
    other = {"conditions": [{"type": "Ready", "status": "False"}]}
    assert msgspec.to_builtins(condition(other)) == timed
    scheduled = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    assert msgspec.to_builtins(condition(scheduled)) == timed
    # the API server merges by type, so what is left out stays
    assert msgspec.to_builtins(condition(UNSCHEDULABLE)) == new


def test_a_condition_says_which_generation_of_the_pod_it_is_about() -> None:
    pod = Pod.from_dict({"metadata": {"name": "a", "generation": 3}})
    made = pod_condition(pod, "PodScheduled", "False", reason="r", message="m", now_ns=NOW)
    assert made.observed_generation == 3


def test_a_patch_has_only_what_changes() -> None:
    def made(*args: object, **kwargs: object) -> object:
        return msgspec.json.decode(status_patch(*args, **kwargs))  # type: ignore[arg-type]

    one = PodCondition(type="T", status="True", observed_generation=2)
    plain = {"type": "T", "status": "True", "observedGeneration": 2}
    assert made(None, [one], None) == {"status": {"conditions": [plain]}}
    assert made("u", (), "n") == {"metadata": {"uid": "u"}, "status": {"nominatedNodeName": "n"}}
    assert made("", (), "") == {"status": {"nominatedNodeName": None}}


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ApiError("x", status=409, reason="Conflict"), True),
        (ApiError("x", status=500, reason="InternalError"), True),
        (ApiError("x", status=503, reason="ServiceUnavailable"), True),
        (ApiError("x", status=409, reason="AlreadyExists"), False),
        (ApiError("x", status=404, reason="NotFound"), False),
        (KubeError("did not answer in time"), False),
    ],
)
def test_what_may_pass_by_itself(error: KubeError, passes: bool) -> None:
    assert is_retriable(error) is passes


def test_times() -> None:
    assert micro_time(NOW) == "2023-11-14T22:13:20.123456Z"
    assert micro_time(NOW // 10**9 * 10**9) == "2023-11-14T22:13:20.000000Z"
    assert second_time(NOW) == "2023-11-14T22:13:20Z"
    assert second_time(0) == "1970-01-01T00:00:00Z"
    assert boot_clock() <= boot_clock()
