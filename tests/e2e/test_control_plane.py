"""The control plane that all other end-to-end tests stand on does what they rely on."""

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ApiError, KubeError
from mooring.testing.api_client import HttpsClient
from mooring.testing.real_kubernetes import (
    ControlPlane,
    KubeScheduler,
    MissingBinaries,
    ProcessError,
    WaitError,
    find_binaries,
    node,
)

pytestmark = pytest.mark.kube

RBAC = "rbac.authorization.k8s.io"


@pytest.fixture
def make_node(control_plane: ControlPlane) -> Iterator[Callable[[str], dict[str, Any]]]:
    created: list[str] = []

    def make(name: str) -> dict[str, Any]:
        made = control_plane.create_node(name)
        created.append(name)
        return made

    yield make
    for name in created:
        control_plane.delete("Node", name)


def pod(name: str, namespace: str, scheduler: str = "nobody") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "registry.k8s.io/pause"}],
        },
    }


def node_of(plane: ControlPlane, name: str, namespace: str) -> str:
    def bound() -> str | None:
        where: str | None = plane.get("Pod", name, namespace)["spec"].get("nodeName")
        return where

    return plane.wait_for(bound, f"pod {name} to be bound")


def alive(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
    state = shown.stdout.strip()
    return state != b"" and not state.startswith(b"Z")


def test_a_user_gets_403_until_a_role_is_bound(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.kubeconfig_for("eve", ["sailors"])
    context = ssl.create_default_context(cafile=str(control_plane.ca_file))
    context.load_cert_chain(control_plane.folder / "eve.crt", control_plane.folder / "eve.key")
    eve = HttpsClient(control_plane.port, context)
    path = f"/api/v1/namespaces/{namespace}/pods"
    try:
        status, content = eve.send("GET", path)
        assert status == 403
        assert json.loads(content)["reason"] == "Forbidden"

        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        metadata = {"name": "watch-pods", "namespace": namespace}
        role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
        control_plane.create(role)
        control_plane.create(
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "watch-pods"},
                "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "sailors"}],
            }
        )
        control_plane.wait_for(lambda: eve.send("GET", path)[0] == 200, "the role to take effect")
    finally:
        eve.close()


def test_a_token_carries_the_service_account(control_plane: ControlPlane, namespace: str) -> None:
    metadata = {"name": "robot", "namespace": namespace}
    control_plane.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    kubeconfig = control_plane.kubeconfig_with_token(namespace, "robot")
    who = control_plane.kubectl("auth", "whoami", "--output=json", f"--kubeconfig={kubeconfig}")
    assert f"system:serviceaccount:{namespace}:robot" in who


def test_kubectl_reads_standard_input_and_reports_errors(
    control_plane: ControlPlane, namespace: str
) -> None:
    said = control_plane.kubectl("apply", "--filename=-", stdin=json.dumps(pod("a", namespace)))
    assert said == "pod/a created\n"
    listed = control_plane.kubectl("get", "pods", "--output=name", f"--namespace={namespace}")
    assert listed == "pod/a\n"
    with pytest.raises(ProcessError, match=r"`kubectl get pod b.*` ended with 1: .*NotFound"):
        control_plane.kubectl("get", "pod", "b", f"--namespace={namespace}")
    assert control_plane.kubectl("get", "pod", "b", check=False) == ""


def test_requests_raise_the_answer_of_the_api_server(control_plane: ControlPlane) -> None:
    with pytest.raises(ApiError, match="not found") as error:
        control_plane.get("Pod", "nobody")
    assert (error.value.status, error.value.reason) == (404, "NotFound")


def test_a_created_node_is_ready_and_untainted(control_plane: ControlPlane) -> None:
    taint = {"key": "tide", "value": "low", "effect": "NoSchedule"}
    control_plane.create_node("plain")
    control_plane.create_node(
        "rich", labels={"zone": "z1"}, cpu="4", extended={"nvidia.com/gpu": "2"}, taints=[taint]
    )
    try:
        plain, rich = control_plane.get("Node", "plain"), control_plane.get("Node", "rich")
        assert "taints" not in plain["spec"]
        assert plain["status"]["conditions"][0]["status"] == "True"
        assert plain["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "110"}
        assert rich["metadata"]["labels"] == {"kubernetes.io/hostname": "rich", "zone": "z1"}
        assert rich["status"]["capacity"]["nvidia.com/gpu"] == "2"
        assert rich["spec"]["taints"] == [taint]
    finally:
        control_plane.delete("Node", "plain")
        control_plane.delete("Node", "rich")


def test_many_objects_keep_their_order(control_plane: ControlPlane) -> None:
    names = [f"many-{number:03}" for number in range(60)]
    created = control_plane.create_many(node(name) for name in names)
    assert [each["metadata"]["name"] for each in created] == names
    assert len(control_plane.list_objects("Node")) == len(names)
    control_plane.delete_all("Node")
    assert control_plane.list_objects("Node") == []


def test_kinds_of_other_groups_are_found(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "half", "namespace": namespace},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "a"}}},
        }
    )
    found = control_plane.get("PodDisruptionBudget", "half", namespace, api_version="policy/v1")
    assert found["spec"]["minAvailable"] == "50%"


def test_a_pod_is_bound_by_hand(
    control_plane: ControlPlane, namespace: str, make_node: Callable[[str], dict[str, Any]]
) -> None:
    make_node("quay")
    control_plane.create(pod("a", namespace))
    control_plane.create(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "a", "namespace": namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "quay"},
        }
    )
    assert control_plane.get("Pod", "a", namespace)["spec"]["nodeName"] == "quay"


def test_kube_scheduler_binds_the_pods_of_its_profile(
    control_plane: ControlPlane, namespace: str, make_node: Callable[[str], dict[str, Any]]
) -> None:
    make_node("berth")
    config = "profiles:\n- schedulerName: harbour\n"
    with KubeScheduler(control_plane, config) as scheduler:
        control_plane.create(pod("others", namespace, "nobody"))
        control_plane.create(pod("ours", namespace, "harbour"))
        assert node_of(control_plane, "ours", namespace) == "berth"
        assert "nodeName" not in control_plane.get("Pod", "others", namespace)["spec"]
        assert 'scheduler_schedule_attempts_total{profile="harbour"' in scheduler.metrics()
        assert "harbour" in scheduler.get("/configz")
        pid = scheduler.pid
    assert not alive(pid)
    assert "Successfully bound pod to node" in scheduler.log()


def test_a_wrong_scheduler_configuration_is_reported(control_plane: ControlPlane) -> None:
    scheduler = KubeScheduler(control_plane, {"profiles": [{"noSuchField": 1}]})
    with pytest.raises(ProcessError, match=r"ended with status 1 .*\n(.*\n)*.*noSuchField"):
        scheduler.start()


def test_a_restarted_api_server_has_the_same_data(
    control_plane: ControlPlane, namespace: str, make_node: Callable[[str], dict[str, Any]]
) -> None:
    make_node("pier")
    with KubeScheduler(control_plane, {"profiles": [{"schedulerName": "harbour"}]}):
        before = control_plane.create(pod("before", namespace, "harbour"))
        assert node_of(control_plane, "before", namespace) == "pier"
        pid = control_plane.pids["kube-apiserver"]

        control_plane.stop_apiserver()
        assert list(control_plane.pids) == ["etcd"]
        with pytest.raises(KubeError, match="got no answer"):
            control_plane.get("Pod", "before", namespace)

        control_plane.start_apiserver()
        assert control_plane.pids["kube-apiserver"] != pid
        after = control_plane.get("Pod", "before", namespace)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        control_plane.create(pod("after", namespace, "harbour"))
        assert node_of(control_plane, "after", namespace) == "pier"


def test_nothing_is_left_after_stop() -> None:
    with ControlPlane() as plane:
        pids = list(plane.pids.values())
        assert len(pids) == 2
        assert all(alive(pid) for pid in pids)
    assert not any(alive(pid) for pid in pids)
    assert plane.pids == {}
    assert not plane.folder.exists()
    plane.stop()


def test_a_failed_start_leaves_only_the_given_folder(tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path / "plane", api_args=["--no-such-flag"])
    with pytest.raises(ProcessError, match=r"kube-apiserver ended with status 1[^\0]*no-such-flag"):
        plane.start()
    assert plane.pids == {}
    assert (tmp_path / "plane" / "etcd.log").exists()
    running = subprocess.run(["ps", "ax", "-o", "args="], capture_output=True, check=True).stdout
    assert os.fsencode(tmp_path) not in running


def test_a_killed_test_run_leaves_no_process(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from mooring.testing.child_process import ChildProcess\n"
        "process = ChildProcess('sleep', ['sleep', '600'], pathlib.Path(sys.argv[1]))\n"
        "print(process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "log")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        assert alive(pid)
        run.kill()
    # Its parent is gone, so nobody but the guard can have ended it.
    ControlPlane().wait_for(lambda: not alive(pid), "the orphan to be killed")


def test_waiting_in_vain_says_for_what(control_plane: ControlPlane) -> None:
    with pytest.raises(WaitError, match="waiting for the tide"):
        control_plane.wait_for(lambda: None, "the tide", timeout=0)


def test_missing_binaries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tmp_path / name).touch(mode=0o755)
    with pytest.raises(MissingBinaries, match=r"^kube-scheduler is missing in .*`make kube`"):
        find_binaries()
