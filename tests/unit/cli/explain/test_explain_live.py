"""``moor explain`` without a snapshot: the same answers, from an API server in a thread."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from mooring.testing import make_node, make_pod
from tests.unit.cli.cluster_server import ClusterServer, cluster_server
from tests.unit.cli.command_line import Run as Explain

POLICY = """
import mooring as mr

policy = mr.Policy("raw")


@policy.filter
def check(pod, node):
    return node.raw["status"].get("nodeInfo", {}).get("kernelVersion") == "6.1" or "old kernel"
"""


@pytest.fixture
def cluster() -> Iterator[ClusterServer]:
    with cluster_server() as made:
        new = make_node("new").raw
        new["status"]["nodeInfo"] = {"kernelVersion": "6.1"}
        made.put({"kind": "Node", **new}, make_node("old"), make_node("small", cpu="1"))
        made.put(make_pod("web", namespace="shop", requests={"cpu": "4"}))
        yield made


@pytest.fixture
def explain(
    tmp_path: Path,
    cluster: ClusterServer,
    monkeypatch: pytest.MonkeyPatch,
    command_line: Explain,
) -> Explain:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(tmp_path, namespace="shop")))
    return partial(command_line, "explain")


@pytest.mark.parametrize("name", ["shop/web", "web"])
def test_a_pod_of_the_cluster(explain: Explain, name: str) -> None:
    code, out, err = explain(name, "-o", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["pod"] == "shop/web"
    assert found["feasible"] == ["new", "old"]


def test_a_scheduler_that_sees_it_otherwise(explain: Explain, cluster: ClusterServer) -> None:
    said = {"reason": "FailedScheduling", "message": "0/3 nodes are available: 3 asleep."}
    (web,) = cluster.lists["/api/v1/pods"]
    cluster.lists["/api/v1/pods"] = [{**web, "metadata": {**web["metadata"], "uid": "u"}}]
    event = {**said, "lastTimestamp": "2026-11-18T00:00:00Z"}
    cluster.lists["/api/v1/namespaces/shop/events"] = [event]
    code, out, _ = explain("web")
    assert code == 0
    assert "✓ shop/web goes to " in out
    assert "  default-scheduler found no node for it " in out
    assert "a policy or configuration that is not given here (--policy, --config).\n" in out


def test_the_file_named_on_the_command_line(
    explain: Explain, cluster: ClusterServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = cluster.kubeconfig(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert explain("shop/web", "--kubeconfig", file)[0] == 0
    code, _, err = explain("web", "--kubeconfig", file)
    assert code == 2
    assert err == "moor: there is no pod default/web in the cluster; did you mean shop/web?\n"


def test_a_policy_sees_whole_nodes(explain: Explain, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY)
    code, out, _ = explain("web", "--policy", "policy.py", "-o", "json")
    assert code == 0
    assert json.loads(out)["feasible"] == ["new"]


def test_a_manifest(explain: Explain, tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", **make_pod("mine", requests={"cpu": "99"}).raw}
    (tmp_path / "pod.json").write_bytes(msgspec.json.encode(pod))
    code, out, _ = explain("pod.json")
    assert code == 1
    assert "is pending: it needs 99 cpu, and the largest node it may use has 8 (new)." in out


def test_what_is_not_there(explain: Explain) -> None:
    assert explain("a/b-c-d-e") == (
        2, "", "moor: there is no pod a/b-c-d-e in the cluster, which has 1 pod\n",
    )  # fmt: skip
    assert explain("web", "--node", "zzz") == (
        2, "", "moor: there is no node zzz in the cluster, which has 3 nodes\n",
    )  # fmt: skip


def test_kinds_that_cannot_be_read_are_told(explain: Explain, cluster: ClusterServer) -> None:
    cluster.forbid("/api/v1/services", "list", "services")
    code, _, err = explain("web")
    assert (code, err) == (0, "moor: services are left out: listing is forbidden\n")


def test_a_cluster_that_cannot_be_read_is_no_answer(
    explain: Explain, cluster: ClusterServer
) -> None:
    cluster.forbid("/api/v1/nodes", "list", "nodes")
    code, out, err = explain("web")
    assert (code, out) == (2, "")
    assert 'cannot list resource "nodes" in API group "" at the cluster scope' in err
    assert err.count("\n") == 1


def test_an_object_that_cannot_be_understood(explain: Explain, cluster: ClusterServer) -> None:
    cluster.put({"kind": "Pod", "metadata": {"name": "odd"}, "spec": []})
    code, _, err = explain("web")
    assert code == 0
    assert "1 object is left out:" in err
    assert "Pod default/odd cannot be read" in err


def test_no_cluster(explain: Explain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG")
    code, _, err = explain("web")
    assert code == 2
    assert err == (
        "moor: no cluster is configured: use --kubeconfig FILE or --snapshot FILE, set "
        "KUBECONFIG, or run inside the cluster\n"
    )


def test_a_snapshot_and_a_cluster(explain: Explain) -> None:
    code, _, err = explain("web", "-s", "x.json", "--kubeconfig", "y")
    assert code == 2
    assert err == "moor: --snapshot and --kubeconfig are mutually exclusive; use one of them\n"
