"""``moor examples``: policies to begin with."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from mooring.cli.output_formats import TableOrJson, print_json
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.cli.example_files import Example


def examples(
    name: Annotated[
        Optional[str],  # noqa: UP045 - typer reads it at run time
        typer.Argument(help="Print the policy of this example."),
    ] = None,
    copy: Annotated[
        bool, typer.Option("--copy", help="Copy the example into a new directory of the same name.")
    ] = False,
    output: Annotated[
        TableOrJson, typer.Option("--output", "-o", help="The list as a table, or as JSON.")
    ] = TableOrJson.TABLE,
) -> None:
    """List the example policies that come with mooring, print one, or copy one to start from.

    An example consists of a policy, its tests, nodes and a workload to try it on, and a manifest
    that deploys it. moor demo --example NAME runs it.
    """
    from mooring.cli.example_files import all_examples, find_example

    if name is None:
        if copy:
            raise InputError("--copy needs the name of an example; moor examples lists them")
        found = all_examples()
        if output is TableOrJson.JSON:
            print_json([{"name": one.name, "summary": one.summary} for one in found])
        else:
            _list(found)
        return
    example = find_example(name)
    if copy:
        _copy(example)
    else:
        typer.echo(example.policy.read_text(encoding="utf-8"), nl=False)


def _list(found: "list[Example]") -> None:
    from mooring.cli.terminal_output import TerminalPrinter, table

    out = TerminalPrinter()
    made = table("name", "what it shows")
    for one in found:
        made.add_row(one.name, one.summary)
    out.print(made)
    first = "fair-gpus"  # the one that README shows
    out.print()
    out.print(f"moor demo --example {first}     runs one")
    out.print(f"moor examples {first} --copy    copies it to a new directory")


def _copy(example: "Example") -> None:
    from mooring.cli.example_files import copy_example

    names = copy_example(example, Path(example.name))
    files = "\n".join(f"    {example.name}/{name}" for name in names)
    typer.echo(
        f"Copied:\n\n{files}\n\n"
        f"Try it on an in-memory cluster:\n\n"
        f"    cd {example.name}\n"
        f"    moor cluster --nodes-file nodes.yaml --scheduler --policy policy.py\n\n"
        f"and in another terminal, in the same directory:\n\n"
        f"    export KUBECONFIG=mooring.kubeconfig\n"
        f"    kubectl apply -f workload.yaml\n"
        f"    kubectl get pods -o wide"
    )
