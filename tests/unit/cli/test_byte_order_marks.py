"""Files that begin with a byte order mark, as some editors write them, are read by all commands."""

from codecs import BOM_UTF8
from pathlib import Path

import pytest

from tests.unit.cli.command_line import Run

FILES = {
    "policy.py": (
        "import mooring as mr\n\n\n"
        'policy = mr.Policy("mine")\n'
        'policy.score(name="same")(lambda _pod, _node: 0)\n'
    ),
    "config.yaml": (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: mine\n"
        "extenders:\n- {urlPrefix: 'http://127.0.0.1:1', filterVerb: filter}\n"
    ),
    "old.json": '{"kind": "Policy", "apiVersion": "v1"}\n',
    "snapshot.json": (
        '{"apiVersion": "v1", "kind": "List", "items": ['
        '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, '
        '"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}, '
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, '
        '"spec": {"containers": [{"name": "a", "image": "b"}]}}]}\n'
    ),
    "nodes.yaml": "- {name: n1, cpu: 8, memory: 8Gi}\n",
    "workload.yaml": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
        "spec: {containers: [{name: a, image: b}]}\n"
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_bytes(BOM_UTF8 + text.encode())


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("check policy.py", 0, "policy mine: 1 function, no problems found"),
        ("demo --example .", 0, "The policy mine can decide 50%"),
        ("doctor --no-cluster --config config.yaml", 0, "checks passed"),
        ("doctor --no-cluster --manifest workload.yaml", 0, "checks passed"),
        ("explain web -s snapshot.json", 0, "default/web goes to n1"),
        ("extender-test --config config.yaml", 2, "connection refused"),
        ("manifests policy.py --mode scheduler --config config.yaml", 0, "schedulerName: mine"),
        ("migrate old.json", 0, "kind: KubeSchedulerConfiguration"),
    ],
)
def test_a_file_with_one_is_read(command_line: Run, command: str, code: int, said: str) -> None:
    found, out, err = command_line(*command.split())
    assert (found, "\ufeff" in out + err) == (code, False)
    assert said in out
