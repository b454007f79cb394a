"""What all examples have in common: their READMEs tell the truth, their files fit together.

The commands in a README are given to the real command line and the requests to the real
application, in process. `tests/e2e/test_examples_deploy.py` does the rest with real programs.
"""

import asyncio
import re
import shlex
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from starlette.types import ASGIApp, Message

import mooring as mr
from mooring.cli.main import app as command_line
from mooring.config.policy_say import extender_say
from mooring.extender.app import ExtenderApp
from mooring.extender.server import ServeOptions
from mooring.extender.service import ExtenderService
from mooring.kube.cluster_config import ClusterConfig

HERE = Path(__file__).parent
EXAMPLES = sorted(file.parent for file in HERE.glob("*/policy.py"))
FILES = {
    "README.md", "policy.py", "test_policy.py", "request.json", "response.json", "deploy.yaml",
    "nodes.yaml", "workload.yaml",
}  # fmt: skip

each_example = pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)


class Deployed:
    """What a `deploy.yaml` says, by the names that tests ask for."""

    def __init__(self, folder: Path) -> None:
        self.documents: list[dict[str, Any]] = list(
            yaml.safe_load_all((folder / "deploy.yaml").read_text())
        )
        self.name = f"mooring-{folder.name[3:]}"
        config: dict[str, Any] = yaml.safe_load(
            self.get("ConfigMap", f"{self.name}-config")["data"]["config.yaml"]
        )
        self.scheduler_name: str = config["profiles"][0]["schedulerName"]
        self.extender: dict[str, Any] = config["extenders"][0]
        self.deployment = self.get("Deployment", self.scheduler_name)
        self.pod_spec: dict[str, Any] = self.deployment["spec"]["template"]["spec"]
        (extender,), (scheduler,) = self.pod_spec["initContainers"], self.pod_spec["containers"]
        assert extender["restartPolicy"] == "Always"
        self.containers: dict[str, dict[str, Any]] = {
            container["name"]: container for container in (extender, scheduler)
        }

    def get(self, kind: str, name: str) -> dict[str, Any]:
        (found,) = (
            document
            for document in self.documents
            if (document["kind"], document["metadata"]["name"]) == (kind, name)
        )
        return found


def commands(folder: Path, program: str) -> list[list[str]]:
    """The README's commands that use a program, split into words."""
    blocks = re.findall(r"```sh\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    lines = [
        shlex.split(line) for block in blocks for line in block.replace("\\\n", "").splitlines()
    ]
    return [line for line in lines if program in line]


def understood(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> ServeOptions:
    """What the command line makes of `serve` and its arguments, without serving."""
    taken: list[ServeOptions] = []
    cluster = ClusterConfig(server="https://127.0.0.1:1", source="a test")
    with monkeypatch.context() as patch:
        patch.setattr("mooring.cli.serve.set_up_logging", lambda *_: None)
        patch.setattr("mooring.kube.config.find_config", lambda *_, **__: cluster)
        patch.setattr("mooring.http.sockets.listen", lambda *_, **__: socket.socket())
        patch.setattr("mooring.extender.server.run", lambda options, *_: taken.append(options))
        command_line(arguments, standalone_mode=False)
    return taken[0]


def ask(policy: mr.Policy, options: ServeOptions, path: str, body: bytes) -> tuple[int, bytes]:
    """POST to the application that `moor serve` would serve, as it would without a cluster."""

    async def run() -> tuple[int, bytes]:
        async with ExtenderService(policy) as service:
            return await post(ExtenderApp(service, routes=options.routes).asgi(), path, body)

    return asyncio.run(run())


async def post(app: ASGIApp, path: str, body: bytes) -> tuple[int, bytes]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": []}
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_there_are_seven() -> None:
    names = [
        "01-random", "02-always-true", "03-image-score", "04-ssd-filter", "05-gpu-packing",
        "06-fair-gpus", "07-allocatable",
    ]  # fmt: skip
    assert [folder.name for folder in EXAMPLES] == names
    index = (HERE / "README.md").read_text()
    assert re.findall(r"^\| \[(.*?)\]\(\1\)", index, re.MULTILINE) == names


@each_example
def test_all_files_are_there(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} >= FILES


@each_example
def test_the_readme_shows_the_request_and_the_reply(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    for name in ("request.json", "response.json"):
        assert f"```json\n{(folder / name).read_text()}```" in text


@each_example
def test_the_commands_of_the_readme_give_the_reply(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (serve,) = (line for line in commands(folder, "moor") if "serve" in line)
    (curl,) = commands(folder, "curl")
    start = serve.index("moor")
    monkeypatch.chdir(folder)
    for word in serve[:start]:
        monkeypatch.setenv(*word.split("=", 1))
    options = understood(serve[start + 1 :], monkeypatch)
    url = urlsplit(curl[2])
    assert curl == ["curl", "--silent", url.geturl(), "--data", "@request.json"]
    assert (url.hostname, url.port) == (options.host, options.port)
    status, reply = ask(
        mr.load(options.policy), options, url.path, Path("request.json").read_bytes()
    )
    if "--kubeconfig" in serve:
        # There is no cluster here; the example's own tests and the e2e tests have one.
        assert status == (200 if url.path.endswith("/filter") else 400)
        assert b"need the cluster's pods" in reply
    else:
        assert (status, reply.decode()) == (200, Path("response.json").read_text().strip())


@each_example
def test_deploy_yaml_has_the_policy_unchanged(folder: Path) -> None:
    deployed = Deployed(folder)
    data = deployed.get("ConfigMap", f"{deployed.name}-policy")["data"]
    assert data == {"policy.py": (folder / "policy.py").read_text()}


@each_example
def test_every_verb_of_the_configuration_is_served(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed = Deployed(folder)
    container = deployed.containers["extender"]
    command = container["command"]
    assert command == ["moor", "serve", "/policy/policy.py"]
    options = understood([*command[1:], *container["args"]], monkeypatch)
    url = urlsplit(deployed.extender["urlPrefix"])
    assert (url.hostname, url.port) == (options.host, options.port) == ("127.0.0.1", url.port)
    assert deployed.extender["nodeCacheCapable"] is options.node_cache
    assert deployed.extender["httpTimeout"] == f"{options.timeout:g}s"

    policy = mr.load(folder / "policy.py")
    verbs = {key: verb for key, verb in deployed.extender.items() if key.endswith("Verb")}
    for verb in verbs.values():
        status, reply = ask(policy, options, f"{url.path}/{verb}", b"{}")
        # The request is incomplete, and only a verb that is there can say so.
        assert status in (200, 400)
        assert b"the request has n" in reply
    assert ("filterVerb" in verbs) == bool(policy.filters)
    assert ("prioritizeVerb" in verbs) == ("weight" in deployed.extender) == bool(policy.scores)
    assert ("preemptVerb" in verbs) == bool(policy.preempts)
    assert "bindVerb" in verbs or not policy.binds
    say = extender_say(policy)
    assert deployed.extender.get("weight") == (say.weight if say is not None else None)


@each_example
def test_the_containers_have_probes_resources_and_no_privileges(folder: Path) -> None:
    deployed = Deployed(folder)
    assert list(deployed.containers) == ["extender", "kube-scheduler"]
    assert deployed.pod_spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for container in deployed.containers.values():
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert set(container["resources"]["limits"]) == {"memory"}
        assert "/livez" in str(container["livenessProbe"])
        assert "/readyz" in str(container["readinessProbe"])
    extender = deployed.containers["extender"]
    assert "--health-port=8889" in extender["args"]
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert extender[kind]["httpGet"]["port"] == 8889


@each_example
def test_the_images_are_those_that_were_tested(folder: Path) -> None:
    containers = Deployed(folder).containers
    assert containers["extender"]["image"] == f"mooring:{mr.__version__}"
    assert containers["kube-scheduler"]["image"] == "registry.k8s.io/kube-scheduler:v1.36.4"
    assert f"--tag mooring:{mr.__version__} " in (HERE / "README.md").read_text()


@each_example
def test_one_name_is_used_everywhere(folder: Path) -> None:
    deployed = Deployed(folder)
    name = deployed.name
    assert deployed.scheduler_name == name
    pods = [one for one in deployed.documents if one["kind"] == "Pod"]
    pods += [yaml.safe_load(file.read_text()) for file in folder.glob("pod.yaml")]
    (pod,) = pods
    assert pod["spec"]["schedulerName"] == name
    assert pod["metadata"]["name"] in (folder / "README.md").read_text()
    assert deployed.pod_spec["serviceAccountName"] == name
    assert name in (folder / "README.md").read_text()
    for document in deployed.documents:
        metadata = document["metadata"]
        if document["kind"] == "Namespace":
            assert metadata["name"] == name
        elif metadata.get("namespace", "kube-system") == "kube-system":
            # Beside those of other installations, so the namespace is a part of their names.
            assert metadata["name"].startswith(name)
            assert metadata["name"].endswith(f".{name}")
        else:
            assert metadata["namespace"] == name
