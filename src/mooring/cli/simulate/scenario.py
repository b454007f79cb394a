"""``moor scenario check``: whether a scenario can be played."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ScenarioAction(StrEnum):
    """What can be done with a scenario without playing it."""

    CHECK = "check"


def scenario(
    action: Annotated[ScenarioAction, typer.Argument(help="check: look for mistakes.")],
    file: Annotated[Path, typer.Argument(help="The scenario, a YAML file.")],
) -> None:
    """Check a scenario file: its fields, the files that it names, and its Kubernetes objects.

    A mistake is one sentence with file, line and column, and what is expected there; exit code 2.
    """
    from mooring.cli.simulate.inputs import load_scenario, scheduler_of, sources_of
    from mooring.seeds import seeded_streams
    from mooring.simulator.scenario.scenario_run import ScenarioRun
    from mooring.wording import counted

    del action  # there is one
    read = load_scenario(file)
    setup = scheduler_of(read, file, None, None)
    ScenarioRun(read, setup, seeded_streams(read.scenario.seed), sources_of(file))
    found = read.scenario
    groups = counted(len(found.cluster.node_groups), "node group")
    workloads = counted(len(found.workloads), "workload")
    typer.echo(
        f"{file} is a scenario with {groups}, {workloads} and {counted(len(found.events), 'event')}"
    )
