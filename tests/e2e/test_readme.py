"""README's story is what its readers see: its policy, its configuration, its workload, its texts.

The workload is placed by every way that README shows: `moor demo`, `moor cluster --scheduler`,
`moor run`, and an unmodified kube-scheduler that asks `moor serve`.
"""

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.embedded.fleet import read_fleet
from mooring.testing.child_process import ChildProcess, free_port
from mooring.testing.moor_run import MoorRun
from mooring.testing.moor_serve import MoorServe
from mooring.testing.real_kubernetes import Binaries, KubeScheduler, wait_for
from tests.e2e.full_embedded_control_plane import FullEmbeddedControlPlane

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLE = ROOT / "examples" / "06-fair-gpus"
WORKLOAD: dict[str, Any] = yaml.safe_load((EXAMPLE / "workload.yaml").read_text())
#: Four of a node's eight GPUs are the most that the namespace gets, so one node stays free.
PACKED = [2, 4]
#: kube-scheduler may ask for a pod's scores before it has the one before bound: once in a while the
#: second pod goes to another node, and both are filled from then on.
NEARLY = [3, 3]
GPU = "nvidia.com/gpu"
#: A loaded machine may take a good part of it.
SECONDS = 300.0


def shown(pattern: str) -> str:
    """The first part of README that matches."""
    found = re.search(pattern, README, re.MULTILINE | re.DOTALL)
    assert found is not None, pattern
    return found[1]


def session(command: str) -> list[tuple[list[str], str]]:
    """The commands of the console block that begins with one, each with what it prints."""
    (block,) = (
        block
        for block in re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
        if block.startswith(f"$ {command}")
    )
    lines = re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    return [(shlex.split(line), printed) for line, printed in lines]


EVENT = session("kubectl apply")[-1][1].splitlines()[-1]
CONFIG: dict[str, Any] = yaml.safe_load(shown(r"^```yaml\n(.*?)^```$"))
SCHEDULER: str = CONFIG["profiles"][0]["schedulerName"]


def moor(folder: Path, *arguments: str) -> str:
    """What a command prints that does what it should."""
    done = subprocess.run(
        [sys.executable, "-m", "mooring.cli", *arguments],
        capture_output=True, text=True, check=False, timeout=300, cwd=folder,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """README's policy, as a reader would copy it."""
    file = tmp_path / "policy.py"
    file.write_text(shown(r"^```python\n(.*?)^```$"))
    return file


def test_the_policy_is_the_example() -> None:
    assert shown(r"^```python\n(.*?)^```$") == (EXAMPLE / "policy.py").read_text()


def test_the_demo_prints_what_is_shown(tmp_path: Path) -> None:
    ((command, printed),) = session("moor demo")
    text = moor(tmp_path, *command[1:])

    def rows(text: str) -> list[tuple[str, ...]]:
        """The numbers of the table; which node is the first one is left to chance."""
        return sorted(re.findall(r"^gpu-\d +(\d) +(\d)$", text, re.MULTILINE))

    assert rows(text) == rows(printed)
    numbers = re.compile(r"^gpu-\d .*$", re.MULTILINE)
    assert numbers.sub("", text).startswith(numbers.sub("", printed))


@pytest.mark.kube
def test_the_cluster_and_kubectl_print_what_is_shown(tmp_path: Path, binaries: Binaries) -> None:
    for line in re.findall(r"^    moor (examples fair-gpus --copy)", README, re.MULTILINE):
        moor(tmp_path, *line.split())
    folder = tmp_path / "fair-gpus"
    ((command, printed),) = session("moor cluster")
    port = free_port()
    kubeconfig = folder / "mooring.kubeconfig"
    arguments = ["--chdir", str(folder), sys.executable, "-m", "mooring.cli", *command[1:]]
    cluster = ChildProcess(
        "moor cluster", ["env", *arguments, "--port", str(port)], tmp_path / "cluster.log"
    )
    expected = printed.replace("/tmp/fair-gpus", str(folder)).replace(":8880", f":{port}")
    try:
        # Log lines, which README does not show, may come already.
        log_line = re.compile(r"^\d{4}-\d\d-\d\d .*\n?", re.MULTILINE)
        wait_for(
            lambda: log_line.sub("", cluster.log_file.read_text()) == expected,
            "moor cluster to print what is shown",
            SECONDS,
        )

        def kubectl(*arguments: str) -> str:
            return subprocess.run(
                [str(binaries.kubectl), *arguments],
                capture_output=True, text=True, check=True, timeout=120, cwd=folder,
                env={**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path)},
            ).stdout  # fmt: skip

        def nodes() -> list[str]:
            column = "custom-columns=:.spec.nodeName"
            return kubectl("get", "pods", "--no-headers", "-o", column).split()

        (apply, applied), (scale, scaled), (events, told) = session("kubectl apply")
        assert kubectl(*apply[1:]) == applied
        wait_for(lambda: len(nodes()) == 6 and "<none>" not in nodes(), "six pods", SECONDS)
        assert sorted(Counter(nodes()).values()) == PACKED
        assert kubectl(*scale[1:]) == scaled

        def messages() -> list[str]:
            # Another attempt may have another event of the same message.
            return list(dict.fromkeys(kubectl(*events[1:]).splitlines()))

        wait_for(lambda: messages() == told.splitlines(), "the event", SECONDS)
        halves = [1, 4, 4, 4]  # and one without a node
        wait_for(lambda: sorted(Counter(nodes()).values()) == halves, "twelve pods", SECONDS)
    finally:
        cluster.stop()


@pytest.fixture
def plane(binaries: Binaries) -> Iterator[FullEmbeddedControlPlane]:
    with FullEmbeddedControlPlane(read_fleet(EXAMPLE / "nodes.yaml")) as running:
        yield running


def place_the_workload(plane: FullEmbeddedControlPlane, scheduler: str, *packed: list[int]) -> None:
    """Create README's workload for a scheduler, and see it packed; then scale it as README does."""
    spec = WORKLOAD["spec"]
    template = spec["template"]
    chosen = {**template["spec"], "schedulerName": scheduler}
    plane.create({**WORKLOAD, "spec": {**spec, "template": {**template, "spec": chosen}}})

    def placed(count: int) -> Callable[[], list[str] | None]:
        def look() -> list[str] | None:
            pods = plane.list_objects("Pod", "default")
            found = [one["spec"]["nodeName"] for one in pods if one["spec"].get("nodeName")]
            return found if len(found) == count else None

        return look

    assert sorted(Counter(wait_for(placed(6), "six pods", SECONDS)).values()) in packed
    plane.kubectl("scale", "deployment", "trainer", "--replicas=13")
    assert set(Counter(wait_for(placed(12), "twelve pods", SECONDS)).values()) == {4}

    def told() -> set[str]:
        events = plane.list_objects("Event", "default")
        return {one["message"] for one in events if one["reason"] == "FailedScheduling"}

    wait_for(lambda: EVENT in told(), "the event", SECONDS)


@pytest.mark.kube
def test_moor_run_packs(plane: FullEmbeddedControlPlane, policy: Path) -> None:
    command = shlex.split(shown(r"^    (moor run [^\n]*)"))
    name = command[command.index("--scheduler-name") + 1]
    assert name == SCHEDULER
    with MoorRun(plane, policy=policy, args=["--scheduler-name", name]) as run:
        place_the_workload(plane, name, PACKED)
        said = "policy fair-gpus can decide 50% of a node's total score (weight 14 of 28)"
        assert said in run.log()


@pytest.mark.kube
def test_kube_scheduler_packs(plane: FullEmbeddedControlPlane, policy: Path) -> None:
    too_many = shown(r"than are free still gets `(.*?)`")
    with MoorServe(policy, ["--kubeconfig", plane.kubeconfig]) as server:
        printed = shown_in(server.log(), r"for kube-scheduler's configuration:\n((?:[a-z -].*\n)+)")
        extenders = [{**CONFIG["extenders"][0], "urlPrefix": server.url}]
        assert yaml.safe_load(printed) == {"extenders": extenders}
        assert Path(CONFIG["clientConnection"]["kubeconfig"]).is_absolute()
        config = {
            **CONFIG,
            "extenders": extenders,
            "clientConnection": {"kubeconfig": str(plane.kubeconfig)},
            "leaderElection": {"leaderElect": True, **CONFIG["leaderElection"]},
        }
        with KubeScheduler(plane, config):
            place_the_workload(plane, SCHEDULER, PACKED, NEARLY)
            leases = plane.list_objects(
                "Lease", "kube-system", api_version="coordination.k8s.io/v1"
            )
            assert [one["metadata"]["name"] for one in leases] == [SCHEDULER]
            huge = {"name": "main", "image": "app:1", "resources": {"limits": {GPU: "9"}}}
            plane.create({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "huge"},
                "spec": {"schedulerName": SCHEDULER, "containers": [huge]},
            })  # fmt: skip
            wait_for(
                lambda: any(
                    f"0/3 nodes are available: 3 {too_many}." in one["message"]
                    for one in plane.list_objects("Event", "default")
                ),
                "the event of the pod that asks for too much",
                SECONDS,
            )


def shown_in(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None, text
    return found[1]
