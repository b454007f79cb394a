"""``moor extender-test`` on real extenders: the Go one of the benchmark, and ``moor serve``."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.extender.build import go_extender
from mooring.config.types import Extender
from mooring.deploy.extender_test.conformance import ConformancePlan, run_conformance
from mooring.deploy.extender_test.findings import VERBS, ExtenderReport
from mooring.deploy.extender_test.made_up_objects import every_field_pod
from mooring.testing import cluster
from mooring.testing.child_process import ChildProcess, Program, free_port
from mooring.testing.embedded_cluster import TestCluster
from mooring.testing.moor_serve import MoorServe

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/policy.py"))
#: Functions that draw lots answer differently each time, as they should.
RANDOM = {"01-random"}


class GoExtender(Program):
    """The extender of the benchmark on a free port."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.port = free_port()
        self._binary, self._folder = binary, folder

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [str(self._binary), "-port", str(self.port)]
        process = ChildProcess("goextender", command, self._folder / "goextender.log")
        self._launch(process, self._listens, 60)

    def _listens(self) -> bool:
        async def connect() -> bool:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                return False
            writer.close()
            return True

        return asyncio.run(connect())


@pytest.fixture(scope="module")
def binary() -> Path:
    if shutil.which("go") is None and not os.environ.get("CI"):
        pytest.skip("the Go extender is built with Go 1.26 or newer, which is not on the PATH")
    return go_extender()


@pytest.fixture(scope="module")
def nodes() -> Iterator[TestCluster]:
    with cluster(15, scheduler=False, kubelet=False) as running:
        for number in range(1, 7):
            running.create_pod(f"victim-{number}", node=f"node-{number}")
        yield running


def _tested(url: str, **more: Any) -> ExtenderReport:
    verbs: dict[str, Any] = {f"{verb}_verb": verb for verb in VERBS}
    plan = {
        "settings": Extender(url_prefix=url, weight=1, **verbs),
        "optional": VERBS,
        "modes": ("whole", "names"),
        "sizes": (10, 300),
        "requests": 2,
        **more,
    }
    return asyncio.run(run_conformance(ConformancePlan(**plan)))


def test_the_go_extender_of_the_benchmark_conforms(binary: Path, tmp_path: Path) -> None:
    with GoExtender(binary, tmp_path) as extender:
        report = _tested(extender.url)
    assert report.failures == []
    assert report.notes == [
        "It does not serve preempt and bind; leave preemptVerb and bindVerb unset."
    ]
    assert {(row.verb, row.mode, row.nodes) for row in report.latency} == {
        (verb, mode, count)
        for verb in ("filter", "prioritize")
        for mode in ("whole", "names")
        for count in (10, 300)
    }


def test_kubernetes_own_types_know_every_field_that_is_sent(binary: Path) -> None:
    args = {"Pod": every_field_pod(), "Nodes": None, "NodeNames": ["a"]}
    done = subprocess.run(
        [binary, "-marshal"], input=msgspec.json.encode(args), capture_output=True, check=True
    )
    assert msgspec.json.decode(done.stdout) == args


@pytest.mark.parametrize("policy", EXAMPLES, ids=lambda policy: policy.parent.name)
def test_moor_serve_conforms_with_its_own_node_cache(policy: Path, nodes: TestCluster) -> None:
    given = nodes.list_objects("Node")
    pods = nodes.list_objects("Pod")
    with MoorServe(policy, ["--kubeconfig", nodes.kubeconfig]) as extender:
        report = _tested(extender.url, nodes=given, pods=pods)
    allowed = {"repeatable"} if policy.parent.name in RANDOM else set()
    assert {one.check for one in report.failures} == allowed
    [note] = report.notes
    assert note.startswith("Whether bind works was not judged; ")
    # Who has a function for bind asks its node cache first; all others ask the API server.
    assert note.rstrip(".").endswith((" not found", " is not known to the extender yet"))
    # All verbs, all modes, and the victims are pods that it knows.
    asked = {(one.verb, one.mode) for one in report.findings if one.check == "types"}
    modes = ("whole", "names")
    assert asked == {("bind", ""), *((verb, mode) for verb in VERBS[:3] for mode in modes)}


def test_moor_serve_conforms_without_a_cluster() -> None:
    policy = next(one for one in EXAMPLES if one.parent.name == "04-ssd-filter")
    with MoorServe(policy, ["--no-node-cache"]) as extender:
        report = _tested(extender.url)
    assert report.failures == []
    [note] = report.notes
    assert note.startswith("Whether bind works was not judged; ")
    assert " it says: this server has no cluster to bind pods in: " in note


def test_moor_serve_really_binds_a_pod_that_the_user_names(nodes: TestCluster) -> None:
    nodes.create_pod("to-be-bound", spec={"schedulerName": "nobody"})
    policy = next(one for one in EXAMPLES if one.parent.name == "02-always-true")
    with MoorServe(policy, ["--kubeconfig", nodes.kubeconfig]) as extender:
        command = [sys.executable, "-m", "mooring.cli", "extender-test", extender.url, "-o", "json"]
        command += ["--filter-verb=", "--prioritize-verb=", "--preempt-verb="]
        command += ["--kubeconfig", str(nodes.kubeconfig), "--bind-node", "node-9", "--bind"]
        done = subprocess.run([*command, "default/to-be-bound"], capture_output=True, check=False)
        again = subprocess.run([*command, "to-be-bound"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (report,) = msgspec.json.decode(done.stdout)["extenders"]
    found = [one["outcome"] for one in report["findings"] if one["check"] == "bind-binds"]
    assert found == ["passed"]
    assert nodes.get("Pod", "to-be-bound", "default")["spec"]["nodeName"] == "node-9"
    assert again.returncode == 2
    assert again.stderr.decode() == (
        "moor: pod default/to-be-bound is on node node-9 already; name another\n"
    )
