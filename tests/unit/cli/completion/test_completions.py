"""What can follow on a command line: commands, options, values, and names from the cluster."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from mooring.cli.completion import cluster_names
from mooring.cli.completion.completions import Completions, Directive, complete
from mooring.cli.main import app
from mooring.embedded.kubeconfig import kubeconfig_text
from mooring.testing import TestCluster, cluster
from mooring.testing.real_kubernetes import free_port

SNAPSHOT = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: old-node}}
- {apiVersion: v1, kind: Pod, metadata: {name: old, namespace: shop}, spec: {containers: []}}
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster from outside."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MOORING_COMPLETION_SECONDS", "100")


@pytest.fixture(scope="module")
def running() -> Iterator[TestCluster]:
    with cluster(2) as made:
        made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        made.create_pod("web-1")
        made.create_pod("web-2")
        made.create_pod("till", namespace="shop")
        yield made


@pytest.fixture
def kubeconfig(running: TestCluster) -> str:
    return str(running.kubeconfig)


def completions(*words: str) -> Completions:
    return complete(get_command(app), words)


def values(*words: str) -> list[str]:
    return [item.value for item in completions(*words).items]


def test_commands() -> None:
    found = completions("")
    assert {"demo", "explain", "run", "completion"} <= {item.value for item in found.items}
    assert all(item.about for item in found.items)
    assert found.directive == Directive.NO_FILES
    assert values("expl") == ["explain"]
    assert values("--version", "expl") == ["explain"]
    assert values("xplain", "") == []
    assert values() == values("")


def test_options() -> None:
    found = completions("explain", "--")
    names = [item.value for item in found.items]
    assert {"--snapshot", "--output", "--node", "--context", "--help"} <= set(names)
    assert {"-o", "-s"} <= set(values("explain", "-"))
    assert values("--v") == ["--version"]
    assert values("run", "--no-l") == ["--no-leader-elect"]
    assert "--help" in values("explain", "p", "--")
    assert values("explain", "-o", "json", "--out") == []
    assert values("serve", "p.py", "--allow-host", "a", "--allow-h") == ["--allow-host"]
    assert values("explain", "--", "--out") == []


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "--output", ""),
        ("explain", "-o", ""),
        ("explain", "--output="),
        ("explain", "pod", "-s", "-", "-o", ""),
        ("explain", "--help", "-o", ""),
    ],
)
def test_choices(words: tuple[str, ...]) -> None:
    assert values(*words)[:3] == ["table", "wide", "json"]


def test_values_that_begin_like_what_was_typed() -> None:
    assert values("explain", "--output=j") == ["json"]
    assert values("completion", "f") == ["fish"]
    assert values("completion", "fish", "") == []


@pytest.mark.parametrize(
    "words",
    [
        ("serve", ""),
        ("run", "pol"),
        ("explain", "--config", ""),
        ("explain", "-s", "snap"),
        ("cluster", "--kubeconfig="),
        ("snapshot", "-o", ""),
    ],
)
def test_files_are_left_to_the_shell(words: tuple[str, ...]) -> None:
    assert completions(*words) == ([], Directive.DEFAULT)


@pytest.mark.parametrize(
    "words", [("serve", "--port", ""), ("demo", ""), ("run", "policy.py", ""), ("serve", "--x=")]
)
def test_where_nothing_is_known_no_files_are_shown(words: tuple[str, ...]) -> None:
    assert completions(*words) == ([], Directive.NO_FILES)


def test_examples() -> None:
    assert values("examples", "gpu") == ["gpu-packing"]
    assert values("demo", "--example", "gpu") == ["gpu-packing"]


class TestNamesFromTheCluster:
    def test_pods(self, kubeconfig: str) -> None:
        words = ("explain", "--kubeconfig", kubeconfig)
        found = completions(*words, "")
        assert [item.value for item in found.items[:2]] == ["web-1", "web-2"]
        assert "shop/" in [item.value for item in found.items]
        assert found.directive == Directive.NO_FILES | Directive.NO_SPACE
        assert completions(*words, "web").directive == Directive.NO_FILES
        assert values(*words, "web") == ["web-1", "web-2"]
        assert values(*words, "shop/") == ["shop/till"]
        assert values(*words, "pod/") == ["pod/web-1", "pod/web-2"]

    def test_pods_in_a_namespace(self, kubeconfig: str) -> None:
        words = ("bind", f"--kubeconfig={kubeconfig}", "-n", "shop")
        assert values(*words, "") == ["till"]
        assert values(*words[:2], "-nshop", "pod/t") == ["pod/till"]

    def test_a_pod_may_be_a_file(self, kubeconfig: str) -> None:
        found = completions("explain", "--kubeconfig", kubeconfig, "no-such")
        assert found == ([], Directive.DEFAULT)

    def test_nodes(self, kubeconfig: str) -> None:
        nodes = ["node-1", "node-2"]
        assert values("bind", "--kubeconfig", kubeconfig, "web-1", "") == nodes
        assert values("explain", "--kubeconfig", kubeconfig, "web-1", "--node", "n") == nodes
        assert values("explain", "--kubeconfig", kubeconfig, "web-1", "--node=node-2") == ["node-2"]

    def test_namespaces(self, kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KUBECONFIG", kubeconfig)
        assert values("bind", "-n", "s") == ["shop"]
        assert {"default", "shop"} <= set(values("bind", "--namespace", ""))

    def test_contexts(self, running: TestCluster, tmp_path: Path) -> None:
        file = tmp_path / "config"
        known = yaml.safe_load(Path(running.kubeconfig).read_text())
        known["contexts"].append({**known["contexts"][0], "name": "arn:aws:other"})
        known["contexts"][0]["context"] = {**known["contexts"][0]["context"], "cluster": "gone"}
        file.write_text(yaml.safe_dump(known))
        words = ("bind", "--kubeconfig", str(file))
        assert values(*words, "--context", "arn") == ["arn:aws:other"]
        assert len(values(*words, "--context=")) == 2
        # The current context names a cluster that there is not.
        assert values(*words, "") == []
        assert values(*words, "--context", "arn:aws:other", "web") == ["web-1", "web-2"]

    def test_a_snapshot_is_read_instead(self, kubeconfig: str, tmp_path: Path) -> None:
        file = tmp_path / "cluster.yaml"
        file.write_text(SNAPSHOT)
        words = ("explain", "-s", str(file))
        assert values(*words, "") == ["shop/old"]
        assert values(*words, "shop/old", "--node", "") == ["old-node"]
        file.write_text("{")
        assert values(*words, "") == []


@pytest.mark.parametrize(
    "text",
    [None, "{", "", "clusters: 7", "current-context: x"],
    ids=["missing", "broken", "empty", "wrong", "nothing"],
)
def test_a_kubeconfig_that_is_none_has_no_names(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    for option in ("--context", "--namespace"):
        assert values("bind", "--kubeconfig", str(file), option, "") == []
    assert values("bind", "--kubeconfig", str(file), "") == []


def test_a_cluster_that_does_not_answer_has_no_names(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig_text(f"http://127.0.0.1:{free_port()}"))
    assert values("bind", "--kubeconfig", str(file), "") == []
    assert cluster_names.namespaces({"kubeconfig": str(file)}, "") == []


def test_without_a_cluster_there_are_no_names() -> None:
    assert values("bind", "") == []
    assert values("bind", "pod", "") == []
    assert values("bind", "--context", "") == []


def test_a_cluster_that_takes_long_has_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOORING_COMPLETION_SECONDS", "0.01")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig_text(f"http://127.0.0.1:{silent.getsockname()[1]}"))
        assert values("bind", "--kubeconfig", str(file), "") == []


@pytest.mark.parametrize(
    ("text", "found"), [(None, 2.0), ("5", 5.0), ("0.5", 0.5), ("x", 2.0), ("", 2.0), ("-1", 0.0)]
)
def test_how_long_a_cluster_has(
    monkeypatch: pytest.MonkeyPatch, text: str | None, found: float
) -> None:
    monkeypatch.delenv("MOORING_COMPLETION_SECONDS")
    if text is not None:
        monkeypatch.setenv("MOORING_COMPLETION_SECONDS", text)
    assert cluster_names.seconds() == found


def test_compare_takes_several_configurations() -> None:
    assert completions("compare", "s.yaml", "--config", "").directive == Directive.DEFAULT
    assert values("compare", "s.yaml", "--config", "a.yaml", "--conf") == ["--config"]
    assert values("compare", "s.yaml", "--seeds", "3", "--see") == []
    assert completions("simulate", "s.yaml", "--report", "").directive == Directive.DEFAULT
