"""``moor whatif``: exit codes, JSON, and one sentence for what is wrong."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mooring.cli.whatif.whatif import whatif as command
from mooring.simulator.whatif.operations import FORMS
from tests.unit.cli.command_line import Run, rejected

CLUSTER = Path(__file__).parents[4] / "docs" / "samples" / "whatif" / "cluster.yaml"

WORKLOADS = (
    "'web' is not a workload; specify KIND/NAME or NAMESPACE/KIND/NAME, such as deployment/web or "
    "shop/statefulset/db"
)


@pytest.fixture
def whatif(command_line: Run) -> Run:
    return partial(command_line, "whatif", "--snapshot", CLUSTER)


def answer(whatif: Run, *arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, err = whatif(*arguments, "-o", "json")
    assert err == ""
    return code, json.loads(out)


def test_a_change_that_is_fine_ends_with_0(whatif: Run) -> None:
    code, found = answer(whatif, "add", "1", "--like", "node-1")
    assert (code, found["nodesBefore"], found["nodesAfter"]) == (0, 4, 5)
    assert found["pending"] == found["moved"] == found["created"] == []
    assert "cost" not in found


def test_pods_that_stay_pending_end_with_1(whatif: Run) -> None:
    code, found = answer(whatif, "scale", "shop/deployment/web", "12")
    assert code == 1
    assert [one["pod"] for one in found["newlyPending"]] == [
        "shop/web-7d4b9-new-5",
        "shop/web-7d4b9-new-6",
    ]
    assert found["pending"][0]["plugin"] == "NodeResourcesFit"


def test_a_budget_that_blocks_ends_with_1(whatif: Run) -> None:
    code, found = answer(whatif, "drain", "node-1")
    assert code == 1
    assert [(one["budget"], one["verdict"]) for one in found["budgets"]] == [
        ("shop/db", "blocks"),
        ("shop/web", "holds"),
    ]


def test_prices_of_groups_and_labels(whatif: Run) -> None:
    arguments = ("add", "2", "--like", "node-2", "--price", "m5.xlarge=0.5")
    _, found = answer(whatif, *arguments)
    assert found["cost"] == {"before": 1.0, "after": 2.0, "drained": 0.0, "unpriced": 2}


def test_another_policy_decides_from_then_on(whatif: Run, tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(
        "import mooring as mr\n\npolicy = mr.Policy('here')\n\n\n"
        "@policy.filter\ndef here(pod: mr.Pod, node: mr.Node) -> bool:\n"
        "    return node.name == 'node-4'\n"
    )
    _, found = answer(whatif, "policy", str(file), "then", "scale", "shop/deployment/web", "8")
    assert {one["target"] for one in found["created"]} == {"node-4"}


def test_the_help_has_every_operation() -> None:
    lines = (command.__doc__ or "").splitlines()
    shown = [line.split("  ", 3) for line in lines]
    told = {" ".join(" ".join(line).split()) for line in shown}
    for name, form in FORMS.items():
        assert f"{name} {form.arguments} {form.about}" in told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["drian", "node-1"], "there is no operation 'drian'; did you mean drain?"),
        (["drain"], "drain: write drain NODE..., and then between two operations"),
        (
            ["remove", "node-1", "then", "drain", "node-1"],
            (
                "node node-1 is removed by an earlier operation; put this one before that, or "
                "name another node"
            ),
        ),
        (["drain", "node-9"], "there is no node node-9; did you mean node-4?"),
        (["drain", "node-1", "then"], 'an operation is missing before or after "then"'),
        (["remove-zone", "zone-x"], "there is no zone zone-x; did you mean zone-b?"),
        (["add", "3"], "add 3: specify --like NODE, which the new nodes resemble"),
        (["add", "0", "--like", "node-1"], "add: '0' is not a number from 1 to 10000"),
        (
            ["drain", "node-1", "--like", "node-2"],
            "--like node-2 belongs to no operation; use it with add N",
        ),
        (
            ["scale", "web", "3"],
            WORKLOADS,
        ),
        (
            ["scale", "shop/deployment/wep", "3"],
            "there is no pod of deployment/wep in shop; did you mean deployment/web in shop?",
        ),
        (
            ["scale", "shop/ds/log", "3"],
            "scale daemonset/log in shop: a DaemonSet cannot be scaled",
        ),
        (["priority", "shop/deployment/web", "high"], "there is no PriorityClass high"),
        (
            ["drain", "node-1", "--price", "m5.large=cheap"],
            "--price m5.large=cheap: 'cheap' is not a price; use a number such as 0.096",
        ),
        (
            ["drain", "node-1", "--price", "m6=1"],
            "--price m6=1: there is no node group m6, only m5.large, m5.xlarge",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(whatif: Run, arguments: list[str], sentence: str) -> None:
    assert rejected(whatif(*arguments)) == sentence


def test_what_a_policy_prints_is_not_in_the_answer(whatif: Run, tmp_path: Path) -> None:
    policy = tmp_path / "policy.py"
    policy.write_text(
        "import mooring as mr\npolicy = mr.Policy('p')\n"
        "@policy.filter\ndef fits(pod: mr.Pod, node: mr.Node) -> bool:\n"
        "    print('asked about', pod.name)\n    return True\n"
    )
    _, out, err = whatif("drain", "node-2", "--policy", str(policy), "-o", "json")
    assert json.loads(out)["operations"] == ["drain node-2"]
    assert "asked about" in err


def test_pods_are_listed_as_people_count(whatif: Run) -> None:
    _, found = answer(whatif, "scale", "shop/deployment/web", "200")
    names = [name.rpartition("-")[2] for name in found["pending"][0]["pods"]]
    assert names == sorted(names, key=int)


def test_a_plugin_that_fails_is_one_sentence(whatif: Run, tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(
        "import mooring as mr\n\npolicy = mr.Policy('bad')\n\n\n"
        "@policy.filter\ndef bad(pod: mr.Pod, node: mr.Node) -> bool:\n"
        "    raise KeyError(node.name)\n"
    )
    assert "KeyError" in rejected(whatif("drain", "node-1", "--policy", file))
