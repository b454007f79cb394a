"""``moor bind`` in this process, against an API server in a thread."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from mooring.testing import make_node, make_pod
from tests.unit.cli.cluster_server import ClusterServer, cluster_server
from tests.unit.cli.command_line import Run as Bind

WEB = make_pod(
    "web", namespace="shop", requests={"cpu": "4"}, spec={"schedulerName": "do-it-manually"}
)


@pytest.fixture
def cluster() -> Iterator[ClusterServer]:
    with cluster_server() as made:
        made.put(
            make_node("big"), make_node("small", cpu="2"), make_node("off", unschedulable=True)
        )
        made.put(WEB, make_pod("there", node="big"), make_pod("mine", namespace="default"))
        yield made


@pytest.fixture
def bind(
    tmp_path: Path,
    cluster: ClusterServer,
    monkeypatch: pytest.MonkeyPatch,
    command_line: Bind,
) -> Bind:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(tmp_path)))
    return partial(command_line, "bind")


def test_a_pod_that_fits_is_bound(bind: Bind, cluster: ClusterServer) -> None:
    assert bind("shop/web", "big") == (0, "shop/web is bound to big\n", "")
    assert cluster.bindings == [
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "web", "namespace": "shop", "uid": WEB.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "big"},
        }
    ]


def test_a_pod_that_does_not_fit_is_shown_why(bind: Bind, cluster: ClusterServer) -> None:
    code, out, err = bind("shop/web", "small")
    assert code == 1
    assert err == "moor: pod shop/web does not fit on small; use --force to bind it anyway\n"
    assert "Results of each plugin for small" in out
    assert "it needs 4 cpu, and the whole node has 2" in out
    assert "✗ shop/web does not fit on small: " in out
    assert cluster.bindings == []
    code, out, _ = bind("shop/web", "off")
    assert code == 1
    assert "may not use a cordoned node" in out


def test_force(bind: Bind, cluster: ClusterServer) -> None:
    assert bind("shop/web", "small", "--force") == (0, "shop/web is bound to small\n", "")
    assert len(cluster.bindings) == 1
    assert [path for _, path, _ in cluster.asked] == [
        "/api/v1/namespaces/shop/pods/web",
        "/api/v1/nodes/small",
        "/api/v1/namespaces/shop/pods/web/binding",
    ]


def test_force_needs_only_the_right_to_bind(bind: Bind, cluster: ClusterServer) -> None:
    cluster.forbid("/api/v1/namespaces/shop/pods/web", "get", "pods")
    cluster.forbid("/api/v1/nodes/small", "get", "nodes")
    assert bind("shop/web", "small", "--force")[0] == 0
    assert cluster.bindings[0]["metadata"] == {"name": "web", "namespace": "shop"}
    code, _, err = bind("shop/web", "small")
    assert code == 2
    assert 'cannot get resource "pods"' in err


def test_the_namespace_of_the_kubeconfig(
    bind: Bind, cluster: ClusterServer, tmp_path: Path
) -> None:
    assert bind("mine", "big") == (0, "default/mine is bound to big\n", "")
    config = cluster.kubeconfig(tmp_path, namespace="shop")
    assert bind("web", "big", "--kubeconfig", config) == (0, "shop/web is bound to big\n", "")


def test_a_pod_that_is_on_a_node(bind: Bind, cluster: ClusterServer) -> None:
    for option in ([], ["--force"]):
        code, out, err = bind("there", "small", *option)
        assert (code, out) == (1, "")
        assert err == (
            "moor: pod default/there is already bound to node big; a pod can be bound only once\n"
        )
    assert cluster.bindings == []


@pytest.mark.parametrize("option", [[], ["--force"]])
def test_what_is_not_there(bind: Bind, cluster: ClusterServer, option: list[str]) -> None:
    assert bind("shop/wbe", "big", *option) == (
        2, "", "moor: there is no pod shop/wbe in the cluster\n",
    )  # fmt: skip
    assert bind("shop/web", "bigg", *option) == (
        2, "", "moor: there is no node bigg in the cluster\n",
    )  # fmt: skip
    assert cluster.bindings == []


@pytest.mark.parametrize("name", ["", "/", "a/", "/b", "a/b/c"])
def test_names_that_are_none(bind: Bind, name: str) -> None:
    code, _, err = bind(name, "big")
    assert code == 2
    assert err == f"moor: {name!r} is not the name of a pod; use NAME, pod/NAME or NAMESPACE/NAME\n"


def test_a_pod_with_gates(bind: Bind, cluster: ClusterServer) -> None:
    cluster.put(make_pod("gated", spec={"schedulingGates": [{"name": "example.com/wait"}]}))
    code, out, err = bind("gated", "big")
    assert code == 1
    assert err.startswith("moor: pod default/gated is not ready for scheduling: ")
    assert "example.com/wait" in err
    assert out
    assert cluster.bindings == []


def test_a_claim_without_a_volume(bind: Bind, cluster: ClusterServer) -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    cluster.put(
        make_pod("stateful", spec={"volumes": [volume]}),
        {
            "kind": "StorageClass",
            "metadata": {"name": "late"},
            "provisioner": "example.com/disk",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default", "uid": "u"},
            "spec": {
                "storageClassName": "late",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    )
    code, out, err = bind("stateful", "big")
    assert (code, out) == (0, "default/stateful is bound to big\n")
    assert err == (
        "moor: claim default/data is not bound to a volume yet, and moor bind does not bind it\n"
    )


def test_the_api_server_rejects(bind: Bind, cluster: ClusterServer) -> None:
    path = "/api/v1/namespaces/shop/pods/web/binding"
    cluster.forbid(path, "create", "pods/binding")
    code, out, err = bind("shop/web", "big")
    assert (code, out) == (1, "")
    assert 'cannot create resource "pods/binding"' in err
    cluster.rejected[path] = (409, 'pod web is already assigned to node "x"')
    code, _, err = bind("shop/web", "big")
    assert code == 1
    assert 'already assigned to node "x"' in err


def test_a_cluster_that_cannot_be_read(bind: Bind, cluster: ClusterServer) -> None:
    cluster.forbid("/api/v1/pods", "list", "pods")
    code, _, err = bind("shop/web", "big")
    assert code == 2
    assert 'cannot list resource "pods"' in err
    assert err.count("\n") == 1
    assert cluster.bindings == []
