"""Two replicas of ``moor run``: one binds at a time, and the other goes on when it is gone.

The API server's audit log says who bound what and who held the Lease, by one clock.
"""

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane, wait_for
from tests.e2e.control_planes import CONTROL_PLANES, make_control_plane
from tests.e2e.fault_helpers import (
    PATIENCE,
    AuditLog,
    check_bound_once,
    check_nothing_left,
    many_nodes,
    pod_stream,
)

LEASE, RENEW, RETRY = 6, 4, 0.5
#: What a loaded machine may add to anything.
SLACK = 20.0


@pytest.fixture(scope="module", params=CONTROL_PLANES)
def plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BaseControlPlane]:
    with make_control_plane(
        request.param, tmp_path_factory.mktemp("leaders"), audited=True
    ) as plane:
        names = (f"n{i}" for i in range(10))
        plane.create_many(many_nodes(names, cpu="1000", memory="1000Gi", pods="10000"))
        yield plane


@pytest.fixture
def audit(plane: BaseControlPlane) -> AuditLog:
    return AuditLog(plane)


def replica(plane: BaseControlPlane, lease: str, user: str, seconds: int = LEASE) -> MoorRun:
    """A replica with a name of its own for the API server."""
    election = {
        "leaderElect": True,
        "resourceNamespace": "default",
        "resourceName": lease,
        "leaseDuration": f"{seconds}s",
        "renewDeadline": f"{RENEW * seconds // LEASE}s",
        "retryPeriod": f"{int(RETRY * 1000)}ms",
    }
    kubeconfig = plane.kubeconfig_for(user, ["system:masters"])
    return MoorRun(plane, {"leaderElection": election}, kubeconfig=kubeconfig)


def wait_bound_by(audit: AuditLog, user: str, more: int = 50) -> None:
    """Wait until a replica has bound so many pods more."""
    count = len(audit.bound(user)) + more
    wait_for(lambda: len(audit.bound(user)) >= count, f"{user} to bind pods", PATIENCE)


def all_bound(plane: BaseControlPlane) -> list[Any]:
    """All pods, once none waits any more."""
    found: list[Any] = []

    def done() -> bool:
        found[:] = plane.list_objects("Pod", "default")
        return all(one["spec"].get("nodeName") for one in found)

    wait_for(done, "all pods to be bound", PATIENCE)
    return found


def check_one_after_the_other(audit: AuditLog, lease: str, first: str, second: str) -> None:
    """The second sent its first Binding when the Lease was its own and the first had ended."""
    sent = [one for one in audit.bindings() if one.user in (first, second)]
    ended = max(one.went for one in sent if one.user == first)
    began = min(one.came for one in sent if one.user == second)
    assert ended < began
    writes = [one for one in audit.leases(lease) if one.done]
    taken = min(one.went for one in writes if one.user == second)
    assert taken < began
    assert max(one.came for one in writes if one.user == first) < taken


def test_the_other_binds_on_within_the_lease_time_when_the_leader_is_killed(
    plane: BaseControlPlane, audit: AuditLog
) -> None:
    with (
        replica(plane, "killed", "killed-a") as first,
        replica(plane, "killed", "killed-b") as second,
    ):
        with pod_stream(plane, "killed"):
            wait_bound_by(audit, "killed-a")
            assert audit.bound("killed-b") == []
            killed = time.time()
            first.kill()
            wait_bound_by(audit, "killed-b")
        check_one_after_the_other(audit, "killed", "killed-a", "killed-b")
        # It was sure that the first was gone, and then did not wait.
        renewed = max(one.came for one in audit.leases("killed") if one.user == "killed-a")
        bound = min(one.came for one in audit.bound("killed-b"))
        assert bound - renewed > LEASE - RETRY
        assert bound - killed < LEASE + 3 * RETRY + SLACK
        pods = all_bound(plane)
        check_bound_once(pods, audit)
        check_nothing_left(pods, second)


def test_the_other_takes_over_at_once_when_the_leader_is_told_to_stop(
    plane: BaseControlPlane, audit: AuditLog
) -> None:
    seconds = 10 * LEASE
    with (
        replica(plane, "stopped", "stopped-a", seconds) as first,
        replica(plane, "stopped", "stopped-b", seconds) as second,
    ):
        with pod_stream(plane, "stopped"):
            wait_bound_by(audit, "stopped-a")
            first.send(signal.SIGTERM)
            assert first.wait_ended() == 0
            wait_bound_by(audit, "stopped-b")
        check_one_after_the_other(audit, "stopped", "stopped-a", "stopped-b")
        (released,) = [one for one in audit.leases("stopped") if not one.holder]
        assert released.user == "stopped-a"
        # Bindings under way were finished first; nobody waited for the Lease to run out.
        assert max(one.went for one in audit.bindings() if one.user == "stopped-a") < released.came
        assert min(one.came for one in audit.bound("stopped-b")) - released.went < 2 * SLACK
        pods = all_bound(plane)
        check_bound_once(pods, audit)
        check_nothing_left(pods, second)


def test_a_leader_that_was_asleep_binds_nothing_after_another_took_over(
    plane: BaseControlPlane, audit: AuditLog
) -> None:
    """A process that is stopped in the middle of bindings continues when its time is over."""
    with (
        replica(plane, "asleep", "asleep-a") as first,
        replica(plane, "asleep", "asleep-b") as second,
    ):
        with pod_stream(plane, "asleep", pause=0.002):
            wait_bound_by(audit, "asleep-a")
            first.send(signal.SIGSTOP)
            wait_bound_by(audit, "asleep-b")
            first.send(signal.SIGCONT)
            assert first.wait_ended() == 1
            wait_bound_by(audit, "asleep-b")
        assert "The Lease is lost" in first.log()
        check_one_after_the_other(audit, "asleep", "asleep-a", "asleep-b")
        pods = all_bound(plane)
        check_bound_once(pods, audit)
        check_nothing_left(pods, second)


def test_a_leader_whose_lease_is_stolen_ends_and_binds_nothing_after(
    plane: BaseControlPlane, audit: AuditLog
) -> None:
    path = plane.path("Lease", "stolen", "default", api_version="coordination.k8s.io/v1")
    with replica(plane, "stolen", "stolen-a") as only, pod_stream(plane, "stolen"):
        wait_bound_by(audit, "stolen-a")
        plane.request(
            "PATCH",
            path,
            {"spec": {"holderIdentity": "a-thief"}},
            content_type="application/merge-patch+json",
        )
        assert only.wait_ended() == 1
        assert "The Lease is lost: a-thief holds it." in only.log()
        # It found out when it wanted to renew, which it does all the time.
        (stolen,) = [one for one in audit.leases("stolen") if one.holder == "a-thief"]
        rejected = [one for one in audit.leases("stolen") if one.status == 409]
        assert [one.user for one in rejected] == ["stolen-a"]
        assert rejected[0].went - stolen.went < RETRY + SLACK
        sent = [one for one in audit.bindings() if one.user == "stolen-a"]
        assert max(one.came for one in sent) < rejected[0].went + SLACK / 2
        count = len(plane.list_objects("Pod", "default"))
        wait_for(
            lambda: len(plane.list_objects("Pod", "default")) > count + 20, "more pods", PATIENCE
        )
        assert [one for one in audit.bindings() if one.user == "stolen-a"] == sent
        # What is another's is not given up by us.
        assert plane.request("GET", path)["spec"]["holderIdentity"] == "a-thief"
