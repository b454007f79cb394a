import http.client
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

import mooring as mr
from mooring.errors import ApiError, InputError
from mooring.testing import cluster, make_node
from mooring.testing.child_process import WaitError

ROOT = Path(__file__).parents[3]


class TestPods:
    def test_a_pod_is_placed_runs_and_goes(self) -> None:
        with cluster(nodes=2) as c:
            made = c.create_pod("web", requests={"cpu": "1"}, labels={"app": "web"})
            assert isinstance(made, mr.Pod)
            assert c.wait_scheduled("web") in ("node-1", "node-2")
            assert c.wait_phase("web", "Running").labels["app"] == "web"
            event = c.wait_event("web", "Scheduled")
            assert event.type == "Normal"
            assert event.message.startswith("Successfully assigned default/web to node-")
            assert event in c.events("web")
            c.delete_pod("web")
            c.wait_deleted("web")
            assert c.pods() == []
            with pytest.raises(ApiError, match='pods "web" not found'):
                c.delete_pod("web")

    def test_a_pod_that_fits_nowhere_says_why(self) -> None:
        with cluster(nodes=2) as c:
            c.create_pod("big", requests={"cpu": "100"})
            rejection = c.wait_unschedulable("big")
            assert (rejection.status, rejection.reason) == ("False", "Unschedulable")
            assert rejection.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
            with pytest.raises(WaitError) as error:
                c.wait_scheduled("big", timeout=0.1)
            assert "0.1 seconds waiting for pod default/big to be bound" in str(error.value)
            assert "2 Insufficient cpu" in str(error.value)
            assert c.placements() == {"big": ""}

    def test_a_wait_for_nothing_says_so(self) -> None:
        with cluster(nodes=1, scheduler=False) as c:
            with pytest.raises(WaitError, match="there is no such pod"):
                c.wait_scheduled("none", timeout=0.05)
            c.create_pod("p")
            with pytest.raises(WaitError, match="no scheduler has reported anything about it"):
                c.wait_scheduled("p", timeout=0.05)

    def test_the_more_important_pod_gets_the_room(self) -> None:
        with cluster([make_node("only", cpu="2")]) as c:
            c.create_pod("low", requests={"cpu": "2"}, priority=-5)
            assert c.wait_scheduled("low") == "only"
            c.create_pod("high", requests={"cpu": "1"}, priority=100)
            c.wait_deleted("low")
            assert c.wait_scheduled("high") == "only"
            assert c.pod("high").priority == 100
            assert c.wait_event("low", "Preempted").message.startswith("Preempted by pod")

    def test_without_kubelet_a_bound_pod_stays_as_it_is(self) -> None:
        with cluster(nodes=1, kubelet=False) as c:
            c.create_pod("p")
            c.wait_scheduled("p")
            assert c.pod("p").status.phase == "Pending"
            c.delete_pod("p")
            assert c.pods() == []

    def test_a_pod_may_be_on_a_node_from_the_beginning(self) -> None:
        with cluster(nodes=2, scheduler=False) as c:
            c.create_pod("static", node="node-2")
            assert c.wait_phase("static", "Running").node_name == "node-2"


class TestManifests:
    def test_objects_of_all_kinds_are_applied_and_changed(self) -> None:
        text = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
"""
        with cluster(nodes=2) as c:
            _, made = c.apply(text % 2)
            assert made["spec"]["replicas"] == 2
            assert len(c.wait_placements(2, namespace="shop")) == 2
            c.apply(text % 3)
            assert len(c.wait_placements(3, namespace="shop")) == 3
            assert len(c.pods()) == 3
            assert c.pods("default") == []
            c.delete_namespace("shop")
            assert c.pods() == []

    def test_a_job_completes(self) -> None:
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "once"},
            "spec": {
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "c", "image": "i:1"}],
                    }
                }
            },
        }
        with cluster(nodes=1, job_seconds=0.1) as c:
            c.apply(job)
            done = c.wait_for(
                lambda: c.get("Job", "once", api_version="batch/v1")["status"].get("succeeded"),
                "the job to be complete",
            )
            assert done == 1

    def test_what_the_api_server_rejects_is_raised(self) -> None:
        with cluster(nodes=1) as c:
            with pytest.raises(ApiError) as error:
                c.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad_Name"}})
            assert error.value.status == 422
            with pytest.raises(InputError, match="has no kind"):
                c.apply("a: b")


class TestSettings:
    def test_a_policy_as_an_object(self) -> None:
        policy = mr.Policy("third")

        @policy.filter
        def third(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
            return mr.accept_if(node.name == "node-3", "not the third")

        with cluster(nodes=4, policy=policy) as c:
            c.create_pod("p")
            assert c.wait_scheduled("p") == "node-3"
            c.create_pod("q", spec={"nodeSelector": {"kubernetes.io/hostname": "node-1"}})
            assert "1 not the third" in c.wait_unschedulable("q").message

    @pytest.mark.parametrize("as_text", [False, True])
    def test_a_configuration(self, as_text: bool) -> None:
        text = "profiles: [{schedulerName: mine}]"
        config = text if as_text else {"profiles": [{"schedulerName": "mine"}]}
        with cluster(nodes=1, config=config) as c:
            c.create_pod("p", spec={"schedulerName": "mine"})
            c.create_pod("other")
            assert c.wait_scheduled("p") == "node-1"
            assert c.placements() == {"p": "node-1", "other": ""}

    def test_numbered_nodes_are_in_three_zones(self) -> None:
        with cluster(nodes=4, scheduler=False) as c:
            zones = [
                one["metadata"]["labels"]["topology.kubernetes.io/zone"]
                for one in c.list_objects("Node")
            ]
            assert zones == ["zone-a", "zone-b", "zone-c", "zone-a"]

    def test_nodes_as_manifests(self) -> None:
        node = {
            "metadata": {"name": "n", "labels": {"disk": "ssd"}},
            "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}},
        }
        with cluster([node]) as c:
            c.create_pod("p", spec={"nodeSelector": {"disk": "ssd"}})
            assert c.wait_scheduled("p") == "n"

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            ({"policy": "none.py"}, "none.py does not exist"),
            ({"config": {"profiles": 7}}, "profiles"),
            ({"nodes": [{"metadata": {"name": "Not_A_Name"}}]}, "Not_A_Name"),
        ],
    )
    def test_what_cannot_be_used_is_said_at_the_start(
        self, more: dict[str, object], sentence: str
    ) -> None:
        broken = cluster(**more)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=sentence):
            broken.start()
        broken.stop()

    def test_a_configuration_that_is_no_mapping(self) -> None:
        with pytest.raises(InputError, match="not a YAML mapping"):
            cluster(config="[1]")


class TestLife:
    def test_nothing_is_left(self) -> None:
        before = set(threading.enumerate())
        c = cluster(nodes=1)
        with c:
            port = int(c.url.rpartition(":")[2])
            folder = c.kubeconfig.parent
            assert c.kubeconfig.stat().st_mode & 0o077 == 0
            with pytest.raises(InputError, match="running already"):
                c.start()
        assert not folder.exists()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with pytest.raises(OSError, match="refused"):
            connection.request("GET", "/version")
        assert set(threading.enumerate()) <= before
        with pytest.raises(InputError, match="not running"):
            c.wait_for(lambda: True)
        with c:  # and it may begin anew
            assert c.pods() == []

    def test_several_at_the_same_time(self) -> None:
        with cluster(nodes=1) as one, cluster(nodes=1) as two:
            one.create_pod("p")
            one.wait_scheduled("p")
            assert two.pods() == []


class TestPlugin:
    def test_it_is_announced_to_pytest(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        assert project["project"]["entry-points"]["pytest11"] == {"mooring": "pytest_mooring"}

    def test_the_fixture_ends_its_clusters_with_the_test(self, tmp_path: Path) -> None:
        (tmp_path / "test_mine.py").write_text(
            "made = []\n"
            "def test_one(mooring_cluster):\n"
            "    c = mooring_cluster(nodes=1)\n"
            "    made.append(c)\n"
            "    c.create_pod('p')\n"
            "    assert c.wait_scheduled('p') == 'node-1'\n"
            "def test_two():\n"
            "    assert not made[0].kubeconfig.exists()\n"
        )
        done = self.pytest(tmp_path)
        assert "2 passed" in done.stdout, done.stdout

    def test_it_costs_nothing_without_a_cluster(self, tmp_path: Path) -> None:
        (tmp_path / "test_mine.py").write_text(
            "import sys\ndef test_one():\n    assert 'mooring' not in sys.modules\n"
        )
        done = self.pytest(tmp_path)
        assert "1 passed" in done.stdout, done.stdout

    def pytest(self, folder: Path) -> "subprocess.CompletedProcess[str]":
        # By its module's name, so that it works before mooring is installed anew.
        plugin = ["-p", "no:mooring", "-p", "pytest_mooring"]
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", str(folder)],
            capture_output=True, text=True, check=False, timeout=120, cwd=folder,
        )  # fmt: skip
