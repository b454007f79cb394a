"""``moor simulate``: a scenario in virtual time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from mooring.cli.output_formats import TableOrJson
from mooring.cli.shared_options import HookTimeout, PolicyPlace
from mooring.errors import InputError
from mooring.process.garbage_collection import collect_in_short_pauses, no_collection

if TYPE_CHECKING:
    from mooring.cli.simulate.progress import VirtualTimeBar
    from mooring.simulator.result import SimulationResult
    from mooring.simulator.scenario.scenario_run import ScenarioRun

_INTERRUPTED = 130


def simulate(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.")],
    policy: PolicyPlace = None,
    config: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads it at run time
        typer.Option(
            help="KubeSchedulerConfiguration file; if unset, the scenario's first scheduler."
        ),
    ] = None,
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Seed of everything that is drawn; if unset, the scenario's."),
    ] = None,
    until: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DURATION", help="End at this virtual time, such as 24h."),
    ] = None,
    hook_timeout: HookTimeout = 5.0,
    report: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Also write the result as an HTML file that opens without a network."),
    ] = None,
    output: Annotated[
        TableOrJson, typer.Option("--output", "-o", help="Print a table or JSON.")
    ] = TableOrJson.TABLE,
) -> None:
    """Play a scenario in virtual time with the scheduler that moor run is.

    Pods arrive, run and end, nodes fail and come, and the scheduler decides as it would on a
    cluster; no cluster is needed. The same scenario and seed give the same result, byte for byte.

    Ctrl-C ends it early and prints the result so far. Exit code 0 if no pod is pending at the end,
    1 if pods are, 2 for a mistake in the scenario, 130 if it was interrupted.
    """
    with no_collection():
        from mooring.cli.hook_limit import hook_deadline
        from mooring.cli.simulate.inputs import end_of, load_scenario, scheduler_of, sources_of
        from mooring.cli.simulate.policy_output import policies_beside_result
        from mooring.cli.simulate.progress import progress_of
        from mooring.cli.simulate.view import print_result
        from mooring.seeds import seed_policies, seeded_streams
        from mooring.simulator.result import to_json
        from mooring.simulator.scenario.scenario_run import ScenarioRun

    collect_in_short_pauses()
    if report is not None and not report.parent.is_dir():
        raise InputError(f"{report} cannot be written: there is no folder {report.parent}")
    read = load_scenario(scenario)
    end = end_of(until)
    chosen = read.scenario.seed if seed is None else seed
    seed_policies(chosen)
    setup = scheduler_of(read, scenario, config, policy)
    run = ScenarioRun(read, setup, seeded_streams(chosen), sources_of(scenario))
    with hook_deadline(hook_timeout) as deadline, policies_beside_result():
        run.simulation.shell.call_before_decisions(deadline.begin)
        finished = _run(run, end, progress_of(read.scenario, end))
    result = run.result(scenario.stem, chosen, interrupted=not finished)
    if report is not None:
        _write_report(report, result)
    if output is TableOrJson.JSON:
        typer.echo(to_json(result))
    else:
        print_result(result)
    if not finished:
        raise typer.Exit(_INTERRUPTED)
    raise typer.Exit(1 if result.pending else 0)


def _write_report(place: Path, result: "SimulationResult") -> None:
    from mooring.cli.output_files import written
    from mooring.simulator.report.page import report_page

    with written(str(place)) as out:
        out.write(report_page(result))


def _run(run: "ScenarioRun", until: float | None, progress: "VirtualTimeBar") -> bool:
    """Let time pass, with a bar that shows it; whether it came to its end."""
    from mooring.cli.simulate.interruption import noticing_interruption

    with noticing_interruption() as interrupted, progress:
        return run.run(until, lambda now: progress.show(now) and not interrupted())
