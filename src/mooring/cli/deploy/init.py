"""``moor init``: a policy project to begin with."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from mooring.deploy.manifests.choices import Mode


def init(
    project: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The new folder; also the name of the scheduler and the image. A dot is the "
            "current folder, if it is empty.",
        ),
    ],
    mode: Annotated[
        Mode, typer.Option(help="How the policy takes part; see moor manifests.")
    ] = Mode.SCHEDULER,
) -> None:
    """Create a policy project in a new directory: policy, tests, image, manifests, CI workflow.

    In the folder, make test passes after make setup, make demo shows the policy at work on
    an embedded cluster, and make deploy applies it to a cluster. Existing files are never
    overwritten.
    """
    from mooring.cli.deploy.file_trees import write_files
    from mooring.deploy.scaffold.project import project_files

    folder = Path(project)
    here = folder == Path()
    name = Path.cwd().name if here else folder.name
    files = project_files(name, mode)
    write_files(folder, files)
    typer.echo(
        f"{name if here else folder} has a policy, its tests, an image, manifests and a CI "
        "workflow.\n\n"
        + ("" if here else f"    cd {shlex.quote(project)}\n")
        + "    make setup    makes .venv with a wheel of mooring, once; README.md says how\n"
        "    make test     checks the policy and runs its tests\n"
        "    make demo     shows what it changes, on a cluster in memory\n"
        "    make deploy   applies it to a cluster; README.md says how"
    )
