"""Names, labels and reasons that hold commands for a terminal: none of them reaches it."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.cli import main as cli

Run = Callable[..., str]
#: Colours, the window's title, a clear screen, the 8-bit form of one, a text that runs backwards.
HOSTILE = "\x1b[31mRED\x1b]0;title\x07\x1b[2J\x9b2J\r\x08\u202e\x7f"
POLICY = f"""\
import mooring as mr

policy = mr.Policy("hostile")


@policy.filter
def closed(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if(node.name == "c", {HOSTILE!r})


@policy.score(name="rate")
def rate(pod: mr.Pod, node: mr.Node) -> float:
    if pod.labels:
        raise ValueError({HOSTILE!r})
    return 1
"""
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def node(name: str, **spec: Any) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "labels": {f"zone{HOSTILE}": f"z{HOSTILE}"}}
    return {"kind": "Node", "metadata": metadata, "spec": spec, "status": {"allocatable": amounts}}


def pod(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    labels = {f"app{HOSTILE}": HOSTILE} if name == "labelled" else {}
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


TAINT = {"key": f"k{HOSTILE}", "value": HOSTILE, "effect": "NoSchedule"}
OBJECTS = [
    node(f"a{HOSTILE}", taints=[TAINT]),
    node(f"b{HOSTILE}"),
    node("c"),
    pod("selects", nodeSelector={f"zone{HOSTILE}": f"other{HOSTILE}"}),
    pod("other", schedulerName=f"other{HOSTILE}"),
    pod("placed", nodeName=f"b{HOSTILE}"),
    pod("labelled"),
    pod(
        "claims",
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": f"claim{HOSTILE}"}}],
    ),
    pod("elsewhere", namespace=f"space{HOSTILE}"),
    {"kind": "Pod", "metadata": {"name": f"wrong{HOSTILE}"}, "spec": {"containers": HOSTILE}},
]


@pytest.fixture
def moor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    Path("snapshot.json").write_text(json.dumps({"kind": "List", "items": OBJECTS}))
    Path("policy.py").write_text(POLICY)

    def call(*arguments: str) -> str:
        """Output and errors."""
        monkeypatch.setattr(sys, "argv", ["moor", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        return "".join(capsys.readouterr())

    return call


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize(
    "command",
    [
        *(f"explain -s snapshot.json default/{name}"
          for name in ("selects", "other", "placed", "claims")),
        "explain -s snapshot.json elsewhere",
        "explain -s snapshot.json selects -o wide",
        "explain -s snapshot.json selects --node a*",
        "explain -s snapshot.json placed -o json",
        "explain -s snapshot.json labelled --policy policy.py",
        "explain -s snapshot.json placed --policy policy.py",
        "explain -s snapshot.json --pending",
        "explain -s snapshot.json --pending -o wide --policy policy.py",
        "explain -s snapshot.json absent*",
        "explain -s absent*.json selects",
        "explain -s snapshot.json selects --config absent*",
        "explain -s snapshot.json selects --scheduler-name absent*",
        "check policy.py",
        "check policy.py -o json",
        "check absent*.py",
        "serve absent*.py",
    ],
)  # fmt: skip
def test_nothing_of_them_is_obeyed(
    moor: Run, monkeypatch: pytest.MonkeyPatch, command: str, terminal: bool
) -> None:
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
        monkeypatch.setenv("COLUMNS", "100")
    said = moor(*(part.replace("*", HOSTILE) for part in command.split()))
    assert said
    assert "\x1b[31mRED" not in said
    assert _CONTROL.findall(_COLOUR.sub("", said) if terminal else said) == []


def test_json_means_the_same(moor: Run) -> None:
    said = moor("explain", "-s", "snapshot.json", "default/placed", "-o", "json")
    read, _ = json.JSONDecoder().raw_decode(said)
    assert f"b{HOSTILE}" in read["filter"]["NodeName"]
