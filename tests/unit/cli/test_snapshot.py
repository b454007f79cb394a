"""``moor snapshot`` in this process, against an API server in a thread."""

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.testing import make_node, make_pod
from tests.unit.cli.cluster_server import ClusterServer, cluster_server
from tests.unit.cli.command_line import Run as Moor

SECRET = "hunter2"
WEB: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {
        "name": "web-7d4b9-x2x",
        "namespace": "acme-shop",
        "uid": "11111111-2222-3333-4444-555555555555",
        "labels": {"app": "checkout", "acme.com/team": "blue"},
        "annotations": {"acme.com/owner": "alice@acme.com"},
        "managedFields": [{"manager": "kubectl"}],
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web-7d4b9",
                "uid": "99999999-2222-3333-4444-555555555555",
                "controller": True,
            }
        ],
    },
    "spec": {
        "containers": [
            {
                "name": "nginx",
                "image": "registry.acme.com/shop/nginx",
                "command": ["serve", SECRET],
                "args": [f"--password={SECRET}"],
                "env": [{"name": "PASSWORD", "value": SECRET}],
                "resources": {"requests": {"cpu": "2"}},
            }
        ],
        "nodeSelector": {"acme.com/pool": "payments"},
        "priority": 0,
    },
    "status": {"phase": "Pending"},
}


@pytest.fixture
def cluster() -> Iterator[ClusterServer]:
    with cluster_server() as made:
        made.put(
            make_node("acme-node-1", labels={"acme.com/pool": "payments"}),
            make_node("acme-node-2", labels={"acme.com/pool": "other"}),
            WEB,
            {
                "kind": "StorageClass",
                "metadata": {"name": "fast"},
                "provisioner": "ebs.csi.aws.com",
            },
        )
        yield made


@pytest.fixture
def moor(
    tmp_path: Path,
    cluster: ClusterServer,
    monkeypatch: pytest.MonkeyPatch,
    command_line: Moor,
) -> Moor:
    """Runs a command against the cluster; exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(tmp_path)))
    return command_line


def by_kind(text: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    whole = json.loads(text)
    assert (whole["apiVersion"], whole["kind"]) == ("v1", "List")
    for item in whole["items"]:
        found.setdefault(f"{item['apiVersion']} {item['kind']}", []).append(item)
    return found


class TestWhole:
    def test_everything_goes_to_standard_output(self, moor: Moor) -> None:
        code, out, err = moor("snapshot")
        assert (code, err) == (0, "")
        found = by_kind(out)
        assert {kind: len(items) for kind, items in found.items()} == {
            "v1 Node": 2,
            "v1 Pod": 1,
            "storage.k8s.io/v1 StorageClass": 1,
        }
        pod = found["v1 Pod"][0]
        assert "managedFields" not in pod["metadata"]
        assert pod["spec"] == WEB["spec"]
        assert len(out.splitlines()) == 4 + 2, "an object on each line"

    def test_a_file(self, moor: Moor, tmp_path: Path) -> None:
        file = tmp_path / "cluster.json"
        file.write_text("old")
        code, out, err = moor("snapshot", "-o", file)
        assert (code, out) == (0, "")
        assert err == f"moor: wrote 2 nodes, 1 pod and 1 other object to {file}\n"
        assert len(by_kind(file.read_text())) == 3
        assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster.json", "kubeconfig"]

    def test_moor_explain_reads_it(self, moor: Moor) -> None:
        moor("snapshot", "-o", "cluster.json")
        code, out, err = moor("explain", "acme-shop/web-7d4b9-x2x", "-s", "cluster.json")
        assert (code, err) == (0, "")
        assert "goes to acme-node-1" in out

    def test_pages(self, moor: Moor, cluster: ClusterServer) -> None:
        cluster.put(*(make_pod(f"p{number}") for number in range(1200)))
        _, out, _ = moor("snapshot")
        assert len(by_kind(out)["v1 Pod"]) == 1201
        queries = [query for _, path, query in cluster.asked if path == "/api/v1/pods"]
        assert queries == [
            {"limit": "500"},
            {"limit": "500", "continue": "500"},
            {"limit": "500", "continue": "1000"},
        ]

    def test_pages_that_expire(self, moor: Moor, cluster: ClusterServer) -> None:
        cluster.put(*(make_pod(f"p{number}") for number in range(1200)))
        cluster.expire_after = 2
        code, out, _ = moor("snapshot")
        assert code == 0
        names = [pod["metadata"]["name"] for pod in by_kind(out)["v1 Pod"]]
        assert len(names) == len(set(names)) == 1201

    def test_an_empty_cluster(self, moor: Moor, cluster: ClusterServer) -> None:
        for items in cluster.lists.values():
            items.clear()
        code, out, _ = moor("snapshot")
        assert code == 0
        assert json.loads(out)["items"] == []


class TestWhatCannotBeRead:
    def test_kinds_that_are_forbidden_or_missing_are_left_out(
        self, moor: Moor, cluster: ClusterServer
    ) -> None:
        path = "/apis/storage.k8s.io/v1/storageclasses"
        cluster.forbid(path, "list", "storageclasses", "storage.k8s.io")
        cluster.rejected["/apis/policy/v1/poddisruptionbudgets"] = (404, "not found")
        code, out, err = moor("snapshot")
        assert code == 0
        assert set(by_kind(out)) == {"v1 Node", "v1 Pod"}
        assert err.splitlines() == [
            "moor: storageclasses.storage.k8s.io are left out: listing is forbidden",
            "moor: poddisruptionbudgets.policy are left out: the cluster does not serve them",
        ]

    @pytest.mark.parametrize("resource", ["nodes", "pods"])
    def test_nodes_and_pods_are_needed(
        self, moor: Moor, cluster: ClusterServer, tmp_path: Path, resource: str
    ) -> None:
        cluster.forbid(f"/api/v1/{resource}", "list", resource)
        (tmp_path / "cluster.json").write_text("old")
        code, out, err = moor("snapshot", "-o", "cluster.json")
        assert (code, out) == (1, "")
        assert err.count("\n") == 1
        assert f'User "joe" cannot list resource "{resource}"' in err
        assert (tmp_path / "cluster.json").read_text() == "old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster.json", "kubeconfig"]

    def test_an_api_server_that_fails(self, moor: Moor, cluster: ClusterServer) -> None:
        cluster.rejected["/api/v1/services"] = (500, "etcd is gone")
        code, _, err = moor("snapshot", "-o", "cluster.json")
        assert code == 1
        assert "answered 500: etcd is gone" in err

    def test_no_cluster(self, moor: Moor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("KUBECONFIG")
        code, out, err = moor("snapshot")
        assert (code, out) == (2, "")
        assert err == (
            "moor: no cluster is configured: use --kubeconfig FILE, set KUBECONFIG, or run inside "
            "the cluster\n"
        )

    def test_nobody_is_there(self, moor: Moor, cluster: ClusterServer, tmp_path: Path) -> None:
        cluster.url = "http://127.0.0.1:1"
        code, _, err = moor("snapshot", "--kubeconfig", cluster.kubeconfig(tmp_path))
        assert code == 1
        assert "cannot be reached" in err
        assert err.count("\n") == 1

    def test_wrong_credentials(self, moor: Moor, cluster: ClusterServer, tmp_path: Path) -> None:
        cluster.token = "right"
        code, _, err = moor("snapshot", "--kubeconfig", cluster.kubeconfig(tmp_path, token=SECRET))
        assert code == 1
        assert "rejected the credentials (401)" in err
        assert SECRET not in err

    @pytest.mark.parametrize(
        ("place", "said"),
        [
            (".", "is a directory"),
            ("nowhere/x.json", "cannot be written: No such file or directory"),
        ],
    )
    def test_a_place_that_cannot_be_written(self, moor: Moor, place: str, said: str) -> None:
        code, _, err = moor("snapshot", "-o", place)
        assert code == 2
        assert err.startswith(f"moor: {place} ")
        assert said in err

    def test_a_device_is_not_replaced(self, moor: Moor) -> None:
        code, _, err = moor("snapshot", "-o", "/dev/null")
        assert code == 0
        assert "wrote 2 nodes" in err
        assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)

    def test_a_link_is_followed(self, moor: Moor, tmp_path: Path) -> None:
        (tmp_path / "real.json").write_text("old")
        (tmp_path / "link.json").symlink_to("real.json")
        assert moor("snapshot", "-o", "link.json")[0] == 0
        assert (tmp_path / "link.json").is_symlink()
        assert len(by_kind((tmp_path / "real.json").read_text())) == 3


class TestRedacted:
    def test_nothing_of_ours_is_left(self, moor: Moor) -> None:
        code, out, err = moor("snapshot", "--redact")
        assert (code, err) == (0, "")
        assert len(by_kind(out)["v1 Node"]) == 2
        for word in (SECRET, "checkout", "payments", "PASSWORD"):
            assert word not in out
        # An alias is one word of letters and digits, which may have a short one in it by chance.
        words = set(re.findall(r"[A-Za-z0-9]+", out))
        assert not words & {
            "acme", "shop", "web", "nginx", "blue", "alice", "pool", "serve", "fast", "1111",
            "7d4b9",
        }  # fmt: skip
        assert '"cpu":"2"' in out
        assert "kubernetes.io/hostname" in out
        assert "ebs.csi.aws.com" in out

    def test_names_differ_from_time_to_time(self, moor: Moor) -> None:
        first, second = (by_kind(moor("snapshot", "--redact")[1]) for _ in range(2))
        assert first["v1 Pod"][0]["metadata"]["name"] != second["v1 Pod"][0]["metadata"]["name"]

    def test_it_is_explained_as_before(self, moor: Moor, tmp_path: Path) -> None:
        code, _, err = moor("snapshot", "--redact", "-o", "r.json", "--names", "names.tsv")
        assert code == 0
        assert "wrote 2 nodes, 1 pod and 1 other object to r.json" in err
        file = tmp_path / "names.tsv"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        names = {
            (kind, old): new
            for kind, old, new in (line.split("\t") for line in file.read_text().splitlines())
        }
        assert {kind for kind, _ in names} == {
            "Node", "Pod", "StorageClass", "Namespace", "Key", "Value", "Image",
        }  # fmt: skip
        pod = names["Pod", "acme-shop/web-7d4b9-x2x"]
        code, out, err = moor("explain", pod, "-s", "r.json", "-o", "json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert found["selected"] == [names["Node", "acme-node-1"]]
        assert found["nodeStatus"] == {
            names["Node", "acme-node-2"]: {
                "plugin": "NodeAffinity",
                "code": "UnschedulableAndUnresolvable",
            }
        }

    def test_what_cannot_be_understood_is_left_out(
        self, moor: Moor, cluster: ClusterServer
    ) -> None:
        for number in range(7):
            cluster.put({"kind": "Pod", "metadata": {"name": f"odd-{number}"}, "spec": [SECRET]})
        code, out, err = moor("snapshot", "--redact")
        assert code == 0
        assert len(by_kind(out)["v1 Pod"]) == 1
        assert SECRET not in out
        lines = err.splitlines()
        assert len(lines) == 6
        assert lines[0].startswith("moor: left out: Pod default/odd-0 cannot be read: field spec")
        assert lines[-1] == "moor: 2 more objects are left out"

    def test_resources_and_schedulers(
        self, moor: Moor, cluster: ClusterServer, tmp_path: Path
    ) -> None:
        container = {"name": "c", "resources": {"requests": {"acme.com/fpga": "2"}}}
        cluster.put(
            {
                "kind": "Pod",
                "metadata": {"name": "odd", "namespace": "acme-shop"},
                "spec": {"schedulerName": "acme-packer", "containers": [container]},
            },
            {"kind": "CSIDriver", "metadata": {"name": "csi.acme.com"}, "spec": {}},
        )
        assert moor("snapshot", "--redact", "-o", "r.json", "--names", "names.tsv")[0] == 0
        text = (tmp_path / "r.json").read_text()
        assert "acme" not in text
        lines = (tmp_path / "names.tsv").read_text().splitlines()
        assert len(lines) == len(set(lines))
        names = {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in lines}
        assert f'"{names["Resource", "acme.com/fpga"]}":"2"' in text
        assert f'"schedulerName":"{names["Scheduler", "acme-packer"]}"' in text
        assert f'"name":"{names["CSIDriver", "csi.acme.com"]}"' in text

    def test_labels_taints_namespaces_and_images(
        self, moor: Moor, cluster: ClusterServer, tmp_path: Path
    ) -> None:
        taint = {"key": "acme.com/dedicated", "value": "gold", "effect": "NoSchedule"}
        cluster.put(make_node("acme-node-3", labels={"size": "4"}, taints=[taint]))
        assert moor("snapshot", "--redact", "-o", "r.json", "--names", "names.tsv")[0] == 0
        found = by_kind((tmp_path / "r.json").read_text())
        lines = (tmp_path / "names.tsv").read_text().splitlines()
        assert len(lines) == len(set(lines))
        names = {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in lines}
        pod = found["v1 Pod"][0]
        assert pod["metadata"]["labels"] == {
            names["Key", "app"]: names["Value", "checkout"],
            names["Key", "acme.com/team"]: names["Value", "blue"],
        }
        assert list(pod["metadata"]["annotations"]) == [names["Key", "acme.com/owner"]]
        assert pod["metadata"]["namespace"] == names["Namespace", "acme-shop"]
        image = names["Image", "registry.acme.com/shop/nginx:latest"]
        assert pod["spec"]["containers"][0]["image"] == image
        node = next(one for one in found["v1 Node"] if "taints" in one["spec"])
        assert node["spec"]["taints"] == [
            {
                "key": names["Key", "acme.com/dedicated"],
                "value": names["Value", "gold"],
                "effect": "NoSchedule",
            }
        ]
        assert node["metadata"]["labels"][names["Key", "size"]] == "4"
        assert ("Value", "4") not in names, "it stays"
        assert ("Key", "kubernetes.io/hostname") not in names, "it stays"

    def test_a_name_cannot_pass_for_a_line(
        self, moor: Moor, cluster: ClusterServer, tmp_path: Path
    ) -> None:
        cluster.put(
            {
                "kind": "Pod",
                "metadata": {"name": "odd", "namespace": "acme-shop"},
                "spec": {"containers": [{"name": "c", "image": "a\nPod\tx\ty:1"}]},
            }
        )
        assert moor("snapshot", "--redact", "-o", "r.json", "--names", "names.tsv")[0] == 0
        lines = (tmp_path / "names.tsv").read_text().splitlines()
        assert all(line.count("\t") == 2 for line in lines)
        assert any(line.startswith("Image\ta\\nPod\\tx\\ty:1\tx") for line in lines)

    @pytest.mark.parametrize(
        ("output", "names"), [("r.json", "r.json"), ("r.json", "x/../r.json"), ("-", "-")]
    )
    def test_names_in_the_snapshot_itself(
        self, moor: Moor, tmp_path: Path, output: str, names: str
    ) -> None:
        (tmp_path / "x").mkdir()
        (tmp_path / "r.json").write_text("old")
        code, out, err = moor("snapshot", "--redact", "-o", output, "--names", names)
        assert (code, out) == (2, "")
        assert err == (
            f"moor: --output and --names are both {names}; write the names, which you should "
            "keep private, to another file\n"
        )
        assert (tmp_path / "r.json").read_text() == "old"

    def test_names_through_a_link(self, moor: Moor, tmp_path: Path) -> None:
        (tmp_path / "link.tsv").symlink_to("r.json")
        code, _, err = moor("snapshot", "--redact", "-o", "r.json", "--names", "link.tsv")
        assert code == 2
        assert "--output and --names are both link.tsv" in err

    def test_names_without_redacting(self, moor: Moor) -> None:
        code, _, err = moor("snapshot", "--names", "names.tsv")
        assert code == 2
        assert "--names needs --redact" in err
