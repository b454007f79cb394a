from pathlib import Path

import mooring as mr
from mooring.testing import FakeKubeScheduler, make_node, make_pod

GPU = "nvidia.com/gpu"


def pod(name: str) -> mr.Pod:
    return make_pod(name, requests={GPU: 1})


def test_gpus_are_packed() -> None:
    nodes = [make_node("a", extended={GPU: 2}), make_node("b", extended={GPU: 2})]
    scheduler = FakeKubeScheduler(Path(__file__).with_name("gpu_pack.py"), nodes)

    assert [scheduler.schedule(pod(name)) for name in ("p", "q", "r")] == ["a", "a", "b"]
    assert scheduler.filter(pod("s")).failed == {"a": "too few free GPUs"}
