"""The proxy between Kubernetes' own clients and a real API server, and what becomes of etcd."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.errors import KubeError
from mooring.testing import Fault, FaultyProxy, Requests, WatchEvents
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler, wait_for
from tests.e2e.fault_helpers import (
    AuditLog,
    check_bound_once,
    many_nodes,
    many_pods,
    wait_all_bound,
)

pytestmark = pytest.mark.kube


@pytest.fixture
def audited(tmp_path: Path) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path, audited=True) as plane:
        yield plane


def test_kubectl_is_itself_behind_the_proxy(control_plane: ControlPlane) -> None:
    with FaultyProxy() as proxy:
        for user in ("ann", "bob"):
            direct = control_plane.kubeconfig_for(user, ["system:masters"])
            through = proxy.through(direct, client=user)
            who = control_plane.kubectl("auth", "whoami", f"--kubeconfig={through}")
            assert user in who
        assert proxy.requests >= 2
        proxy.set(Fault.refuse(503, on=Requests(client="bob", user_agent="kubectl/*")))
        args = ("get", "nodes", f"--kubeconfig={through}")
        assert control_plane.kubectl(*args, check=False) == ""
        assert proxy.counts["refuse"] > 0


def test_kube_scheduler_binds_every_pod_once_in_a_faulty_world(audited: ControlPlane) -> None:
    """It watches in Protobuf; what is cut, repeated and refused there must stay whole events."""
    plane = audited
    bindings = Requests(verb="create", resource="pods/binding")
    direct = plane.kubeconfig_for("behind", ["system:masters"])
    with FaultyProxy(seed=3) as proxy:
        connection = {"kubeconfig": str(proxy.through(direct, client="scheduler"))}
        with KubeScheduler(plane, {"clientConnection": connection}):
            proxy.set(
                Fault.refuse(500, on=bindings, chance=0.1),
                Fault.duplicate(on=WatchEvents(resource="pods"), chance=0.2),
                Fault.delay(0.01, 0.1, on=bindings, chance=0.2),
                Fault.cut(on=WatchEvents(resource="pods"), chance=0.02),
            )
            plane.create_many(many_nodes(f"n{i}" for i in range(5)))
            plane.create_many(many_pods((f"p{i}" for i in range(100)), cpu="100m"))
            pods = wait_all_bound(plane, 100)
        check_bound_once(pods, AuditLog(plane))
        assert {one.user for one in AuditLog(plane).bound()} == {"behind"}
        assert {"refuse", "duplicate", "delay", "cut"} <= proxy.counts.keys()


def test_etcd_comes_back_with_its_data(audited: ControlPlane) -> None:
    plane = audited
    plane.create(many_pods(["kept"])[0])
    for end in (plane.stop_etcd, plane.kill_etcd):
        end()
        assert "etcd" not in plane.pids
        plane.start_etcd()

        def kept() -> bool:
            with contextlib.suppress(KubeError):
                return bool(plane.get("Pod", "kept"))
            return False

        wait_for(kept, "the API server to find etcd again", 120)
