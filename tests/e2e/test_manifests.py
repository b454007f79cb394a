"""What `moor manifests` writes works: on the real API server, and with exactly its permissions.

There is no kubelet, so this module does what the pods would do: it starts the containers' commands
with the arguments and files that are in the manifests, as the service account and nobody else.
"""

import http.client
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.deploy.manifests.helm_writer import chart
from mooring.deploy.manifests.installation import (
    DeployedPolicy,
    Installation,
    default_scheduler_name,
)
from mooring.deploy.manifests.kustomize_writer import kustomization
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.deploy.manifests.static_pod_files import static_pod_files
from mooring.deploy.manifests.yaml_writer import yaml_stream
from mooring.framework.loading import load
from mooring.testing.child_process import ChildProcess
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler, free_port
from tests.e2e.provisioner import local_volume
from tests.unit.deploy.manifests.chart_rendering import ChartRenderer

pytestmark = pytest.mark.kube

Objects = list[dict[str, Any]]
NAME: Final = "permitted"
ACCOUNT: Final = f"system:serviceaccount:{NAME}:{NAME}"
AUDIT: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{NAME}"]},
        {"level": "None"},
    ],
}
#: It rejects pods with the label picky, and does not bind the contested one before it may.
POLICY: Final = """
import asyncio
from pathlib import Path

import mooring as mr

policy = mr.Policy("permitted")
GO = Path(__file__).with_name("go")


@policy.filter
def not_picky(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if("picky" not in pod.labels, "too picky", unresolvable=True)


@policy.score
def any_node(pod: mr.Pod, node: mr.Node) -> float:
    return 50


@policy.bind
async def in_time(binding: mr.Binding) -> None:
    if binding.name == "contested":
        GO.with_name("reached").touch()
        while not GO.exists():
            await asyncio.sleep(0.02)
"""
PAIRS: Final = [
    (Mode.EXTENDER, ManifestFormat.YAML),
    (Mode.EXTENDER, ManifestFormat.KUSTOMIZE),
    (Mode.EXTENDER, ManifestFormat.HELM),
    (Mode.SIDECAR, ManifestFormat.YAML),
    (Mode.SIDECAR, ManifestFormat.KUSTOMIZE),
    (Mode.SIDECAR, ManifestFormat.HELM),
    (Mode.SCHEDULER, ManifestFormat.YAML),
    (Mode.SCHEDULER, ManifestFormat.KUSTOMIZE),
    (Mode.SCHEDULER, ManifestFormat.HELM),
    (Mode.STATIC_POD, ManifestFormat.YAML),
]


def crd(group: str, kind: str, plural: str) -> dict[str, Any]:
    """A minimal definition of somebody else's kind."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = "v1"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """An API server that writes down what service accounts of the namespace do."""
    with ControlPlane(audit_policy=AUDIT) as running:
        for group, kind, plural in (
            ("monitoring.coreos.com", "ServiceMonitor", "servicemonitors"),
            ("cert-manager.io", "Issuer", "issuers"),
            ("cert-manager.io", "Certificate", "certificates"),
        ):
            running.create(crd(group, kind, plural))
            running.wait_for(
                lambda plural=plural: plural in running.kubectl("api-resources", "-o", "name"),  # type: ignore[misc]
                f"{plural} to be served",
            )
        running.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
        yield running


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.py"
    file.write_text(POLICY.lstrip())
    return file


def installation(policy: Path, mode: Mode, **options: Any) -> Installation:
    tls = TlsSource.NONE
    if mode is Mode.EXTENDER:
        is_chart = options.get("format") is ManifestFormat.HELM
        tls = TlsSource.CERT_MANAGER if is_chart else TlsSource.SELF_SIGNED
    return Installation(
        mode=mode,
        policy=DeployedPolicy(load(str(policy)), text=policy.read_text()),
        name=NAME,
        namespace=NAME,
        **{"scheduler_name": default_scheduler_name(mode, NAME), "tls": tls} | options,
    )


def objects(one: Installation) -> Objects:
    return list(yaml.safe_load_all(yaml_stream(manifest_set(one))))


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(("mode", "form"), PAIRS)
def test_the_api_server_accepts_everything(
    plane: ControlPlane, policy: Path, tmp_path: Path, mode: Mode, form: ManifestFormat
) -> None:
    one = installation(policy, mode, format=form, service_monitor=mode is not Mode.STATIC_POD)
    folder = tmp_path / "made"
    arguments, stdin = [f"--filename={folder}"], None
    if mode is Mode.STATIC_POD:
        files = static_pod_files(one)
        write(folder, {name: text for name, text in files.items() if "scheduler.yaml" in name})
        count = 1
    elif form is ManifestFormat.KUSTOMIZE:
        write(folder, kustomization(one, manifest_set(one)))
        arguments = [f"--kustomize={folder}"]
        count = len(manifest_set(one))
    else:
        made = objects(one)
        if form is ManifestFormat.HELM:
            made = ChartRenderer(chart(one, manifest_set(one)), NAME).objects()
        arguments, stdin = ["--filename=-"], "---\n".join(json.dumps(each) + "\n" for each in made)
        count = len(made)
    said = plane.kubectl(
        "apply", "--dry-run=server", "--warnings-as-errors", *arguments, stdin=stdin
    )
    assert said.count("(server dry run)\n") == count > 0


def test_the_pods_need_no_privileges(plane: ControlPlane, policy: Path) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    plane.create(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "strict", "labels": labels},
        }
    )
    for mode in (Mode.EXTENDER, Mode.SIDECAR, Mode.SCHEDULER):
        for each in objects(installation(policy, mode, priority_class="system-node-critical")):
            if each["kind"] == "Deployment":
                pod = {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "try", "namespace": "strict"},
                    "spec": each["spec"]["template"]["spec"],
                }
                plane.request("POST", "/api/v1/namespaces/strict/pods?dryRun=All", pod)


def test_a_kustomization_makes_the_same_objects(
    plane: ControlPlane, policy: Path, tmp_path: Path
) -> None:
    for mode in (Mode.EXTENDER, Mode.SIDECAR, Mode.SCHEDULER):
        one = installation(policy, mode, format=ManifestFormat.KUSTOMIZE, tls=TlsSource.NONE)
        folder = tmp_path / mode
        write(folder, kustomization(one, manifest_set(one)))
        built = plane.kubectl("kustomize", str(folder))
        for name in ("policy", "config"):
            built = re.sub(rf"{NAME}-{name}-[a-z0-9]{{10}}\b", f"{NAME}-{name}", built)
        assert _by_name(yaml.safe_load_all(built)) == _by_name(objects(one))


def _by_name(made: Iterable[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(each["kind"], each["metadata"]["name"]): each for each in made}


# -- with exactly its permissions


class Installed:
    """An installation whose objects are on the control plane.

    Args:
        plane: the API server.
        one: what is deployed.
    """

    def __init__(self, plane: ControlPlane, one: Installation) -> None:
        self.plane = plane
        self.objects = objects(one)
        self._before = plane.audit_file.stat().st_size
        apart = {"Deployment", "Pod", "Namespace"}
        applied = [each for each in self.objects if each["kind"] not in apart]
        plane.kubectl("apply", "--filename=-", stdin=_stream(applied))
        # The containers could come before the API server knows the new roles.
        plane.wait_for(lambda: self._may("list", "nodes"), "the account's permissions")

    def remove(self) -> None:
        apart = {"Deployment", "Pod", "Namespace"}
        removed = [each for each in self.objects if each["kind"] not in apart]
        self.plane.kubectl(
            "delete", "--ignore-not-found", "--wait=false", "--filename=-", stdin=_stream(removed)
        )
        self.plane.kubectl("delete", "lease", NAME, "--ignore-not-found", f"--namespace={NAME}")

    def kubeconfig(self) -> Path:
        return self.plane.kubeconfig_with_token(NAME, NAME)

    def container(self, name: str) -> dict[str, Any]:
        (deployment,) = (each for each in self.objects if each["kind"] == "Deployment")
        spec = deployment["spec"]["template"]["spec"]
        (found,) = (
            each
            for each in [*spec.get("initContainers", []), *spec["containers"]]
            if each["name"] == name
        )
        container: dict[str, Any] = found
        return container

    def file(self, kind: str, name: str, key: str) -> str:
        """The text of a ConfigMap's or Secret's file."""
        field = "data" if kind == "ConfigMap" else "stringData"
        for each in self.objects:
            if (each["kind"], each["metadata"]["name"]) == (kind, name):
                text: str = each[field][key]
                return text
        raise AssertionError(f"there is no {kind} {name}")

    def allowed(self) -> set[tuple[str, str, str]]:
        """What the roles allow: verb, group and resource."""
        return {
            (verb, group, resource)
            for each in self.objects
            if each["kind"] in ("ClusterRole", "Role")
            for rule in each["rules"]
            for verb in rule["verbs"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
        }

    def used(self) -> set[tuple[str, str, str]]:
        """What the account did, in the same words, since the objects are there."""
        with self.plane.audit_file.open() as file:
            file.seek(self._before)
            events = [json.loads(line) for line in file]
        found = set()
        for event in events:
            if event["user"]["username"] == ACCOUNT and "objectRef" in event:
                what = event["objectRef"]
                resource = what["resource"]
                if what.get("subresource"):
                    resource += f"/{what['subresource']}"
                found.add((event["verb"], what.get("apiGroup", ""), resource))
        return found

    def _may(self, verb: str, resource: str) -> bool:
        said = self.plane.kubectl("auth", "can-i", verb, resource, f"--as={ACCOUNT}", check=False)
        return said.strip() == "yes"


def _stream(made: Sequence[dict[str, Any]]) -> str:
    return "---\n".join(json.dumps(each) + "\n" for each in made)


def node_of(plane: ControlPlane, pod: str) -> str:
    def bound() -> str | None:
        where: str | None = plane.get("Pod", pod, NAME)["spec"].get("nodeName")
        return where

    return plane.wait_for(bound, f"pod {pod} to be bound")


def pod(name: str, scheduler: str, *, labels: Any = None, **spec: Any) -> dict[str, Any]:
    cpu = spec.pop("cpu", "0")
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAME, "labels": labels or {}},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def remove_pods(plane: ControlPlane) -> None:
    plane.kubectl("delete", "pods", "--all", "--force", "--grace-period=0", f"--namespace={NAME}")


def wait_used(installed: Installed, *wanted: tuple[str, str, str]) -> None:
    """Wait until the account has done all this."""
    installed.plane.wait_for(lambda: set(wanted) <= installed.used(), f"{wanted} to be done")


def bind_elsewhere(plane: ControlPlane, name: str, node: str) -> None:
    """Bind a pod as an administrator."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"kind": "Node", "name": node},
    }
    plane.request("POST", f"/api/v1/namespaces/{NAME}/pods/{name}/binding", binding)


def answers(port: int, path: str) -> bool:
    """Whether a probe succeeds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def make_volumes(plane: ControlPlane) -> None:
    """A claim for a volume that is there, and one for a volume that has to be made."""
    for claim, provisioner in (("there", "kubernetes.io/no-provisioner"), ("made", "example.com")):
        storage = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": claim},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": claim,
        }
        metadata = {"name": claim, "namespace": NAME}
        claimed = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
        plane.create(storage)
        plane.create({**claimed, "spec": spec})
    plane.create(local_volume("disk", "north", "there", "1Gi"))
    available = {"status": {"phase": "Available"}}
    plane.kubectl("patch", "pv", "disk", "--subresource=status", f"--patch={json.dumps(available)}")


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


def test_an_extender_needs_what_its_role_allows(
    plane: ControlPlane, policy: Path, tmp_path: Path
) -> None:
    """The real kube-scheduler asks it over TLS, with the generated configuration."""
    port, health = free_port(), free_port()
    one = installation(
        policy, Mode.EXTENDER, url=f"https://127.0.0.1:{port}", service=ServiceType.LOAD_BALANCER
    )
    for node in ("east", "west"):
        plane.create_node(node)
    installed = Installed(plane, one)
    for secret in ("tls", "client"):
        (tmp_path / secret).mkdir()
        for key in ("ca.crt", "tls.crt", "tls.key"):
            text = installed.file("Secret", f"{NAME}-{secret}", key)
            (tmp_path / secret / key).write_text(text)
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
            assert f"bound pod {NAME}/placed to node {node}\n" in process.log()
            # Somebody else is quicker: the extender looks where the pod is.
            plane.create(pod("contested", "default-scheduler"))
            plane.wait_for((tmp_path / "reached").exists, "the bind function")
            bind_elsewhere(plane, "contested", "east")
            (tmp_path / "go").touch()
            wait_used(installed, ("get", "", "pods"))
            assert "forbidden" not in scheduler.log().lower()
        assert "forbidden" not in process.log().lower()
    finally:
        process.stop()
        remove_pods(plane)
        installed.remove()
        for node in ("east", "west"):
            plane.delete("Node", node)
    assert installed.used() == installed.allowed()


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
    with MoorRun(plane, config, policy=policy, kubeconfig=installed.kubeconfig()) as scheduler:
        plane.create(pod("placed", NAME))
        assert node_of(plane, "placed") == "north"
        # A condition and an event; and the same event again, when the node changes.
        plane.create(pod("picky", NAME, labels={"picky": "yes"}))
        wait_used(installed, ("patch", "", "pods/status"), ("create", "events.k8s.io", "events"))
        turns = itertools.count()

        def counted() -> bool:
            plane.kubectl("label", "--overwrite", "node", "north", f"turn={next(turns)}")
            return ("patch", "events.k8s.io", "events") in installed.used()

        plane.wait_for(counted, "the event to be counted")
        # Preemption.
        plane.create(pod("victim", NAME, cpu="1"))
        node_of(plane, "victim")
        plane.create(pod("urgent", NAME, cpu="1", priorityClassName="system-node-critical"))
        wait_used(installed, ("delete", "", "pods"))
        # Volumes: one that is there, and one that has to be made.
        for claim in ("there", "made"):
            volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
            plane.create(pod(f"with-{claim}", NAME, volumes=[volume]))
        wait_used(
            installed, ("patch", "", "persistentvolumes"), ("patch", "", "persistentvolumeclaims")
        )
        # Somebody else is quicker: the scheduler looks where the pod is.
        plane.create(pod("contested", NAME))
        plane.wait_for((tmp_path / "reached").exists, "the bind function")
        bind_elsewhere(plane, "contested", "south")
        (tmp_path / "go").touch()
        wait_used(installed, ("get", "", "pods"))
        assert "forbidden" not in scheduler.log().lower()
    remove_pods(plane)
    installed.remove()
    assert installed.used() == installed.allowed()
