from mooring.plugins.queueing.scheduling_gates import SchedulingGates
from mooring.testing import make_pod


def test_pods_without_gates_are_let_in() -> None:
    assert SchedulingGates().pre_enqueue(make_pod()) is None
    assert SchedulingGates().pre_enqueue(make_pod(spec={"schedulingGates": []})) is None


def test_pods_with_gates_are_held_back_and_the_gates_named() -> None:
    gates = [{"name": "example.com/quota"}, {"name": "example.com/setup"}]
    verdict = SchedulingGates().pre_enqueue(make_pod(spec={"schedulingGates": gates}))
    assert verdict is not None
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == (
        "waiting for scheduling gates: [example.com/quota example.com/setup]",
    )
