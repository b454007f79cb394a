"""What `moor manifests` writes works on the real API server, with exactly its permissions."""

import itertools
import json
import sys
from pathlib import Path

import pytest
import yaml

from mooring.deploy.manifests.choices import Mode, ServiceType
from mooring.deploy.manifests.static_pod_files import static_pod_files
from mooring.testing.child_process import ChildProcess
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler, free_port
from tests.e2e.manifests.generated_manifests import NAME, installation, write
from tests.e2e.manifests.manifest_installations import (
    POLICIES,
    RESOURCE,
    Grant,
    Installed,
    answers,
    bind_elsewhere,
    leave_special_claim,
    make_devices,
    make_volumes,
    node_of,
    pod,
    remove_pods,
    wait_used,
)
from tests.e2e.pod_helpers import note_of

pytestmark = pytest.mark.kube

IF_IN_DOUBT = Grant("get", "", "pods")
DEVICES = "resource.k8s.io"
CLAIMED = {"name": "gpu", "resourceClaimName": "mine"}


def test_kube_scheduler_of_a_static_pod_starts(plane: ControlPlane, policy: Path) -> None:
    one = installation(policy, Mode.STATIC_POD)
    config = yaml.safe_load(static_pod_files(one)["config.yaml"])
    del config["clientConnection"]  # a kubeconfig of the test's own
    with KubeScheduler(plane, config) as scheduler:
        plane.wait_for(lambda: "kube-scheduler" in _leases(plane, "kube-system"), "the Lease")
        assert "http://127.0.0.1:8888" in scheduler.get("/configz")


def test_kube_scheduler_of_a_sidecar_starts_as_its_account(
    plane: ControlPlane, policy: Path
) -> None:
    installed = Installed(plane, installation(policy, Mode.SIDECAR))
    config = yaml.safe_load(installed.file("ConfigMap", f"{NAME}-config", "config.yaml"))
    config["clientConnection"] = {"kubeconfig": str(installed.kubeconfig())}
    with KubeScheduler(plane, config) as scheduler:
        plane.wait_for(lambda: NAME in _leases(plane, NAME), "the Lease")
        assert "http://127.0.0.1:8888" in scheduler.get("/configz")
        assert "forbidden" not in scheduler.log().lower()
    installed.remove()


def _leases(plane: ControlPlane, namespace: str) -> list[str]:
    found = plane.list_objects("Lease", namespace, api_version="coordination.k8s.io/v1")
    return [each["metadata"]["name"] for each in found]


@pytest.mark.parametrize("name", POLICIES)
def test_an_extender_needs_what_its_role_allows(
    plane: ControlPlane, policy: Path, tmp_path: Path, name: str
) -> None:
    """The real kube-scheduler asks it over TLS, with the generated configuration."""
    policy.write_text(POLICIES[name].lstrip())
    port, health = free_port(), free_port()
    one = installation(
        policy, Mode.EXTENDER, url=f"https://127.0.0.1:{port}", service=ServiceType.LOAD_BALANCER
    )
    for node in ("east", "west"):
        plane.create_node(node)
    installed = Installed(plane, one)
    for key in ("ca.crt", "tls.crt", "tls.key"):
        text = installed.file("Secret", f"{NAME}-tls", key)
        write(tmp_path, {f"tls/{key}": text, f"client/{key}": one.certificates["client"][key]})
    container = installed.container("extender")
    changed = {"--port": port, "--health-port": health, "--host": "127.0.0.1"}
    kept = [arg for arg in container["args"] if arg.partition("=")[0] not in changed]
    command = [
        *(sys.executable, "-m", "mooring.cli", "serve", str(policy)),
        *(arg.replace("/etc/extender", str(tmp_path / "tls")) for arg in kept),
        *(f"{option}={value}" for option, value in changed.items()),
        *(f"--kubeconfig={installed.kubeconfig()}", "--health-host=127.0.0.1", "--drain=0"),
    ]
    process = ChildProcess("moor serve", command, tmp_path / "extender.log")
    try:
        probe = container["readinessProbe"]["httpGet"]
        process.wait_ready(lambda: answers(health, probe["path"]), 60)
        text = installed.file("ConfigMap", f"{NAME}-config", "config.yaml")
        config = yaml.safe_load(text.replace(one.files_folder, str(tmp_path / "client")))
        del config["clientConnection"], config["leaderElection"]  # a kubeconfig of the test's own
        with KubeScheduler(plane, config) as scheduler:
            plane.create(pod("placed", "default-scheduler"))
            node = node_of(plane, "placed")
            bound = f"bound pod {NAME}/placed to node {node}\n" in process.log()
            assert bound == (name != "filter alone, without usage")
            if name == "every hook":
                # Somebody else is quicker: the extender looks where the pod is.
                plane.create(pod("contested", "default-scheduler"))
                plane.wait_for((tmp_path / "reached").exists, "the bind function")
                bind_elsewhere(plane, "contested", "east")
                (tmp_path / "go").touch()
                wait_used(installed, IF_IN_DOUBT)
            assert "forbidden" not in scheduler.log().lower()
        assert "forbidden" not in process.log().lower()
    finally:
        process.stop()
        remove_pods(plane)
        installed.remove()
        for node in ("east", "west"):
            plane.delete("Node", node)
    # Only a bind function can be made to wait, until the answer to a binding is in doubt.
    unseen = {IF_IN_DOUBT} if name == "score alone" else set()
    assert installed.used() | unseen == installed.allowed()


def test_moor_run_needs_what_its_role_allows(
    plane: ControlPlane, policy: Path, tmp_path: Path
) -> None:
    installed = Installed(plane, installation(policy, Mode.SCHEDULER))
    config = tmp_path / "config.yaml"
    config.write_text(installed.file("ConfigMap", f"{NAME}-config", "config.yaml"))
    plane.create_node("north", cpu="1")
    plane.create_node("south")
    plane.kubectl("cordon", "south")
    make_volumes(plane)
    make_devices(plane)
    with MoorRun(plane, config, policy=policy, kubeconfig=installed.kubeconfig()) as scheduler:
        plane.create(pod("placed", NAME))
        assert node_of(plane, "placed") == "north"
        # A condition and an event; and the same event again, when the node changes.
        plane.create(pod("picky", NAME, labels={"picky": "yes"}))
        wait_used(
            installed, Grant("patch", "", "pods/status"), Grant("create", "events.k8s.io", "events")
        )
        turns = itertools.count()
        # The pod has another version since its condition was written, so that is another event.
        # Repeats before it is written would be counted in it.
        plane.kubectl("label", "--overwrite", "node", "north", f"turn={next(turns)}")
        about_picky = ("--field-selector", "involvedObject.name=picky", "-o", "name")
        plane.wait_for(
            lambda: plane.kubectl("get", "events", "-n", NAME, *about_picky).count("\n") > 1,
            "an event about the pod with its condition",
        )

        def counted() -> bool:
            plane.kubectl("label", "--overwrite", "node", "north", f"turn={next(turns)}")
            return Grant("patch", "events.k8s.io", "events") in installed.used()

        plane.wait_for(counted, "the event to be counted")
        # Preemption.
        plane.create(pod("victim", NAME, cpu="1"))
        node_of(plane, "victim")
        plane.create(pod("urgent", NAME, cpu="1", priorityClassName="system-node-critical"))
        wait_used(installed, Grant("delete", "", "pods"))
        # Volumes: one that is there, and one that has to be made.
        for claim in ("there", "made"):
            volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
            plane.create(pod(f"with-{claim}", NAME, volumes=[volume]))
        wait_used(
            installed,
            Grant("patch", "", "persistentvolumes"),
            Grant("patch", "", "persistentvolumeclaims"),
        )
        # Devices: a claim, an extended resource, and a claim that an earlier attempt left.
        plane.create(pod("claiming", NAME, resourceClaims=[CLAIMED]))
        node_of(plane, "claiming")
        plane.create(pod("extended", NAME, limits={RESOURCE: "1"}))
        node_of(plane, "extended")
        leave_special_claim(plane, "stale")
        wait_used(installed, Grant("delete", DEVICES, "resourceclaims"))
        node_of(plane, "stale")
        # Somebody else is quicker: the scheduler looks where the pod is.
        plane.create(pod("contested", NAME))
        plane.wait_for((tmp_path / "reached").exists, "the bind function")
        bind_elsewhere(plane, "contested", "south")
        (tmp_path / "go").touch()
        wait_used(installed, IF_IN_DOUBT)
        assert "forbidden" not in scheduler.log().lower()
    remove_pods(plane)
    installed.remove()
    # The API server asks for the first while it writes a claim's status, and writes nothing down;
    # the second needs a claim that changes in the middle of a write.
    unseen = {
        Grant("patch", DEVICES, "resourceclaims/binding"), Grant("get", DEVICES, "resourceclaims"),
    }  # fmt: skip
    assert installed.used() | unseen == installed.allowed()


def test_nobody_allocates_devices_without_the_permission_to_bind_claims(
    plane: ControlPlane, policy: Path, tmp_path: Path
) -> None:
    """It is the previous test's cluster: a node with devices, and a claim."""
    installed = Installed(plane, installation(policy, Mode.SCHEDULER))
    role = next(
        each["metadata"]["name"]
        for each in installed.objects
        if each["kind"] == "ClusterRole" and each["rules"]
    )
    rules = plane.get("ClusterRole", role, api_version="rbac.authorization.k8s.io/v1")["rules"]
    kept = [rule for rule in rules if "resourceclaims/binding" not in rule["resources"]]
    assert len(kept) == len(rules) - 1
    patch = json.dumps({"rules": kept})
    plane.kubectl("patch", "clusterrole", role, "--type=merge", f"--patch={patch}")
    config = tmp_path / "config.yaml"
    config.write_text(installed.file("ConfigMap", f"{NAME}-config", "config.yaml"))
    with MoorRun(plane, config, policy=policy, kubeconfig=installed.kubeconfig()):
        plane.create(pod("claiming", NAME, resourceClaims=[CLAIMED]))
        note_of(plane, "claiming", NAME, "FailedScheduling", 'resource="resourceclaims/binding"')
    remove_pods(plane)
    installed.remove()
