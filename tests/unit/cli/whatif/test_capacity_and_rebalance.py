"""``moor capacity`` and ``moor rebalance``: exit codes, JSON, files, and what is wrong."""

import json
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.command_line import Run, rejected

SAMPLES = Path(__file__).parents[4] / "docs" / "samples" / "whatif"
WEB = f"{SAMPLES}/web.yaml"


@pytest.fixture
def capacity(command_line: Run) -> Run:
    return partial(command_line, "capacity", "--snapshot", SAMPLES / "cluster.yaml")


@pytest.fixture
def rebalance(command_line: Run) -> Run:
    return partial(command_line, "rebalance", "--snapshot", SAMPLES / "cluster.yaml")


def test_capacity_as_json(capacity: Run) -> None:
    code, out, _ = capacity(WEB, "-o", "json")
    found = json.loads(out)
    assert (code, found["pods"], found["sets"], found["stopped"]) == (0, [4], 4, 0)
    assert [(one["group"], one["pods"], one["reasons"]) for one in found["groups"]] == [
        ("m5.large", [0], {"Insufficient cpu": 2}),
        ("m5.xlarge", [4], {"Insufficient cpu": 2}),
    ]


def test_a_set_that_does_not_fit_ends_with_1(capacity: Run) -> None:
    assert capacity(f"{WEB}=5")[0] == 1


def test_no_more_than_asked_for_are_tried(capacity: Run) -> None:
    code, out, _ = capacity(WEB, "--max", "3")
    assert code == 0
    assert out.startswith("✓ 3 more web.yaml fit.\n  No more were tried (--max).")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "specify a pod: a manifest, or the name of one in the cluster"),
        (["nobody"], "there is no pod default/nobody in the snapshot, which has 12 pods"),
        ([f"{WEB}=x"], f"{WEB}=x: 'x' is not a number of pods from 1 to 200000"),
        ([WEB, "--like", "node-1"], "--like is for --until-fits; use both, or neither"),
        ([WEB, "--until-fits"], "--until-fits needs --like NODE, which the new nodes are like"),
        (
            [WEB, "--until-fits", "--like", "node-9"],
            "there is no node node-9 in the cluster; did you mean node-4?",
        ),
        (
            [WEB, "--until-fits", "--like", "node-1", "--price", "m5.xlarge=1"],
            "node node-1 has no price; specify --price m5.large=",
        ),
    ],
)
def test_what_is_wrong_with_capacity(capacity: Run, arguments: list[str], sentence: str) -> None:
    assert rejected(capacity(*arguments)) == sentence


def test_nothing_is_pending(capacity: Run) -> None:
    assert capacity("--until-fits", "--like", "node-1") == (0, "✓ No pod is pending.\n", "")


def test_rebalance_only_plans(rebalance: Run) -> None:
    sentence = "moor rebalance only plans and moves no pod: use --dry-run"
    assert rejected(rebalance()) == sentence


def test_a_plan_is_a_file_that_can_be_read(rebalance: Run, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    code, out, _ = rebalance("--dry-run", "--plan", file)
    assert code == 0
    assert out.endswith(f"The plan is in {file}.\n")
    moves = yaml.safe_load(file.read_text())["moves"]
    assert [(one["wave"], one["pod"], one["from"], one["to"]) for one in moves] == [
        (1, "shop/web-7d4b9-a", "node-1", "node-2"),
        (2, "shop/web-7d4b9-d", "node-3", "node-4"),
    ]


def test_a_plan_that_cannot_be_written_is_one_sentence(rebalance: Run, tmp_path: Path) -> None:
    sentence = rejected(rebalance("--dry-run", "--plan", tmp_path / "no" / "plan.yaml"))
    assert sentence == f"{tmp_path}/no/plan.yaml cannot be written: No such file or directory"
