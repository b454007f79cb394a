"""What can follow in a chain of operations of ``moor whatif``."""

from pathlib import Path

import pytest
from typer.main import get_command

from mooring.cli.completion.completions import Directive, complete
from mooring.cli.main import app
from mooring.simulator.whatif.operations import FORMS

CLUSTER = str(Path(__file__).parents[4] / "docs" / "samples" / "whatif" / "cluster.yaml")


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("", list(FORMS)),
        ("drain node-1 then re", ["remove", "remove-zone", "restart"]),
        ("drain node-", ["node-1", "node-2", "node-3", "node-4"]),
        ("drain node-1 ", ["then", "node-2", "node-3", "node-4"]),
        ("add 3 --like node-", ["node-1", "node-2", "node-3", "node-4"]),
        ("add 3 ", ["then"]),
        ("scale ", []),
    ],
)
def test_what_follows(words: str, values: list[str]) -> None:
    typed = ["whatif", "--snapshot", CLUSTER, *words.split(" ")]
    assert [one.value for one in complete(get_command(app), typed).items] == values


def test_a_policy_is_a_file() -> None:
    found = complete(get_command(app), ["whatif", "policy", ""])
    assert found.directive is Directive.DEFAULT
