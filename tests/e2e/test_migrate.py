"""Migrated configurations start the real kube-scheduler, which then places a pod.

The configurations of the guides that people follow, and one for each old version with what has
changed since. Extenders are called at the addresses that the old files name, except for the port.
"""

import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from mooring.config.runtimes import build_profiles
from mooring.deploy.migration import migrate_all
from mooring.plugins.in_tree import default_registry
from mooring.testing.child_process import Program
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane, KubeScheduler
from tests.e2e.pod_helpers import node_of, nodes, pod
from tests.unit.deploy.migration.old_versions import GROUP, OLD_VERSIONS
from tests.unit.deploy.source_documents import files_of

pytestmark = pytest.mark.kube


class Extender(http.server.BaseHTTPRequestHandler):
    """Takes every node and prefers one."""

    asked: list[str]

    def do_POST(self) -> None:
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(self.path)
        reply: Any = {"Nodes": args["Nodes"]}
        if "prio" in self.path:
            names = [node["metadata"]["name"] for node in args["Nodes"]["items"]]
            reply = [{"Host": name, "Score": 10 if name == "b" else 0} for name in names]
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def extender() -> Iterator[tuple[int, list[str]]]:
    """The port of an extender, and the paths that it was asked for."""
    asked: list[str] = []
    kind = type("Handler", (Extender,), {"asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            thread.join()


def migrated(*texts: tuple[str, str]) -> dict[str, Any]:
    """The configuration, for a scheduler of this test: its own credentials, no Lease."""
    documents = [
        one
        for result in migrate_all(texts)
        if result.state == "migrated"
        for one in yaml.safe_load_all(result.text)
    ]
    values = [one["data"].values() if one["kind"] == "ConfigMap" else () for one in documents]
    documents += [yaml.safe_load(text) for some in values for text in some]
    config = next(one for one in documents if one["kind"] == "KubeSchedulerConfiguration")
    config.pop("clientConnection", None)
    config["leaderElection"] = {"leaderElect": False}
    return dict(config)


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    with nodes(control_plane, a={"labels": {"disk": "ssd"}}, b={"labels": {"disk": "ssd"}}):
        meta = {"name": "migrate"}
        control_plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        yield control_plane
        control_plane.delete_namespace("migrate")


def placed(plane: ControlPlane, scheduler: Program, name: str, profile: str) -> str:
    """The node of a pod that the scheduler was given."""
    with scheduler:
        plane.create(pod(name, "migrate", profile))
        return node_of(plane, name, "migrate")


def plugins_of(scheduler: KubeScheduler, point: str) -> dict[str, int]:
    """The plugins with which kube-scheduler says that it works."""
    line = re.search(r'starts to work with those plugins" Plugins=(\{.*\})', scheduler.log())
    assert line is not None
    enabled = json.loads(line[1])[point]["Enabled"] or []
    return {one["Name"]: one["Weight"] for one in enabled}


def same_plugins(config: dict[str, Any], scheduler: KubeScheduler) -> None:
    """See that kube-scheduler and mooring understand the same."""
    profile = next(iter(build_profiles(config, default_registry()).values()))
    for point, name in (("filter", "Filter"), ("score", "Score")):
        ours = {one.name: one.weight if point == "score" else 0 for one in profile.points[point]}
        assert plugins_of(scheduler, name) == ours


def test_the_group_that_v1alpha1_had_first(plane: ControlPlane) -> None:
    old = {"apiVersion": "componentconfig/v1alpha1", "kind": "KubeSchedulerConfiguration"}
    text = yaml.safe_dump(old | OLD_VERSIONS["v1alpha1"] | {"schedulerName": "old-component"})
    config = migrated(("old.yaml", text))
    scheduler = KubeScheduler(plane, config)
    assert placed(plane, scheduler, "of-component", "old-component") in ("a", "b")
    same_plugins(config, scheduler)


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_every_old_version(plane: ControlPlane, version: str) -> None:
    old = {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration"}
    config = migrated(("old.yaml", yaml.safe_dump(old | OLD_VERSIONS[version])))
    scheduler = KubeScheduler(plane, config)
    assert placed(plane, scheduler, f"of-{version}", f"old-{version}") in ("a", "b")
    same_plugins(config, scheduler)


@pytest.mark.parametrize(
    ("folder", "profile", "paths"),
    [
        ("000", "default-scheduler", ["/filter", "/prioritize"]),
        ("001", "default-scheduler", ["/filter", "/prioritize"]),
        (
            "002",
            "my-scheduler",
            ["/scheduler/predicates/always_true", "/scheduler/priorities/zero_score"],
        ),
        ("004", "extended-scheduler", ["/my_scheduler_extension/my_new_priorities/image_score"]),
    ],
)
def test_the_extenders_of_guides(
    plane: ControlPlane, folder: str, profile: str, paths: list[str]
) -> None:
    config = migrated(*files_of(folder))
    with extender() as (port, asked):
        for one in config["extenders"]:
            address = f"http://localhost:{port}"
            one["urlPrefix"] = re.sub(r"http://localhost(:\d+)?", address, one["urlPrefix"])
        scheduler = KubeScheduler(plane, config)
        # The extender's say decides where nothing else tells the nodes apart.
        assert placed(plane, scheduler, f"of-{folder}", profile) == "b"
        assert asked == paths
    same_plugins(config, scheduler)


def test_the_plugin_of_a_guide(plane: ControlPlane) -> None:
    """kube-scheduler has no such plugin; mooring has it."""
    config = migrated(*files_of("003"))
    config["profiles"][0]["schedulerName"] = "of-003"
    assert placed(plane, MoorRun(plane, config), "of-003", "of-003") in ("a", "b")
