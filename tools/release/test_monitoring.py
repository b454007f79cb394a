"""promtool and a real Prometheus read the alerts and the dashboard in deploy/monitoring.

Prometheus scrapes `moor run` and `moor serve` at work, evaluates every alert and answers every
query of the dashboard.
"""

import http.client
import json
import shutil
import subprocess
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.embedded.fleet import read_fleet
from mooring.testing.child_process import ChildProcess, free_port
from mooring.testing.moor_run import MoorRun
from mooring.testing.moor_serve import MoorServe
from mooring.testing.real_kubernetes import wait_for
from tests.e2e.full_embedded_control_plane import FullEmbeddedControlPlane

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "monitoring"
EXAMPLE = ROOT / "examples" / "06-fair-gpus"
PANELS = [
    panel
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    if panel["type"] != "row"
]
#: Nothing of the kind happens in this test.
EMPTY = {
    "Other schedulers and kubelets",
    "Policy functions: errors and hangs",
    "Preemption",
    "Requests without an answer of the policy",
}
SECONDS = 120.0


def program(name: str) -> str:
    found = shutil.which(name)
    assert found is not None, f"{name} is not on the PATH; install Debian's package prometheus"
    return found


def test_promtool_accepts_the_alerts_and_their_tests() -> None:
    for command in (("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")):
        subprocess.run([program("promtool"), *command], cwd=FOLDER, check=True)


class Prometheus:
    """A running Prometheus that scrapes some ports."""

    def __init__(self, folder: Path, targets: dict[str, int]) -> None:
        self._port = free_port()
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(FOLDER / "alerts.yaml")],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
                for job, port in targets.items()
            ],
        }
        (folder / "prometheus.json").write_text(json.dumps(config))  # JSON is YAML, too
        self._process = ChildProcess(
            "prometheus",
            [
                program("prometheus"), f"--config.file={folder / 'prometheus.json'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            folder / "prometheus.log",
        )  # fmt: skip
        self.stop = self._process.stop

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer; None while there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
            answer = json.loads(connection.getresponse().read())
        except (OSError, ValueError):
            return None
        finally:
            connection.close()
        assert answer["status"] == "success", answer
        return answer["data"]

    def series(self, query: str) -> list[Any]:
        """What a query of the dashboard returns."""
        for variable, value in {"$job": ".*", "$__rate_interval": "1m"}.items():
            query = query.replace(variable, value)
        answer = self.get("query", query=query) or {"result": []}
        found: list[Any] = answer["result"]
        return found


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    policy = EXAMPLE / "policy.py"
    with (
        FullEmbeddedControlPlane(read_fleet(EXAMPLE / "nodes.yaml")) as plane,
        MoorRun(plane, {"leaderElection": {"leaderElect": True}}, policy=policy) as run,
        MoorServe(policy, ["--kubeconfig", plane.kubeconfig]) as serve,
    ):
        watching = Prometheus(
            tmp_path_factory.mktemp("prometheus"), {"run": run.port, "serve": serve.port}
        )
        try:
            wait_for(lambda: len(watching.series("up == 1")) == 2, "both targets", SECONDS)
            plane.kubectl("apply", "-f", str(EXAMPLE / "workload.yaml"))
            plane.kubectl("scale", "deployment", "trainer", "--replicas=13")
            body = json.loads((EXAMPLE / "request.json").read_text())
            for _ in range(5):
                assert serve.post("/filter", body).status == 200
                assert serve.post("/prioritize", body).status == 200
            yield watching
        finally:
            watching.stop()


def test_every_alert_is_evaluated_and_none_of_a_healthy_system_fires(
    prometheus: Prometheus,
) -> None:
    def rules() -> list[dict[str, Any]]:
        groups = (prometheus.get("rules") or {"groups": []})["groups"]
        return [rule for group in groups for rule in group["rules"]]

    wait_for(
        lambda: rules() and all(rule["health"] == "ok" for rule in rules()),
        "all rules to be evaluated",
        SECONDS,
    )
    assert [rule["name"] for rule in rules() if rule["state"] == "firing"] == []


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_panel_shows_something(prometheus: Prometheus, panel: dict[str, Any]) -> None:
    queries = [target["expr"] for target in panel["targets"]]

    def shown() -> bool:
        return [bool(prometheus.series(query)) for query in queries] == [True] * len(queries)

    if panel["title"] in EMPTY:
        shown()  # the queries are valid, at least
    else:
        wait_for(shown, f"data for {panel['title']}", SECONDS)
