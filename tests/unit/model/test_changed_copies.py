from typing import Any

import pytest

from mooring.model import changed_copies
from mooring.model.pod import Pod
from mooring.model.resources import spec_requests
from mooring.model.taints import Taint
from mooring.testing import make_node, make_pod


def pod_of(*containers: dict[str, Any], **spec: Any) -> Pod:
    named = [{"name": f"c{number}", **one} for number, one in enumerate(containers)]
    return Pod.from_dict({"metadata": {"name": "p"}, "spec": {"containers": named, **spec}})


def asking(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


class TestAskingLess:
    def test_the_largest_container_gives_first(self) -> None:
        pod = pod_of(asking(cpu="1"), asking(cpu="3"))
        less = changed_copies.requesting_less(pod, {"cpu": 500})
        assert less is not None
        assert spec_requests(less)["cpu"] == 3500
        assert [one.resources.requests for one in less.containers if one.resources] == [
            {"cpu": "1"},
            {"cpu": "2500m"},
        ]

    def test_more_than_one_container_may_have_to_give(self) -> None:
        less = changed_copies.requesting_less(
            pod_of(asking(cpu="1"), asking(cpu="3")), {"cpu": 3700}
        )
        assert less is not None
        assert spec_requests(less)["cpu"] == 300

    def test_init_containers_come_down_too(self) -> None:
        init = [{"name": "i", **asking(cpu="5")}]
        less = changed_copies.requesting_less(
            pod_of(asking(cpu="2"), initContainers=init), {"cpu": 4000}
        )
        assert less is not None
        assert spec_requests(less)["cpu"] == 1000

    def test_requests_of_the_pod_as_a_whole(self) -> None:
        pod = pod_of({}, resources={"requests": {"cpu": "4", "memory": "1Gi"}})
        less = changed_copies.requesting_less(pod, {"cpu": 1000})
        assert less is not None
        assert spec_requests(less) == {"cpu": 3000, "memory": 2**30}

    def test_several_resources(self) -> None:
        less = changed_copies.requesting_less(
            pod_of(asking(cpu="4", memory="4Gi")), {"cpu": 1000, "memory": 2**30}
        )
        assert less is not None
        assert spec_requests(less) == {"cpu": 3000, "memory": 3 * 2**30}

    def test_down_to_nothing(self) -> None:
        less = changed_copies.requesting_less(pod_of(asking(**{"x/gpu": "2"})), {"x/gpu": 2})
        assert less is not None
        assert spec_requests(less)["x/gpu"] == 0

    def test_overhead_cannot_be_given_up(self) -> None:
        pod = pod_of(asking(cpu="1"), overhead={"cpu": "1"})
        assert changed_copies.requesting_less(pod, {"cpu": 1500}) is None

    def test_the_pod_itself_stays_as_it_is(self) -> None:
        pod = pod_of(asking(cpu="4"))
        changed_copies.requesting_less(pod, {"cpu": 1000})
        assert spec_requests(pod)["cpu"] == 4000


@pytest.mark.parametrize(
    "taint", [Taint("k", "v", "NoSchedule"), Taint("k", "", "NoExecute")], ids=str
)
def test_a_new_toleration_tolerates(taint: Taint) -> None:
    [toleration] = changed_copies.tolerating(make_pod(), [taint]).tolerations
    assert toleration.tolerates(taint)
    assert not toleration.tolerates(Taint("k", "other", taint.effect)) or not taint.value


def test_host_ports_of_all_containers_are_given_up() -> None:
    ports = [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 90}]
    less = changed_copies.without_host_ports(pod_of({"ports": ports}, {"ports": ports}), [80])
    left = [port.host_port for one in less.containers for port in one.ports or ()]
    assert left == [0, 90, 0, 90]


def test_a_port_on_the_hosts_network_goes_altogether() -> None:
    ports = [{"containerPort": 53, "hostPort": 53}, {"containerPort": 80, "hostPort": 80}]
    less = changed_copies.without_host_ports(pod_of({"ports": ports}, hostNetwork=True), [53])
    assert [port.container_port for port in less.containers[0].ports or ()] == [80]


def test_labels_of_a_node_are_changed_and_taken_away() -> None:
    node = changed_copies.with_labels(
        make_node("a", labels={"x": "1", "y": "2"}), {"x": None, "z": "3"}
    )
    assert node.labels == {"kubernetes.io/hostname": "a", "y": "2", "z": "3"}


def test_a_node_like_another_is_ready_to_use() -> None:
    node = changed_copies.like(make_node("a", cpu="3", labels={"x": "1"}, unschedulable=True), "b")
    assert node.name == "b"
    assert node.labels == {"kubernetes.io/hostname": "b", "x": "1"}
    assert not node.unschedulable
    assert node.allocatable["cpu"] == 3000


def test_a_changed_copy_keeps_what_was_read() -> None:
    pod = Pod.from_dict({"metadata": {"name": "p"}, "spec": {"dnsPolicy": "Default"}})
    assert changed_copies.with_spec(pod, node_name="a").raw["spec"] == {"dnsPolicy": "Default"}


def test_a_pod_as_new_is_on_no_node() -> None:
    pod = changed_copies.as_new(make_pod(node="a"))
    assert (pod.node_name, pod.phase) == ("", "Pending")
