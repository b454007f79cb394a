"""``kubectl moor``: kubectl runs it, completes it, and its texts say what was typed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.testing import TestCluster, cluster
from mooring.testing.real_kubernetes import Binaries
from tests.unit.cli.moor import environment

pytestmark = pytest.mark.kube

SCRIPTS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def running(binaries: Binaries) -> Iterator[TestCluster]:
    with cluster(2) as made:
        made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        made.create_pod("till", namespace="shop", requests={"cpu": "1000"})
        made.create_pod("web")
        yield made


class Kubectl:
    """kubectl with the plugin on its path."""

    def __init__(self, binaries: Binaries, running: TestCluster, folder: Path) -> None:
        self._kubectl = binaries.kubectl
        self._folder = folder
        self._environment = environment(
            folder,
            PATH=f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
            KUBECONFIG=str(running.kubeconfig),
            COLUMNS="80",
            MOORING_COMPLETION_SECONDS="100",
        )

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self._kubectl, *arguments],
            env=self._environment,
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def kubectl(binaries: Binaries, running: TestCluster, tmp_path: Path) -> Kubectl:
    return Kubectl(binaries, running, tmp_path)


def test_it_is_a_plugin(kubectl: Kubectl) -> None:
    assert f"{SCRIPTS}/kubectl-moor" in kubectl("plugin", "list").stdout.splitlines()
    done = kubectl("moor", "explain", "shop/till")
    assert done.returncode == 1
    assert "Insufficient cpu" in done.stdout
    assert "mooring 0" in kubectl("moor", "--version").stdout


def test_options_are_those_of_kubectl(kubectl: Kubectl, running: TestCluster) -> None:
    file = str(running.kubeconfig)
    context = kubectl("config", "current-context").stdout.strip()
    for options in (
        ("--kubeconfig", file),
        ("--context", context),
        ("--kubeconfig", file, "--context", context),
    ):
        done = kubectl("moor", "bind", "till", "node-1", "-n", "shop", *options)
        assert done.returncode == 1, done.stderr
        assert "pod shop/till does not fit on node-1" in done.stderr
    done = kubectl("moor", "bind", "pod/web", "node-1", "--context", "other")
    assert done.returncode == 2
    assert "other" in done.stderr


def test_texts_say_kubectl_moor(kubectl: Kubectl) -> None:
    usage = kubectl("moor", "explain", "--help").stdout
    assert usage.startswith("Usage: kubectl moor explain [OPTIONS]")
    assert max(map(len, usage.splitlines())) <= 80
    wrong = kubectl("moor", "xplain")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("moor: no such command 'xplain'; did you mean 'explain'")
    assert "See kubectl moor --help" in wrong.stderr


def completed(kubectl: Kubectl, *words: str) -> list[str]:
    """The completions that kubectl gives to a shell."""
    lines = kubectl("__complete", *words).stdout.splitlines()
    assert lines[-1].startswith(":")
    return [line.partition("\t")[0] for line in lines[:-1]]


def test_kubectl_completes_it(kubectl: Kubectl) -> None:
    assert "moor" in completed(kubectl, "moo")
    assert completed(kubectl, "moor", "bi") == ["bind"]
    assert completed(kubectl, "moor", "bind", "we") == ["web"]
    assert completed(kubectl, "moor", "bind", "shop/") == ["shop/till"]
    assert completed(kubectl, "moor", "bind", "-n", "shop", "") == ["till"]
    assert completed(kubectl, "moor", "bind", "web", "") == ["node-1", "node-2"]
    assert completed(kubectl, "moor", "explain", "web", "--output=j") == ["json"]
    assert "--context" in completed(kubectl, "moor", "bind", "--")
    quiet = kubectl("__complete", "moor", "bind", "--kubeconfig", "none", "")
    assert quiet.stdout.splitlines()[-1] == ":0"
    assert "Traceback" not in quiet.stderr
