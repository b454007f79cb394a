from pathlib import Path

import mooring as mr
from mooring.testing import FakeKubeScheduler, make_node, make_pod

GPU = "nvidia.com/gpu"


def pod(name: str, gpus: int) -> mr.Pod:
    return make_pod(name, requests={GPU: gpus})


def test_gpus_are_packed_and_shared() -> None:
    nodes = [make_node("a", extended={GPU: 4}), make_node("b", extended={GPU: 4})]
    running = make_pod("running", requests={GPU: 1}, node="b")
    scheduler = FakeKubeScheduler(Path(__file__).with_name("fair_gpus.py"), nodes, [running])

    assert [scheduler.schedule(pod(name, 1)) for name in ("p", "q", "r")] == ["b", "a", "a"]
    reason = "namespace would use more than half of the GPUs"
    assert scheduler.filter(pod("s", 1)).failed == {"a": reason, "b": reason}
    assert scheduler.filter(pod("web", 0)).failed == {}
