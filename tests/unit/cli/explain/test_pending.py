"""``moor explain --pending``."""

import json
from pathlib import Path
from typing import Any

import pytest

from mooring.model.meta import KubeObject
from mooring.testing import make_node, make_pod
from tests.unit.cli.command_line import Result, rejected, snapshot_text
from tests.unit.cli.command_line import Run as Explain


@pytest.fixture
def pending(tmp_path: Path, command_line: Explain) -> Explain:
    def call(things: list[KubeObject], *options: str) -> Result:
        file = tmp_path / "dump.json"
        file.write_text(snapshot_text(things))
        return command_line("explain", "--pending", "-s", file, *options)

    return call


def pod(name: str, cpu: str, **more: Any) -> KubeObject:
    return make_pod(name, requests={"cpu": cpu}, **more)


NODE = make_node("a", cpu="2")


def test_nothing_is_pending(pending: Explain) -> None:
    assert pending([NODE]) == (0, "✓ No pod is pending.\n", "")
    code, out, _ = pending([NODE, pod("x", "4")], "-n", "shop")
    assert (code, out) == (0, "✓ No pod is pending in shop.\n")


def test_pods_that_fit(pending: Explain) -> None:
    code, out, _ = pending([NODE, pod("x", "1")])
    assert code == 0
    assert out.startswith("✓ 1 pod is pending, and fits now.\n")


def test_groups_and_changes(pending: Explain) -> None:
    code, out, err = pending([NODE, pod("p10", "4"), pod("p9", "4"), pod("q", "1")])
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == (
        "✗ 3 pods are pending: 1 fits now, and 2 do not: NodeResourcesFit: Insufficient cpu."
    )
    assert lines[1].startswith(
        "  What helps most: request 2 less cpu (2 instead of 4); 1 of 2 then"
    )
    assert "   2  NodeResourcesFit: Insufficient cpu" in lines
    assert "      default/p9, default/p10" in lines
    assert "Fit now, and are waiting for their scheduler\ndefault-scheduler: default/q\n" in out
    assert "1. request 2 less cpu (2 instead of 4)  → 1 pod fits then" in lines


def test_json(pending: Explain) -> None:
    code, out, _ = pending([NODE, pod("x", "4")], "-o", "json")
    found = json.loads(out)
    assert code == 1
    assert found["pending"] == 1
    assert found["groups"][0]["pods"] == ["default/x"]
    assert found["suggestions"][0]["pods"] == ["default/x"]


def test_a_narrow_screen(pending: Explain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "a-deployment-with-a-rather-long-name-7d9f8b6c5d-x"
    _, out, _ = pending([NODE, *(pod(f"{name}{number}", "4") for number in range(30))])
    assert max(map(len, out.splitlines())) <= 80
    assert "more" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "specify the pod to explain, or --pending for all pending pods"),
        (["x", "--pending"], "specify the pod to explain, or --pending for all"),
        (["--pending", "--node", "a"], "--pending and --node are mutually exclusive"),
        (["--pending", "-A", "-n", "a"], "--all-namespaces and --namespace are mutually exclusive"),
        (["x", "-A"], "--all-namespaces and a pod's name are mutually exclusive"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str, command_line: Explain) -> None:
    assert said in rejected(command_line("explain", *arguments, "-s", "x"))
