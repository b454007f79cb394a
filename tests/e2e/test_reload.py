"""``--reload`` of a scheduler that works: edits of a policy's file, while pods keep coming.

The same story for ``moor run`` beside a kube-scheduler on a real API server, with the guide's own
command, and for the scheduler inside ``moor cluster``.
"""

import contextlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing.api_client import ApiClient, HttpClient
from mooring.testing.child_process import ChildProcess, ProcessError, free_port
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler, wait_for
from tests.e2e.pod_helpers import nodes, pod

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guide/scheduler.md").read_text()
POLICY = """\
import mooring as mr

policy = mr.Policy("shift")


@policy.filter
def hours(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if(node.name == {node!r}, "node(s) are closed")
"""
#: Edits that cannot be used, and what the log says of them.
BROKEN = {
    POLICY.format(node="node-1").replace('("shift")', '("shift"'): (
        "kept the old policy: {file}, line 3: '(' was never closed; fix the syntax"
    ),
    POLICY.format(node="node-1").replace("node.name", "node.nam"): (
        "kept the old policy: {file}, line 8: Node has no attribute 'nam'; did you mean node.name?"
    ),
    POLICY.format(node="node-1") + "import os\nos._exit(1)\n": (
        "kept the old policy: {file}, line 10 raised SystemExit: os._exit(1)"
    ),
    POLICY.format(node="node-1").replace("import mooring as mr\n", "import no_such as mr\n"): (
        "kept the old policy: {file}, line 1 raised ModuleNotFoundError: No module named 'no_such'"
    ),
}
#: As many pods come with each edit, before it and after it.
PODS = 3


@contextlib.contextmanager
def started(name: str, folder: Path, *arguments: str) -> Iterator[ChildProcess]:
    """A command as a user starts it, in a folder."""
    command = ["env", "--chdir", str(folder), sys.executable, "-m", "mooring.cli", *arguments]
    process = ChildProcess(name, command, folder / "log.txt")
    try:
        yield process
    finally:
        process.stop(30)


class Story:
    """Pods that are placed while a policy is edited.

    Args:
        api: creates and reads objects.
        process: the scheduler.
        file: the policy's file.
        scheduler: its name.
        namespace: where the pods are.
    """

    def __init__(
        self, api: ApiClient, process: ChildProcess, file: Path, scheduler: str, namespace: str
    ) -> None:
        self._api = api
        self._process = process
        self._file = file
        self._scheduler = scheduler
        self._namespace = namespace
        self._pods: list[str] = []

    def create(self) -> list[str]:
        """Some more pods, which nobody waits for."""
        made = [f"pod-{len(self._pods) + number}" for number in range(PODS)]
        for name in made:
            self._api.create(pod(name, self._namespace, self._scheduler))
        self._pods += made
        return made

    def nodes_of(self, names: list[str]) -> list[str]:
        """Where pods are, waiting until all of them are bound."""

        def bound() -> list[str] | None:
            found = self._bound()
            return [found[name] for name in names] if all(map(found.get, names)) else None

        return wait_for(bound, f"{names} to be bound")

    def _bound(self) -> dict[str, str]:
        pods = self._api.list_objects("Pod", self._namespace)
        return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in pods}

    def edit(self, text: str, says: str) -> None:
        """Write the file anew while pods come, and wait for what the log says of it."""
        before = self._process.log().count(says)
        self.create()
        self._file.write_text(text)
        self.create()
        wait_for(lambda: self._process.log().count(says) > before, f"{says!r} in the log")

    def run(self) -> None:
        """All of it."""
        assert self.nodes_of(self.create()) == ["node-1"] * PODS
        # Another policy decides about the next pods.
        self.edit(POLICY.format(node="node-2"), "reloaded policy shift: filter hours")
        assert self.nodes_of(self.create()) == ["node-2"] * PODS
        # One that cannot be used leaves it in place.
        for text, said in BROKEN.items():
            self.edit(text, said.format(file=self._file))
            assert self.nodes_of(self.create()) == ["node-2"] * PODS
        # Nobody gets a node any more, ...
        self.edit(POLICY.format(node="none"), "reloaded policy shift")
        waiting = self.create()
        self._wait_pending(waiting)
        # ... until it is repaired: then the pods that waited are placed, too.
        self.edit(POLICY.format(node="node-1"), "reloaded policy shift")
        assert self.nodes_of([*waiting, *self.create()]) == ["node-1"] * 2 * PODS
        # Those that came in the middle of an edit are not lost, either, nor bound twice.
        self.nodes_of(self._pods)
        wait_for(lambda: self._scheduled() == sorted(self._pods), "an event for each pod")
        assert self._process.running
        assert "Traceback" not in self._process.log()

    def _wait_pending(self, names: list[str]) -> None:
        def told() -> bool:
            pods = [self._api.get("Pod", name, self._namespace) for name in names]
            told = [one["status"].get("conditions", [{}])[0].get("message", "") for one in pods]
            return all("2 node(s) are closed" in one for one in told)

        wait_for(told, f"{names} to be unschedulable")

    def _scheduled(self) -> list[str]:
        events = self._api.list_objects("Event", self._namespace)
        return sorted(
            one["involvedObject"]["name"]
            for one in events
            if one["reason"] == "Scheduled"
            for _ in range(max(one.get("count") or 1, 1))
        )


@pytest.mark.kube
def test_beside_a_kube_scheduler_on_the_same_host(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    (line,) = re.findall(r"^    moor (run policy\.py .*--reload)$", GUIDE, re.MULTILINE)
    arguments = shlex.split(line)
    scheduler = arguments[arguments.index("--scheduler-name") + 1]
    arguments[arguments.index("--port") + 1] = str(free_port())
    file = tmp_path / "policy.py"
    file.write_text(POLICY.format(node="node-1"))
    by_name: dict[str, Any] = {"node_1": {}, "node_2": {}}
    elects = {"leaderElection": {"leaderElect": True}}
    with (
        nodes(control_plane, **by_name),
        KubeScheduler(control_plane, elects) as neighbour,
        started(
            "moor run", tmp_path, *arguments, "--kubeconfig", str(control_plane.kubeconfig)
        ) as process,
    ):
        story = Story(control_plane, process, Path("policy.py"), scheduler, namespace)
        with contextlib.chdir(tmp_path):
            story.run()
        # The other one works all the same, on a node that the policy closes.
        wants = {"kubernetes.io/hostname": "node-2"}
        control_plane.create(pod("other", namespace, "default-scheduler", nodeSelector=wants))
        assert story.nodes_of(["other"]) == ["node-2"]
        # Without another port it does not start, and says what to do.
        taken = MoorRun(control_plane, args=["--port", str(neighbour.port)])
        with pytest.raises(ProcessError, match="ended with status 2"):
            taken.start()
        assert f"port {neighbour.port}: Address already in use; use others" in taken.log()


def test_inside_an_embedded_cluster(tmp_path: Path) -> None:
    port = free_port()
    file = tmp_path / "policy.py"
    file.write_text(POLICY.format(node="node-1"))
    arguments = ["cluster", "--nodes", "2", "--port", str(port), "--scheduler", "--reload"]
    with started("moor cluster", tmp_path, *arguments, "--policy", "policy.py") as process:
        process.wait_ready(lambda: "places the pods" in process.log(), 90)
        with contextlib.closing(ClusterClient(port)) as api, contextlib.chdir(tmp_path):
            Story(api, process, Path("policy.py"), "default-scheduler", "default").run()


class ClusterClient(ApiClient):
    """Requests to a ``moor cluster``."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._http = HttpClient(port)

    def close(self) -> None:
        """Close its connections."""
        if self._http is not None:
            self._http.close()
