"""``moor compare``: a scenario with several schedulers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Optional

import typer

from mooring.cli.output_formats import TableOrJson, print_json
from mooring.cli.shared_options import HookTimeout
from mooring.process.garbage_collection import collect_in_short_pauses, no_collection

if TYPE_CHECKING:
    from mooring.cli.simulate.scenario_runs import RunRequest
    from mooring.simulator.comparison.comparison import ComparisonBuilder
    from mooring.simulator.comparison.decision_reasons import PlacementQuestion
    from mooring.simulator.result import SimulationResult

_INTERRUPTED: Final = 130
#: Of so many pods that land elsewhere it is found out why.
_EXPLAINED: Final = 20


def compare(
    scenario: Annotated[Path, typer.Argument(help="The scenario, a YAML file.")],
    config: Annotated[
        Optional[list[Path]],  # noqa: UP045 - typer reads it at run time
        typer.Option(
            help="KubeSchedulerConfiguration file; repeatable, the first is the baseline."
        ),
    ] = None,
    policy: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Policy: policy.py or package.module:policy; repeatable."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=1000, help="Play the scenario with so many seeds.")
    ] = 10,
    jobs: Annotated[
        int, typer.Option(min=1, max=64, help="Use so many processes; the result is the same.")
    ] = 1,
    until: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DURATION", help="End at this virtual time, such as 24h."),
    ] = None,
    fail_if: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="CONDITION",
            help="Exit with 1 if this holds for a scheduler, such as 'pending > 0'; repeatable.",
        ),
    ] = None,
    hook_timeout: HookTimeout = 5.0,
    output: Annotated[
        TableOrJson, typer.Option("--output", "-o", help="Print a table or JSON.")
    ] = TableOrJson.TABLE,
) -> None:
    """Play a scenario with several schedulers, and show how their results differ.

    Compares every --config with every --policy; one alone with what is there without it. Without
    both, compares the scenario's schedulers. With a seed, all of them meet the same workload;
    numbers are means over the seeds with their 95 % intervals. Also shows which pods land
    elsewhere, and why.

    A condition of --fail-if is a metric, one of < <= > >= == != and a number, such as
    'waiting.p99 > 5m', 'utilization.cpu < 40%' or 'cost >= 100'; it is about the mean over the
    seeds.

    Ctrl-C ends it early and prints what came of the seeds that are complete. Exit code 0, 1 if a
    condition holds, 2 for wrong input, 130 if it was interrupted.
    """
    with no_collection():
        from mooring.cli.simulate.compare_view import print_comparison
        from mooring.cli.simulate.inputs import end_of, load_scenario
        from mooring.cli.simulate.interruption import noticing_interruption
        from mooring.cli.simulate.scenario_runs import RunRequest, prepare
        from mooring.cli.simulate.scheduler_choices import choose_schedulers
        from mooring.simulator.comparison.comparison import ComparisonBuilder
        from mooring.simulator.comparison.condition import parse_condition

    collect_in_short_pauses()
    conditions = [parse_condition(text) for text in fail_if or ()]
    read = load_scenario(scenario).scenario
    end = end_of(until)
    choices = choose_schedulers(read, scenario, config or (), policy or ())
    chosen = [read.seed + number for number in range(seeds)]
    requests = [
        RunRequest(scenario, one, seed, end, hook_timeout) for seed in chosen for one in choices
    ]
    for request in requests[: len(choices)]:
        prepare(request)  # what is wrong is said before anything is played
    builder = ComparisonBuilder([one.name for one in choices])
    with noticing_interruption() as interrupted:
        complete = _compare(builder, requests, len(choices), jobs, interrupted)
        if complete:
            complete = _explain(builder, requests[: len(choices)], interrupted)
    comparison = builder.build(conditions, interrupted=not complete)
    if output is TableOrJson.JSON:
        print_json(comparison)
    else:
        print_comparison(comparison, seeds)
    if not complete:
        raise typer.Exit(_INTERRUPTED)
    raise typer.Exit(1 if any(one.holds_for for one in comparison.conditions) else 0)


def _compare(
    builder: "ComparisonBuilder",
    requests: Sequence["RunRequest"],
    schedulers: int,
    jobs: int,
    interrupted: Callable[[], bool],
) -> bool:
    """Play everything, seed by seed; whether it came to its end."""
    from mooring.cli.simulate.scenario_runs import play_all

    with _progress(len(requests)) as advance:
        results: list[SimulationResult] = []
        for result in play_all(requests, jobs, interrupted):
            results.append(result)
            advance()
            if len(results) == schedulers:
                builder.add(result.seed, results)
                results = []
    return not interrupted()


def _explain(
    builder: "ComparisonBuilder",
    requests: Sequence["RunRequest"],
    interrupted: Callable[[], bool],
) -> bool:
    """Find out why the first pods land elsewhere with the first seed; whether it came to its end.

    Args:
        builder: has these pods, and takes the reasons.
        requests: the runs with the first seed.
        interrupted: whether Ctrl-C was pressed.
    """
    from mooring.simulator.comparison.decision_reasons import PlacementQuestion

    for place, pairs in enumerate(builder.first_moves):
        if interrupted():
            return False
        first = pairs[:_EXPLAINED]
        if first:
            ours = [PlacementQuestion(one.baseline, one.other.node) for one in first]
            theirs = [PlacementQuestion(one.other, one.baseline.node) for one in first]
            before, after = _reasons(requests[0], ours), _reasons(requests[place], theirs)
            builder.explain(place, before, after)
    return True


def _reasons(request: "RunRequest", questions: Sequence["PlacementQuestion"]) -> dict[str, str]:
    from mooring.cli.simulate.inputs import load_scenario, set_up
    from mooring.cli.simulate.policy_output import policies_beside_result
    from mooring.cli.simulate.scenario_runs import prepare
    from mooring.simulator.comparison.decision_reasons import decision_reasons

    choice = request.scheduler
    setup = set_up(choice.config, choice.policy, choice.name)
    with policies_beside_result():
        read = load_scenario(request.scenario)
        return decision_reasons(read, setup, prepare(request), questions)


@contextmanager
def _progress(runs: int) -> Iterator[Callable[[], None]]:
    """A bar that counts runs, on a terminal only."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from mooring.cli.terminal_output import make_console

    console = make_console(stderr=True)
    columns = (TextColumn("simulations"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=runs)
        yield lambda: bar.advance(task)
