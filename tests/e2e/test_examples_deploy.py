"""Each example's `deploy.yaml` works: on the real API server, with the real kube-scheduler.

The file is applied as a user would. There is no kubelet, so this module does what the Deployment's
pod would do: it starts kube-scheduler with the configuration and `moor serve` with the policy and
the arguments that are in the file, both with nothing but a token of the file's service account.
"""

import copy
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from mooring.errors import ApiError
from mooring.testing.child_process import ChildProcess
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler, free_port

pytestmark = pytest.mark.kube

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(file.parent.name for file in EXAMPLES.glob("*/deploy.yaml"))
GPU = "nvidia.com/gpu"
DEVICES = "mooring.example/gpu-devices"


class Permission(NamedTuple):
    """Something an account may or may not do; an empty name or namespace stands for all."""

    verb: str
    resource: str
    group: str = ""
    name: str = ""
    namespace: str = ""


NEEDED = [
    Permission("watch", "nodes"),
    Permission("watch", "pods"),
    Permission("create", "pods/binding"),
    Permission("patch", "pods/status"),
    Permission("create", "events", "events.k8s.io"),
    Permission("update", "persistentvolumeclaims"),
    Permission("get", "configmaps", "", "extension-apiserver-authentication", "kube-system"),
]
FORBIDDEN = [
    Permission("delete", "nodes"),
    Permission("update", "nodes"),
    Permission("create", "pods"),
    Permission("update", "pods"),
    Permission("create", "pods/exec"),
    Permission("get", "secrets"),
    Permission("get", "configmaps", "", "", "kube-system"),
    Permission("create", "deployments", "apps"),
    Permission("create", "clusterrolebindings", "rbac.authorization.k8s.io"),
]


class Example:
    """An example whose namespace is on the control plane.

    Attributes:
        folder: where its files are.
        name: the one name of its namespace, scheduler and service account.
        url: where its extender listens; from `serve` on.
    """

    url = ""
    _port = 0

    def __init__(self, folder: Path, plane: ControlPlane, work: Path) -> None:
        self.folder = folder
        self.name = f"mooring-{folder.name[3:]}"
        self.file = folder / "deploy.yaml"
        self.documents: list[dict[str, Any]] = list(yaml.safe_load_all(self.file.read_text()))
        self.pods = [one for one in self.documents if one["kind"] == "Pod"]
        self.pods += [yaml.safe_load(one.read_text()) for one in folder.glob("pod.yaml")]
        self.test_pod: str = self.pods[0]["metadata"]["name"]
        self._plane = plane
        self._work = work
        plane.kubectl("apply", "--filename=-", stdin=json.dumps(self.documents[0]))

    def apply(self) -> None:
        """Apply the whole file and wait until the permissions it gives are in effect."""
        files = [self.file, *self.folder.glob("pod.yaml")]
        self._plane.kubectl("apply", *(f"--filename={file}" for file in files))
        self._plane.wait_for(lambda: all(map(self.may, NEEDED)), "the account's permissions")

    def remove(self) -> None:
        """Delete everything; no controller runs here that would do it."""
        for document in self.documents:
            metadata, version = document["metadata"], document["apiVersion"]
            # The plane cleans a namespace only of kinds that it has been asked for.
            self._plane.path(document["kind"], api_version=version)
            if metadata.get("namespace") != self.name and document is not self.documents[0]:
                self._plane.kubectl(
                    "delete", document["kind"], metadata["name"], "--ignore-not-found",
                    f"--namespace={metadata.get('namespace', '')}",
                )  # fmt: skip
        self._plane.delete_namespace(self.name)

    def may(self, permission: Permission) -> bool:
        """Whether the service account has a permission, as `kubectl auth can-i` would tell it."""
        kind, _, subresource = permission.resource.partition("/")
        attributes = {**permission._asdict(), "resource": kind, "subresource": subresource}
        user = f"system:serviceaccount:{self.name}:{self.name}"
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": attributes},
        }
        allowed: bool = self._plane.create(review)["status"]["allowed"]
        return allowed

    def create_pod(
        self,
        name: str,
        *,
        requests: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        **spec: object,
    ) -> None:
        """Create a pod like the test pod, but with these requests, annotations and fields."""
        pod = copy.deepcopy(self.pods[0])
        pod["metadata"] |= {"name": name, "annotations": dict(annotations or {})}
        pod["spec"] |= spec
        pod["spec"]["containers"][0]["resources"] = {"limits": dict(requests or {})}
        self._plane.create(pod)

    def node_of(self, pod: str) -> str:
        """The node a pod is bound to, as soon as it is."""

        def bound() -> str | None:
            where: str | None = self._plane.get("Pod", pod, self.name)["spec"].get("nodeName")
            return where

        return self._plane.wait_for(bound, f"pod {pod} to be bound")

    def event(self, pod: str, reason: str, saying: str = "") -> str:
        """The message of a pod's event that comes from this scheduler, as soon as it is there.

        There may be others before: an extender that does not know a new node yet says so.
        """

        def found() -> str | None:
            for event in self._plane.list_objects("Event", self.name):
                key = (event["involvedObject"]["name"], event["reason"])
                message: str = event["message"]
                ours = key == (pod, reason) and event["reportingComponent"] == self.name
                if ours and saying in message:
                    return message
            return None

        what = f"the event {reason} of pod {pod}{f' saying {saying!r}' if saying else ''}"
        return self._plane.wait_for(found, what)

    @contextmanager
    def serve(self, **environment: str) -> Iterator[ChildProcess]:
        """Run the Deployment's extender as its service account, and wait until it is ready."""
        deployment = self._plane.get("Deployment", self.name, self.name, api_version="apps/v1")
        (container,) = deployment["spec"]["template"]["spec"]["initContainers"]
        policy = self._work / "policy.py"
        policy.write_text(self._config_map("policy", "policy.py"))
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        command = [
            "env",
            *(f"{name}={value}" for name, value in environment.items()),
            *(sys.executable, "-m", "mooring.cli", "serve", str(policy)),
            *(arg for arg in container["args"] if not re.match("--(health-)?port=", arg)),
            *(
                f"--port={self._port}",
                "--health-port=0",
                f"--kubeconfig={self._kubeconfig()}",
                "--drain=0",
            ),
        ]
        process = ChildProcess("moor serve", command, self._work / "extender.log")
        try:
            process.wait_ready(lambda: self.ask("/readyz") == "ok", 30)
            yield process
            assert "forbidden" not in process.log().lower()
        finally:
            process.stop()

    @contextmanager
    def schedule(self) -> Iterator[None]:
        """Run the Deployment's kube-scheduler as its service account."""
        config = yaml.safe_load(self._config_map("config", "config.yaml"))
        (extender,) = config["extenders"]
        extender["urlPrefix"] = re.sub(r":\d+", f":{self._port}", extender["urlPrefix"], count=1)
        kubeconfig = self._kubeconfig()
        config["clientConnection"] = {"kubeconfig": str(kubeconfig)}
        lookups = ("authentication", "authorization")
        args = [f"--{lookup}-kubeconfig={kubeconfig}" for lookup in lookups]
        with KubeScheduler(self._plane, config, args=args) as scheduler:
            yield
            assert "forbidden" not in scheduler.log().lower()

    def ask(self, path: str, body: bytes | None = None) -> str:
        """What the extender replies; empty if it does not, or not with status 200."""
        try:
            with urllib.request.urlopen(f"{self.url}{path}", body, timeout=10) as reply:  # noqa: S310
                text: str = reply.read().decode()
        except (urllib.error.URLError, ConnectionError):
            return ""
        return text

    def _kubeconfig(self) -> Path:
        return self._plane.kubeconfig_with_token(self.name, self.name)

    def _config_map(self, ending: str, key: str) -> str:
        text: str = self._plane.get("ConfigMap", f"{self.name}-{ending}", self.name)["data"][key]
        return text


@pytest.fixture(params=NAMES)
def example(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path: Path
) -> Iterator[Example]:
    """An example, of which only the namespace is there yet."""
    made = Example(EXAMPLES / request.param, control_plane, tmp_path)
    yield made
    made.remove()


@pytest.fixture
def make_node(control_plane: ControlPlane) -> Iterator[Callable[..., None]]:
    created: list[str] = []

    def make(name: str, **options: Any) -> None:
        control_plane.create_node(name, **options)
        created.append(name)

    yield make
    for name in created:
        control_plane.delete("Node", name)


def for_example(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("example", [name], indirect=True)


def test_the_api_server_accepts_the_file(control_plane: ControlPlane, example: Example) -> None:
    said = control_plane.kubectl(
        "apply", "--dry-run=server", "--warnings-as-errors", f"--filename={example.file}"
    )
    assert said.count("(server dry run)\n") == len(example.documents)
    assert control_plane.list_objects("Pod", example.name) == []


def test_the_pod_of_the_deployment_needs_no_privileges(
    control_plane: ControlPlane, example: Example
) -> None:
    (deployment,) = (each for each in example.documents if each["kind"] == "Deployment")
    metadata = {"name": "try", "namespace": example.name}
    spec = copy.deepcopy(deployment["spec"]["template"]["spec"])
    del spec["priorityClassName"]  # which is not there yet
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    path = f"/api/v1/namespaces/{example.name}/pods?dryRun=All"
    control_plane.request("POST", path, pod)
    del spec["initContainers"][0]["securityContext"]["capabilities"]
    with pytest.raises(ApiError, match='violates PodSecurity "restricted'):
        control_plane.request("POST", path, pod)


def test_the_account_has_the_rights_of_a_scheduler_and_no_others(example: Example) -> None:
    assert not any(map(example.may, NEEDED))
    example.apply()
    assert [permission for permission in FORBIDDEN if example.may(permission)] == []
    lease = Permission("update", "leases", "coordination.k8s.io", example.name, example.name)
    assert example.may(lease)
    assert not example.may(lease._replace(name="another"))
    assert not example.may(lease._replace(namespace="kube-system"))


@for_example("01-random")
def test_the_lucky_node_is_taken(
    example: Example, control_plane: ControlPlane, make_node: Callable[..., None]
) -> None:
    for name in ("north", "south", "west"):
        make_node(name)
    example.apply()
    with example.serve(SEED="4") as extender, example.schedule():  # two of three nodes are lucky
        node = example.node_of(example.test_pod)
        assert example.event(example.test_pod, "Scheduled").endswith(
            f"/{example.test_pod} to {node}"
        )
    pod = f"pod mooring-random/{example.test_pod} is"
    lucky = re.findall(rf"{pod} lucky to fit on node (\w+)", extender.log())
    scored = re.findall(rf"{pod} lucky to get score \d+ on node (\w+)", extender.log())
    assert len(lucky) == 2
    assert sorted(scored) == sorted(lucky)
    assert node in lucky
    shown = control_plane.kubectl(
        "describe", "pod", example.test_pod, f"--namespace={example.name}"
    )
    assert re.search(rf"Scheduled .* {example.name} +Successfully assigned .* to {node}\n", shown)


@for_example("02-always-true")
def test_every_verb_is_called(
    example: Example, control_plane: ControlPlane, make_node: Callable[..., None]
) -> None:
    make_node("east", cpu="2")
    make_node("west", cpu="2")
    example.apply()
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    control_plane.create({**priority, "metadata": {"name": "important"}})
    try:
        with example.serve() as extender, example.schedule():
            node = example.node_of(example.test_pod)
            example.event(example.test_pod, "Scheduled")
            assert f"bound pod {example.name}/{example.test_pod} to node {node}\n" in extender.log()
            assert '"policy":"always-true"' in example.ask("/version")

            fill = {"requests": {"cpu": "2"}}
            example.create_pod("one", **fill)
            example.create_pod("other", **fill)
            assert {example.node_of("one"), example.node_of("other")} == {"east", "west"}
            example.create_pod("new", **fill, priorityClassName="important")
            preempted = ("one", "other")
            control_plane.wait_for(
                lambda: any(
                    event["reason"] == "Preempted" and event["involvedObject"]["name"] in preempted
                    for event in control_plane.list_objects("Event", example.name)
                ),
                "a pod to be preempted",
            )
            for verb in ("filter", "prioritize", "preempt", "bind"):
                assert f'verb="{verb}"' in example.ask("/metrics")
            assert 'code="4' not in example.ask("/metrics")
    finally:
        control_plane.delete("PriorityClass", "important", api_version="scheduling.k8s.io/v1")


@for_example("03-image-score")
def test_the_node_with_the_image_is_taken(example: Example, make_node: Callable[..., None]) -> None:
    # So small that kube-scheduler's own score for images is 0.
    image = {"names": ["mooring:0.1.0"], "sizeBytes": 1}
    for name in ("north", "south", "west"):
        make_node(name, images=[image] if name == "south" else [])
    example.apply()
    with example.serve(), example.schedule():
        for number in range(3):
            example.create_pod(f"more-{number}")
        pods = (example.test_pod, "more-0", "more-1", "more-2")
        assert [example.node_of(pod) for pod in pods] == ["south"] * 4
        example.event(example.test_pod, "Scheduled")


@for_example("04-ssd-filter")
def test_the_pod_waits_for_a_node_with_an_ssd(
    example: Example, make_node: Callable[..., None]
) -> None:
    make_node("disk", labels={"disktype": "hdd"})
    example.apply()
    with example.serve(), example.schedule():
        message = example.event(example.test_pod, "FailedScheduling")
        readme = " ".join((example.folder / "README.md").read_text().split())
        assert f"```text {message} ```" in readme
        make_node("fast", labels={"disktype": "ssd"})
        assert example.node_of(example.test_pod) == "fast"
        example.event(example.test_pod, "Scheduled")


@for_example("06-fair-gpus")
def test_gpus_are_packed_and_no_namespace_gets_more_than_half(
    example: Example, make_node: Callable[..., None]
) -> None:
    make_node("gpu-a", extended={GPU: "4"})
    make_node("gpu-b", extended={GPU: "4"})
    example.apply()
    with example.serve() as extender, example.schedule():
        first = example.node_of(example.test_pod)
        example.event(example.test_pod, "Scheduled")
        assert f"bound pod {example.name}/{example.test_pod} to node {first}\n" in extender.log()
        example.create_pod("second", requests={GPU: "1"})
        assert example.node_of("second") == first
        example.create_pod("third", requests={GPU: "2"})
        assert {first, example.node_of("third")} == {"gpu-a", "gpu-b"}
        example.create_pod("late", requests={GPU: "1"})
        rejection = "0/2 nodes are available: 2 namespace would use more than half of the GPUs."
        assert rejection in example.event("late", "FailedScheduling")


@for_example("05-gpu-packing")
def test_gpu_pods_are_packed_and_get_devices(
    example: Example, control_plane: ControlPlane, make_node: Callable[..., None]
) -> None:
    make_node("gpu-a", extended={GPU: "4"})
    make_node("gpu-b", extended={GPU: "4"})
    make_node("plain")
    one_gpu = {GPU: "1"}
    example.apply()
    example.create_pod("first", requests=one_gpu, annotations={DEVICES: "0"}, nodeName="gpu-a")

    def devices(pod: str) -> str | None:
        metadata = control_plane.get("Pod", pod, example.name)["metadata"]
        found: str | None = metadata.get("annotations", {}).get(DEVICES)
        return found

    with example.serve() as extender, ExitStack() as stack:
        reply = example.ask("/prioritize", (example.folder / "request.json").read_bytes())
        assert reply == (example.folder / "response.json").read_text().strip()

        stack.enter_context(example.schedule())
        assert example.node_of(example.test_pod) == "gpu-a"
        assert devices(example.test_pod) == "1"
        example.event(example.test_pod, "Scheduled")
        assert f"bound pod {example.name}/{example.test_pod} to node gpu-a\n" in extender.log()

        pods = [f"more-{number}" for number in range(4)]
        for pod in pods:
            example.create_pod(pod, requests=one_gpu)
        placed = {pod: (example.node_of(pod), devices(pod)) for pod in pods}
        assert sorted(placed.values(), key=str) == [
            ("gpu-a", "2"), ("gpu-a", "3"), ("gpu-b", "0"), ("gpu-b", "1"),
        ]  # fmt: skip

        # It holds all devices without having asked for any, so counting GPUs does not show it.
        make_node("gpu-c", extended={GPU: "1"})
        example.create_pod("odd", annotations={DEVICES: "0"}, nodeName="gpu-c")
        example.create_pod(
            "late", requests=one_gpu, nodeSelector={"kubernetes.io/hostname": "gpu-c"}
        )
        rejection = "node gpu-c has too few free GPU devices"
        assert rejection in example.event("late", "FailedScheduling", saying=rejection)
        assert devices("late") is None


@for_example("07-allocatable")
def test_small_nodes_fill_first_and_pods_have_the_time(
    example: Example, control_plane: ControlPlane, make_node: Callable[..., None]
) -> None:
    make_node("large", cpu="32", memory="128Gi")
    make_node("small", cpu="4", memory="16Gi")
    example.apply()
    with example.serve(), example.schedule():
        assert example.node_of(example.test_pod) == "small"
        annotations = control_plane.get("Pod", example.test_pod, example.name)["metadata"][
            "annotations"
        ]
        assert re.fullmatch(r"\d{19}", annotations["scheduler-timestamp"])
        example.create_pod("wide", requests={"cpu": "8"})
        assert example.node_of("wide") == "large"


@for_example("03-image-score")
def test_the_node_port_manifests_serve_the_url_that_they_configure(
    example: Example, control_plane: ControlPlane, tmp_path: Path
) -> None:
    file = example.folder / "nodeport.yaml"
    objects = {one["kind"]: one for one in yaml.safe_load_all(file.read_text())}
    control_plane.kubectl("apply", "--filename=-", stdin=json.dumps(objects["Namespace"]))
    try:
        said = control_plane.kubectl(
            "apply", "--dry-run=server", "--warnings-as-errors", f"--filename={file}"
        )
        assert "service/image-score created (server dry run)\n" in said
    finally:
        control_plane.delete_namespace(objects["Namespace"]["metadata"]["name"])

    config = yaml.safe_load(_configuration_in(file.read_text()))
    (entry,) = config["extenders"]
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    port = free_port()
    kept = [arg for arg in container["args"] if arg.startswith(("--prefix", "--priorities"))]
    command = [
        *(sys.executable, "-m", "mooring.cli", "serve", str(example.folder / "policy.py")),
        *(*kept, f"--port={port}", "--drain=0"),
    ]
    process = ChildProcess("moor serve", command, tmp_path / "node-port.log")
    example.url = f"http://127.0.0.1:{port}"
    try:
        process.wait_ready(lambda: example.ask("/readyz") == "ok", 30)
        assert entry["urlPrefix"] == "http://127.0.0.1:30036/my_scheduler_extension"
        path = entry["urlPrefix"].removeprefix("http://127.0.0.1:30036")
        request = (example.folder / "request.json").read_bytes()
        reply = example.ask(f"{path}/{entry['prioritizeVerb']}", request)
        assert reply == (example.folder / "response.json").read_text().strip()
    finally:
        process.stop()


def _configuration_in(manifests: str) -> str:
    """The configuration for the cluster's kube-scheduler that is in a ConfigMap."""
    (found,) = (
        str(one["data"]["config.yaml"])
        for one in yaml.safe_load_all(manifests)
        if one["kind"] == "ConfigMap" and "config.yaml" in one["data"]
    )
    return found
