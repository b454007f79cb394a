"""Samples over time: bounded, regular, with the peak of pending pods between them."""

from mooring.model.pod import Pod
from mooring.simulator.engine.recorder import Recorder
from mooring.simulator.engine.sampling import MOST_SAMPLES, Sampler
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

GPU = "nvidia.com/gpu"


def pod(name: str, cpu: str = "1") -> Pod:
    return make_pod(name, requests={"cpu": cpu})


def test_the_number_of_samples_is_bounded_however_long_it_takes() -> None:
    sampler = Sampler(Cluster(), Recorder())
    for step in range(1, 2000):
        sampler.catch_up(step * 50.0)
    sampler.end(100_000.0)
    times = sampler.series().times
    assert MOST_SAMPLES / 2 <= len(times) <= MOST_SAMPLES + 1
    assert (times[0], times[-1]) == (0.0, 100_000.0)
    assert times == sorted(set(times))


def test_a_short_peak_of_pending_pods_is_not_lost() -> None:
    recorder = Recorder()
    sampler = Sampler(Cluster(), recorder)
    sampler.catch_up(100.0)
    pods = [pod(f"p{number}") for number in range(7)]
    for one in pods:
        recorder.created(one, "", 100.0)
    for one in pods:
        recorder.bound(one.uid, "n", 100.01)
    for step in range(200, 90_000, 100):
        sampler.catch_up(float(step))
    sampler.end(90_000.0)
    assert max(sampler.series().pending) == 7


def test_capacity_that_no_pod_can_use_is_fragmented() -> None:
    cluster, recorder = Cluster(), Recorder()
    for number in range(4):
        cluster.put_node(make_node(f"n{number}", cpu="4"))
        cluster.put_pod(make_pod(f"r{number}", requests={"cpu": "3"}, node=f"n{number}"))
    recorder.created(pod("large", cpu="2"), "", 0.0)
    sampler = Sampler(cluster, recorder)
    sampler.end(1.0)
    series = sampler.series()
    assert series.utilization["cpu"][-1] == 0.75
    assert series.fragmentation["cpu"][-1] == 1.0  # four cores are free, and nobody can have two


def test_pods_that_do_not_request_a_resource_do_not_tell_whether_it_can_be_used() -> None:
    cluster, recorder = Cluster(), Recorder()
    for number in range(2):
        cluster.put_node(make_node(f"n{number}", cpu="8", extended={GPU: 4}))
    for number in range(20):  # more shapes than are typical, none of which requests a GPU
        recorder.created(pod(f"p{number}", cpu=f"{number + 1}m"), "", 0.0)
        recorder.created(pod(f"q{number}", cpu=f"{number + 1}m"), "", 0.0)
    recorder.created(make_pod("training", requests={"cpu": "1", GPU: "8"}), "", 0.0)
    sampler = Sampler(cluster, recorder)
    sampler.end(1.0)
    fragmentation = sampler.series().fragmentation
    assert fragmentation[GPU][-1] == 1.0  # eight GPUs are free, but never eight on a node
    assert fragmentation["cpu"][-1] < 0.05
