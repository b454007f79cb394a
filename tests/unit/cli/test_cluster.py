"""``moor cluster`` as users start it: a process, a kubeconfig, an end that leaves nothing."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.testing.certificates import Authority
from mooring.testing.real_kubernetes import Binaries, wait_for
from tests.unit.cli.moor import environment

FLEET = """
- {name: big, count: 2, cpu: 32, memory: 128Gi}
- {name: gpu, cpu: 16, memory: 64Gi, extended: {nvidia.com/gpu: 8}}
"""
DEVICES = """
drivers:
- name: gpu.example.com
  pools:
  - nodes: [big-1]
    devices: [{name: gpu, count: 2}]
"""
POLICY = """
import mooring as mr

policy = mr.Policy("last")


@policy.filter
def last(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if(node.name == "node-4", "not the last")


@policy.score
def same(pod: mr.Pod, node: mr.Node) -> float:
    return 0
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i}]}
"""
STUBBORN = """
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("stubborn")


@policy.filter
def stuck(pod: mr.Pod, node: mr.Node) -> bool:
    Path(__file__).with_name("reached").touch()
    while True:
        try:
            time.sleep(3600)
        except BaseException:
            pass
"""


class Cluster:
    """A running ``moor cluster``."""

    def __init__(self, folder: Path, *arguments: str | Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "mooring.kubeconfig"
        self._out = folder / "out.txt"
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mooring.cli", "cluster", "--port", "0", *arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=folder,
                env=environment(folder), start_new_session=True,
            )  # fmt: skip
        try:
            wait_for(self._ready, "moor cluster to be ready", 60)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def _ready(self) -> bool:
        assert self.process.poll() is None, self.text
        text = self.text
        whole = text.rstrip().endswith((".", "help")) or " ERROR " in text  # which comes after it
        return "In another terminal" in text and whole

    @property
    def everything(self) -> str:
        """What stands on its terminal."""
        return self._out.read_text()

    @property
    def text(self) -> str:
        """The same without what the scheduler inside logs when all is well."""
        return re.sub(r"(?m)^(\d{4}-\d\d-\d\d \S+ INFO|\{).*\n", "", self.everything)

    def kubectl_like(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """A command of moor with this cluster's kubeconfig."""
        return subprocess.run(
            [sys.executable, "-m", "mooring.cli", *arguments],
            capture_output=True, text=True, check=False, timeout=300, cwd=self.folder,
            env=environment(self.folder, KUBECONFIG=str(self.kubeconfig)),
        )  # fmt: skip

    def objects(self) -> list[dict[str, Any]]:
        """What ``moor snapshot`` sees."""
        done = self.kubectl_like("snapshot")
        assert done.returncode == 0, done.stderr
        items: list[dict[str, Any]] = json.loads(done.stdout)["items"]
        return items

    def names(self, kind: str) -> list[str]:
        return [one["metadata"]["name"] for one in self.objects() if one["kind"] == kind]

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


Start = Callable[..., Cluster]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Cluster] = []

    def make(*arguments: str | Path) -> Cluster:
        started.append(Cluster(tmp_path, *arguments))
        return started[-1]

    yield make
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def rejected(folder: Path, *arguments: str | Path) -> str:
    """What a command says that is used in a wrong way."""
    done = subprocess.run(
        [sys.executable, "-m", "mooring.cli", "cluster", *arguments],
        capture_output=True, text=True, check=False, timeout=300, cwd=folder,
        env=environment(folder),
    )  # fmt: skip
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def listed(cluster: Cluster, path: str) -> list[dict[str, Any]]:
    """The objects at a path."""
    port = int(re.findall(r" is at http://127.0.0.1:(\d+)\.", cluster.text)[0])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    with contextlib.closing(connection):
        connection.request("GET", path)
        items: list[dict[str, Any]] = json.loads(connection.getresponse().read())["items"]
        return items


def created(cluster: Cluster, group: str, text: str, kind: str) -> None:
    """Create the objects of one kind in a YAML text, in the namespace default."""
    port = int(re.findall(r" is at http://127.0.0.1:(\d+)\.", cluster.text)[0])
    for one in yaml.safe_load_all(text):
        if one["kind"] != kind:
            continue
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.closing(connection):
            path = f"{group}/namespaces/default/{kind.lower()}s"
            headers = {"Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(one), headers)
            answer = connection.getresponse()
            assert answer.status == 201, answer.read()


class TestProcess:
    def test_it_serves_says_what_to_do_and_leaves_nothing(self, start: Start) -> None:
        cluster = start("--nodes", "3")
        assert cluster.text.startswith("An in-memory cluster of 3 nodes is at http://127.0.0.1:")
        assert (
            f"    export KUBECONFIG={cluster.kubeconfig}\n    kubectl get nodes\n" in cluster.text
        )
        assert "    moor run --no-leader-elect\n" in cluster.text
        assert "Pods stay pending until a scheduler runs" in cluster.text
        assert stat.S_IMODE(cluster.kubeconfig.stat().st_mode) == 0o600
        assert cluster.names("Node") == ["node-1", "node-2", "node-3"]
        before = cluster.text
        assert cluster.end(signal.SIGINT) == 0
        assert cluster.text == before
        assert [path.name for path in cluster.folder.iterdir()] == ["out.txt"]

    def test_sigterm_ends_it_as_well(self, start: Start) -> None:
        cluster = start("--nodes", "1", "--scheduler")
        assert cluster.end(signal.SIGTERM) == 0
        assert not cluster.kubeconfig.exists()
        assert "Traceback" not in cluster.text

    def test_the_guide_shows_what_it_prints(self, start: Start) -> None:
        guide = (Path(__file__).parents[3] / "docs" / "guide" / "cluster.md").read_text()
        block = r"^```console\n\$ moor cluster\n(.*?)^```$"
        found = re.search(block, guide, re.MULTILINE | re.DOTALL)
        assert found is not None
        cluster = start()
        text = re.sub(r"(is at \S+):\d+\.", r"\1:8880.", cluster.text)
        assert text.replace(str(cluster.kubeconfig), "/tmp/mooring.kubeconfig") == found[1]

    def test_a_scheduler_inside_with_a_policy(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "policy.py").write_text(POLICY)
        (tmp_path / "pods.yaml").write_text(POD)
        cluster = start(
            "--nodes", "5", "--scheduler", "--policy", "policy.py", "--snapshot", "pods.yaml"
        )
        assert "mooring's scheduler with the policy policy.py places the pods." in cluster.text
        said = "The policy last can decide 50% of a node's total score (weight 14 of 28)."
        assert said in cluster.text
        assert "An in-memory cluster of 5 nodes and 1 pod is at" in cluster.text

        def running() -> str | None:
            (pod,) = (one for one in cluster.objects() if one["kind"] == "Pod")
            ran: str | None = pod["spec"].get("nodeName")
            return ran if pod["status"]["phase"] == "Running" else None

        assert wait_for(running, "the pod to run") == "node-4"

    def test_a_configuration_for_the_scheduler_inside(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "scheduler.yaml").write_text("profiles: [{schedulerName: packer}]")
        packed = POD.replace("spec: {", "spec: {schedulerName: packer, ")
        (tmp_path / "pods.yaml").write_text(f"{packed}---{POD.replace('p}', 'q}')}")
        cluster = start(
            "--nodes", "1", "--scheduler", "--config", "scheduler.yaml", "--snapshot", "pods.yaml"
        )
        said = "mooring's scheduler places the pods whose schedulerName is packer."
        assert said in cluster.text

        def placed() -> list[str]:
            pods = (one for one in cluster.objects() if one["kind"] == "Pod")
            return [one["metadata"]["name"] for one in pods if "nodeName" in one["spec"]]

        assert wait_for(placed, "a pod to be placed") == ["p"]

    def test_the_scheduler_inside_says_what_it_does(self, start: Start, tmp_path: Path) -> None:
        policy = tmp_path / "policy.py"
        policy.write_text(POLICY.replace("node-4", "node-9"))
        (tmp_path / "pods.yaml").write_text(POD)
        cluster = start(
            "--nodes", "5", "--scheduler", "--policy", "policy.py", "--snapshot", "pods.yaml",
            "--reload",
        )  # fmt: skip

        def lines(said: str) -> list[str]:
            found = wait_for(
                lambda: re.findall(f"(?m)^.*{said}.*$", cluster.everything) or None, said
            )
            return [one.partition("mooring.")[2].partition(": ")[2] for one in found]

        (unschedulable,) = lines("is unschedulable")
        assert unschedulable.startswith(
            "pod default/p is unschedulable: 0/5 nodes are available: 5 not the last."
        )
        assert lines("policy last from") == ["policy last from policy.py: filter last; score same"]
        assert "NodeResourcesFit 1" in lines("profile default-scheduler scores")[0]
        policy.write_text("import moorings")
        (kept,) = lines("kept the old policy")
        assert "No module named 'moorings'" in kept
        policy.write_text(POLICY)
        assert lines("reloaded policy") == ["reloaded policy last: filter last; score same"]
        (bound,) = lines("is bound to")
        assert bound.startswith(
            "pod default/p is bound to node node-4 after being unschedulable for "
        )
        assert cluster.end() == 0

    def test_a_function_that_raises_is_told_once_and_then_counted(
        self, start: Start, tmp_path: Path
    ) -> None:
        verdict = 'mr.accept_if(node.name == "node-4", "not the last")'
        assert verdict in POLICY
        (tmp_path / "policy.py").write_text(POLICY.replace(verdict, "pod.labels['gpu'] == ''"))
        (tmp_path / "pods.yaml").write_text(
            "---".join(POD.replace("name: p", f"name: p{number}") for number in range(13))
        )
        cluster = start(
            "--nodes", "5", "--scheduler", "--policy", "policy.py", "--snapshot", "pods.yaml"
        )
        failed = r"ERROR +mooring\.\w+: plugin last failed in filter for pod default/p\d+: "
        wait_for(lambda: re.search(failed, cluster.everything), "the failure in the log")

        def all_tried() -> bool | None:
            pods = [one for one in cluster.objects() if one["kind"] == "Pod"]
            return all("conditions" in one["status"] for one in pods) or None

        wait_for(all_tried, "all pods to be tried")
        assert cluster.end() == 0
        log = cluster.everything
        assert len(re.findall(r'File ".*/policy.py", line \d+, in last', log)) == 1
        assert re.findall(r"(\d+) more like this in the last \d+s, the latest: plugin last", log)
        assert len(re.findall(failed, log)) == 1

    def test_all_of_it_in_json(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "pods.yaml").write_text(POD)
        arguments = ("--nodes", "2", "--scheduler", "--snapshot", "pods.yaml")
        cluster = start(*arguments, "-v", "--log-format", "json")
        pattern = re.compile(r"^\{.*bound pod default/p.*\}$", re.MULTILINE)
        found = wait_for(lambda: pattern.search(cluster.everything), "the binding in the log")
        line = json.loads(found[0])
        assert (line["level"], line["logger"]) == ("DEBUG", "mooring.live")
        assert re.fullmatch(
            r"bound pod default/p to node node-\d: score \d+.*, \d+(\.\d)?m?s, attempt 1",
            line["message"],
        )

    def test_nodes_from_a_file(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "fleet.yaml").write_text(FLEET)
        names = start("--nodes-file", "fleet.yaml").names("Node")
        assert len(names) == 3
        assert "gpu" in names

    def test_nodes_have_devices(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "devices.yaml").write_text(DEVICES)
        nodes = "".join(f"  {line}\n" for line in FLEET.strip().splitlines())
        more = DEVICES.replace("gpu.example", "nic.example").replace("nodes: [big-1]", "name: all")
        (tmp_path / "fleet.yaml").write_text(f"nodes:\n{nodes}{more}")
        cluster = start("--nodes-file", "fleet.yaml", "--devices", "devices.yaml")
        assert len(cluster.names("Node")) == 3
        paths = "resourceslices", "deviceclasses"
        slices, classes = (
            [one["metadata"]["name"] for one in listed(cluster, f"/apis/resource.k8s.io/v1/{path}")]
            for path in paths
        )
        assert slices == ["all-nic.example.com-0", "big-1-gpu.example.com-0"]
        assert classes == ["gpu.example.com", "nic.example.com"]

    def test_the_devices_of_the_guide_can_be_claimed(self, start: Start, tmp_path: Path) -> None:
        guide = (Path(__file__).parents[3] / "docs" / "guide" / "cluster.md").read_text()
        devices, workload = re.findall(
            r"^```yaml\n((?:drivers:|apiVersion: resource).*?)^```", guide, re.MULTILINE | re.DOTALL
        )
        (tmp_path / "devices.yaml").write_text(devices)
        cluster = start("--nodes", "4", "--devices", "devices.yaml", "--scheduler")
        created(cluster, "/apis/resource.k8s.io/v1", workload, "ResourceClaimTemplate")
        created(cluster, "/apis/apps/v1", workload, "Deployment")
        created(cluster, "/api/v1", workload, "Pod")

        def phases() -> list[str]:
            pods = listed(cluster, "/api/v1/namespaces/default/pods")
            return [one["status"]["phase"] for one in pods]

        wait_for(lambda: phases() == ["Running"] * 4, "all pods to run")
        claims = listed(cluster, "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims")
        names = [
            one["device"]
            for claim in claims
            for one in claim["status"]["allocation"]["devices"]["results"]
        ]
        assert len(set(names)) == 4
        assert len([one for one in names if "-1g-" in one]) == 3

    def test_tls_and_tokens(self, start: Start, tmp_path: Path) -> None:
        folder = tmp_path / "tls"
        folder.mkdir()
        pair = Authority(folder).server("server")
        (tmp_path / "tokens.csv").write_text("s3cret,alice\n")
        cluster = start(
            "--nodes", "1", "--token-file", "tokens.csv",
            "--tls-cert", pair.certificate, "--tls-key", pair.key,
        )  # fmt: skip
        assert "is at https://127.0.0.1:" in cluster.text
        assert cluster.names("Node") == ["node-1"]
        stranger = tmp_path / "stranger"
        stranger.write_text(cluster.kubeconfig.read_text().replace("s3cret", "guessed"))
        done = cluster.kubectl_like("snapshot", "--kubeconfig", str(stranger))
        assert done.returncode == 1
        assert "401" in done.stderr
        assert "s3cret" not in cluster.text
        port = int(re.findall(r" is at https://127.0.0.1:(\d+)\.", cluster.text)[0])
        context = ssl.create_default_context(cafile=str(pair.certificate))
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=120, context=context)
        with contextlib.closing(connection):
            path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
            connection.request("GET", path, headers={"Authorization": "Bearer s3cret"})
            published = json.loads(connection.getresponse().read())
        assert published["data"] == {"ca.crt": pair.certificate.read_text()}


class TestWrongUsage:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (
                ["--nodes", "3", "--nodes-file", "f"],
                ("--nodes and --nodes-file are mutually exclusive"),
            ),
            (["--policy", "p.py"], "--policy needs a scheduler; add --scheduler"),
            (["--config", "c.yaml"], "--config needs a scheduler; add --scheduler"),
            (["--tls-cert", "c.pem"], "TLS needs both --tls-cert and --tls-key"),
            (["--token-file", "t"], "kubectl sends no token over plain HTTP"),
            (["--snapshot", "none.json"], "none.json does not exist"),
            (["--nodes-file", "none.yaml"], "none.yaml"),
            (["--devices", "none.yaml"], "the devices file none.yaml does not exist"),
            (["--kubeconfig", "~/.kube/config"], "kubectl's own file"),
            (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1 port 8880"),
            (["--scheduler", "--policy", "none.py", "--port", "0"], "none.py does not exist"),
        ],
    )
    def test_is_one_sentence(self, tmp_path: Path, arguments: list[str], sentence: str) -> None:
        said = rejected(tmp_path, *arguments)
        assert said.startswith("moor: ")
        assert sentence in said
        assert list(tmp_path.iterdir()) == []

    def test_a_mistake_in_a_file_with_devices(self, tmp_path: Path) -> None:
        (tmp_path / "devices.yaml").write_text(DEVICES.replace("count: 2", "count: two"))
        said = rejected(tmp_path, "--devices", "devices.yaml")
        assert "devices.yaml:6:27: drivers[0].pools[0].devices[0].count: expected" in said

    def test_a_port_that_is_taken(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            said = rejected(tmp_path, "--port", str(port))
        assert f"cannot listen on 127.0.0.1 port {port}" in said
        assert "--port" in said

    def test_somebody_elses_file_is_not_overwritten(self, tmp_path: Path) -> None:
        file = tmp_path / "mooring.kubeconfig"
        file.write_text("mine")
        assert "was not written by moor cluster" in rejected(tmp_path)
        assert file.read_text() == "mine"

    def test_a_second_cluster_leaves_the_kubeconfig_of_the_first(
        self, start: Start, tmp_path: Path
    ) -> None:
        cluster = start("--nodes", "1")
        before = cluster.kubeconfig.read_text()
        said = rejected(tmp_path, "--port", "0")
        assert "mooring.kubeconfig is used by another moor cluster" in said
        assert cluster.kubeconfig.read_text() == before
        cluster.process.kill()
        cluster.process.wait()
        assert start("--nodes", "2").names("Node") == ["node-1", "node-2"]


class TestAPolicyThatCannotBeInterrupted:
    def begin(self, start: Start, folder: Path, hook_timeout: str) -> Cluster:
        """A cluster whose scheduler has just asked the policy for the first pod."""
        (folder / "stubborn.py").write_text(STUBBORN)
        limit = ("--hook-timeout", hook_timeout)
        cluster = start("--scheduler", "--policy", "stubborn.py", *limit)
        assert cluster.kubeconfig.exists()
        port = int(re.findall(r" is at http://127.0.0.1:(\d+)\.", cluster.text)[0])
        body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.closing(connection):
            connection.request("POST", "/api/v1/namespaces/default/pods", json.dumps(body))
            assert connection.getresponse().status == 201
        wait_for((folder / "reached").exists, "the hook to be reached", 60)
        return cluster

    def test_it_ends_the_cluster_and_the_kubeconfig_is_removed(
        self, start: Start, tmp_path: Path
    ) -> None:
        cluster = self.begin(start, tmp_path, "0.1")
        assert cluster.process.wait(120) == 1
        assert not cluster.kubeconfig.exists()
        who = "plugin stubborn in filter 'stuck' for pod default/p ignored 5 interruptions and is"
        assert f"{who} still running at {tmp_path / 'stubborn.py'}:" in cluster.text

    def test_the_second_ctrl_c_ends_it_at_once(self, start: Start, tmp_path: Path) -> None:
        cluster = self.begin(start, tmp_path, "3600")
        cluster.process.send_signal(signal.SIGINT)

        def ended() -> bool:
            cluster.process.send_signal(signal.SIGINT)
            return cluster.process.poll() is not None

        wait_for(ended, "the second signal to end it", 60)
        assert cluster.process.returncode == 1
        assert not cluster.kubeconfig.exists()


@pytest.mark.parametrize("redact", [False, True])
def test_the_snapshot_of_one_cluster_is_the_beginning_of_another(
    start: Start, tmp_path: Path, redact: bool
) -> None:
    manifest = tmp_path / "deploy.yaml"
    manifest.write_text(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: "
        "{replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: {labels: "
        "{app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: "
        "{cpu: '1'}}}]}}}}"
    )
    first = start("--nodes", "4", "--scheduler", "--snapshot", "deploy.yaml")

    def placed(cluster: Cluster) -> dict[str, str] | None:
        found = {
            one["metadata"]["uid"]: one["spec"].get("nodeName", "")
            for one in cluster.objects()
            if one["kind"] == "Pod" and one["status"]["phase"] == "Running"
        }
        return found if len(found) == 4 else None

    before = wait_for(lambda: placed(first), "four pods to run")
    file = tmp_path / "cluster.json"
    arguments = ["--redact"] if redact else []
    assert first.kubectl_like("snapshot", "-o", str(file), *arguments).returncode == 0
    assert first.end() == 0
    second = start("--snapshot", file)
    # What a redacted ReplicaSet would create is not known any more; its pods stay.
    assert ("left out: ReplicaSet" in second.text) == redact
    assert "An in-memory cluster of 4 nodes and 4 pods is at" in second.text
    after = wait_for(lambda: placed(second), "four pods to be there")
    if not redact:
        assert after == before
    assert len(set(after.values())) == len(set(before.values()))


@pytest.mark.kube
def test_kubectl_takes_the_lines_as_they_are_printed(start: Start, binaries: Binaries) -> None:
    cluster = start("--scheduler")
    printed = cluster.text.partition("In another terminal:\n\n")[2].partition("\n\n")[0]
    lines = [line.strip() for line in printed.splitlines()]
    assert len(lines) == 3
    done = subprocess.run(
        ["/bin/sh", "-ec", "\n".join([*lines, "kubectl rollout status deployment/web"])],
        capture_output=True, text=True, check=False, timeout=120,
        env=environment(cluster.folder, PATH=f"{binaries.kubectl.parent}:{os.environ['PATH']}"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^node-20 +Ready ", done.stdout, re.MULTILINE)
    assert "deployment.apps/web created" in done.stdout
    assert 'deployment "web" successfully rolled out' in done.stdout


@pytest.mark.kube
def test_what_the_cluster_cannot_do_is_said_by_kubectl_alone(
    start: Start, binaries: Binaries
) -> None:
    cluster = start("--nodes", "1", "--scheduler")
    before = cluster.text
    env = environment(cluster.folder, KUBECONFIG=str(cluster.kubeconfig))

    def kubectl(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [binaries.kubectl, *arguments], capture_output=True, text=True, check=False,
            timeout=300, env=env, cwd=cluster.folder,
        )  # fmt: skip

    create = ["create", "deployment", "web", "--image=nginx", "--replicas=10"]
    assert kubectl(*create).returncode == 0
    assert kubectl("rollout", "status", "deployment/web", "--timeout=60s").returncode == 0
    guide = Path(__file__).parents[3] / "docs" / "guide" / "cluster.md"
    block = guide.read_text().partition("## What it does not do")[2].split("```")[1]
    shown = re.findall(r"^\$ kubectl (.+)\n((?:[^$\n].*\n)+)", block, re.MULTILINE)
    assert len(shown) == 5

    def masked(text: str) -> str:
        return re.sub(r"pod/web-\S+", "pod/web", text)

    for arguments, said in shown:
        done = kubectl(*arguments.split())
        assert (done.returncode, done.stdout) == (1, ""), arguments
        assert masked(done.stderr) == masked(said), arguments
    pod = kubectl("get", "pods", "-o", "name").stdout.split()[0]
    for arguments in ("attach deploy/web", f"debug {pod} --image=busybox -- true"):
        done = kubectl(*arguments.split())
        assert "is not supported: an embedded cluster runs no containers" in done.stderr, arguments
    assert cluster.text == before
