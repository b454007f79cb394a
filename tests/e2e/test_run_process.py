"""``moor run`` as a process, on both API servers: signals, the Lease, and what is rejected."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.certificates import write_kubeconfig
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import (
    BaseControlPlane,
    ControlPlane,
    ProcessError,
    free_port,
    wait_for,
)
from tests.e2e.pod_helpers import nodes, note_of, pod

ELECTED = {
    "leaderElect": True, "leaseDuration": "4s", "renewDeadline": "2s", "retryPeriod": "500ms",
}  # fmt: skip


@pytest.fixture
def config(namespace: str) -> dict[str, Any]:
    """A scheduler of the test's own, with a Lease of its own."""
    election = {**ELECTED, "resourceNamespace": namespace, "resourceName": "lease"}
    return {"profiles": [{"schedulerName": namespace}], "leaderElection": election}


@pytest.fixture
def started(plane: BaseControlPlane, namespace: str, config: dict[str, Any]) -> Iterator[MoorRun]:
    scheduler = MoorRun(plane, config, kubeconfig=plane.kubeconfig)
    with nodes(plane, run_a={"cpu": "4"}, run_b={"cpu": "4"}), scheduler:
        yield scheduler


def bound(plane: BaseControlPlane, namespace: str, name: str) -> str:
    def look() -> str | None:
        node: str | None = plane.get("Pod", name, namespace)["spec"].get("nodeName")
        return node

    return wait_for(look, f"pod {name} to be bound")


def lease(plane: BaseControlPlane, namespace: str) -> dict[str, Any]:
    spec: dict[str, Any] = plane.get(
        "Lease", "lease", namespace, api_version="coordination.k8s.io/v1"
    )["spec"]
    return spec


def test_sigterm_ends_it_in_order(
    plane: BaseControlPlane, namespace: str, started: MoorRun
) -> None:
    plane.create(pod("p", namespace, namespace))
    assert bound(plane, namespace, "p") in ("run-a", "run-b")
    assert lease(plane, namespace)["holderIdentity"]
    started.send(signal.SIGTERM)
    assert started.wait_ended() == 0
    assert lease(plane, namespace)["holderIdentity"] in (None, "")
    log = started.log()
    assert f"schedules pods for {namespace} on {plane.url}" in log
    assert f"leader election on (Lease {namespace}/lease)" in log
    assert f"health checks at http://127.0.0.1:{started.port}" in log
    assert "Traceback" not in log
    assert note_of(plane, "p", namespace, "Scheduled").startswith("Successfully assigned")


def test_a_lost_lease_ends_it_at_once(
    plane: BaseControlPlane, namespace: str, started: MoorRun
) -> None:
    wait_for(lambda: "scheduling" in started.log(), "it to lead")
    plane.request(
        "PATCH",
        plane.path("Lease", "lease", namespace, api_version="coordination.k8s.io/v1"),
        {"spec": {"holderIdentity": "somebody else"}},
        content_type="application/merge-patch+json",
    )
    assert started.wait_ended() == 1
    assert lease(plane, namespace)["holderIdentity"] == "somebody else"
    log = started.log()
    assert log.count("this process is no longer the leader: it stops writing and exits") == 1
    assert "Traceback" not in log


def test_the_state_is_compared_on_sigusr2(
    plane: BaseControlPlane, namespace: str, started: MoorRun
) -> None:
    for number in range(20):
        plane.create(pod(f"p{number}", namespace, namespace))
    for number in range(20):
        bound(plane, namespace, f"p{number}")
    started.send(signal.SIGUSR2)
    wait_for(lambda: "the state matches the cluster: " in started.log(), "the comparison")
    assert "mooring_state_differences 0.0" in started.metrics()


def test_what_it_serves(plane: BaseControlPlane, namespace: str, started: MoorRun) -> None:
    assert started.get("/healthz") == started.get("/livez") == started.get("/readyz") == "ok"
    assert "[+]informer-sync ok" in started.get("/readyz?verbose=1")
    assert f'"schedulerName":"{namespace}"' in started.get("/configz")
    plane.create(pod("p", namespace, namespace))
    bound(plane, namespace, "p")
    counted = f'scheduler_schedule_attempts_total{{profile="{namespace}",result="scheduled"}} 1.0'
    wait_for(lambda: counted in started.metrics(), "the metric")
    wait_for(lambda: 'leader_election_master_status{name="lease"} 1.0' in started.metrics(), "it")


class TestRejections:
    def said(self, scheduler: MoorRun) -> str:
        """The sentence with which it ended."""
        with pytest.raises(ProcessError, match="ended with status 1"):
            scheduler.start()
        log = scheduler.log()
        assert "Traceback" not in log
        (line,) = [one for one in log.splitlines() if one.startswith("moor: ")]
        return line

    @pytest.mark.kube  # the embedded API server knows no permissions
    def test_missing_permissions(self, control_plane: ControlPlane, config: dict[str, Any]) -> None:
        nobody = control_plane.kubeconfig_for("nobody")
        said = self.said(MoorRun(control_plane, config, kubeconfig=nobody))
        # Which of them are rejected in time to be named, and which is the first, nobody can say.
        assert re.search(r'User "nobody" cannot list resource "\w+" in API group "', said)
        assert "grant the permission with an RBAC role. Also rejected: " in said

    def test_wrong_credentials(
        self, plane: BaseControlPlane, config: dict[str, Any], tmp_path: Path
    ) -> None:
        file = write_kubeconfig(tmp_path / "kubeconfig", plane.url, plane.ca_file, "no token")
        said = self.said(MoorRun(plane, config, kubeconfig=file))
        assert "rejected the credentials (401)" in said

    def test_no_api_server(
        self, plane: BaseControlPlane, config: dict[str, Any], tmp_path: Path
    ) -> None:
        url = f"https://127.0.0.1:{free_port()}"
        file = write_kubeconfig(tmp_path / "kubeconfig", url, plane.ca_file, "token")
        with MoorRun(plane, config, kubeconfig=file, wait=False) as scheduler:
            wait_for(lambda: "cannot be reached" in scheduler.log(), "the sentence")
            status, text = scheduler.answer("/readyz")
            assert status == 500
            assert f"The API server {url} cannot be reached: Connection refused" in text
            scheduler.send(signal.SIGTERM)
            assert scheduler.wait_ended() == 0
        assert scheduler.log().count("cannot be reached") == 1
