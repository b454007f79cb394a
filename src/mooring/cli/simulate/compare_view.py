"""A comparison of schedulers as a page of text of at most 80 columns."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from mooring.cli.simulate.view import duration
from mooring.cli.terminal_output import TerminalPrinter, answer_lines, no_mark, table, yes_mark
from mooring.simulator.comparison.comparison import (
    MeasuredScheduler,
    SchedulerComparison,
    SchedulerDifference,
)
from mooring.simulator.comparison.metrics import MetricUnit, metric_named
from mooring.simulator.comparison.moved_pods import PodElsewhere
from mooring.simulator.comparison.statistics import MeanOverSeeds
from mooring.wording import counted

_MOST_MOVED = 5
_LONGEST_NAME, _LONGEST_METRIC = 16, 16
_NOTHING = 5e-7
#: Numbers from here on need no decimals.
_MANY = 100


def print_comparison(comparison: SchedulerComparison, asked: int) -> None:
    """Print a comparison.

    Args:
        comparison: what came of it.
        asked: how many seeds were wanted.
    """
    printer = TerminalPrinter()
    failed = any(one.holds_for for one in comparison.conditions)
    mark = no_mark() if failed or not comparison.seeds else yes_mark()
    printer.print(answer_lines(mark, _answer(comparison, asked)))
    by_name = {one.scheduler: one for one in comparison.schedulers}
    for one in comparison.differences:
        printer.heading(f"{one.scheduler} compared with {one.baseline}")
        before, after = by_name[one.baseline], by_name[one.scheduler]
        alike = [name for name in one.metrics if _same(before.values[name], after.values[name])]
        if len(alike) < len(one.metrics):
            printer.print(_numbers(before, after, one, alike))
        printer.print(f"the same: {', '.join(alike) or 'nothing'}")
        _print_moved(printer, one, comparison.seeds[0])


def _answer(comparison: SchedulerComparison, asked: int) -> list[str]:
    if not comparison.seeds:
        return ["interrupted before all schedulers were done with the first seed"]
    what = f"{counted(len(comparison.schedulers), 'scheduler')}, scenario {comparison.scenario}"
    seeds = comparison.seeds
    over = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    sentences = [f"{what}, {over}"]
    if len(seeds) > 1:
        sentences.append("means with their 95 % intervals")
    if comparison.interrupted:
        sentences.append(f"interrupted: {len(seeds)} of {counted(asked, 'seed')} are complete")
    for one in comparison.conditions:
        if one.holds_for:
            sentences.append(f"{one.condition} holds for {', '.join(one.holds_for)}")
        else:
            sentences.append(f"{one.condition} holds for none")
    return sentences


def _numbers(
    baseline: MeasuredScheduler,
    other: MeasuredScheduler,
    found: SchedulerDifference,
    alike: Sequence[str],
) -> Table:
    names = (_short(baseline.scheduler), _short(other.scheduler))
    rows = table("", *names, "difference", "", numbers=(1, 2, 3))
    rows.columns[0].min_width = _LONGEST_METRIC
    for name, difference in found.metrics.items():
        if name not in alike:
            rows.add_row(
                _broken(name),
                _shown(name, baseline.metrics[name]),
                _shown(name, other.metrics[name]),
                _shown(name, difference, sign=True),
                _judged(name, difference),
            )
    return rows


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _broken(name: str) -> str:
    """A metric's name; the resource of a long one in a line of its own."""
    prefix, _, resource = name.partition(".")
    return f"{prefix}.\n  {resource}" if len(name) > _LONGEST_METRIC else name


def _same(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(a - b) < _NOTHING for a, b in zip(one, other, strict=True))


def _judged(name: str, difference: MeanOverSeeds) -> str:
    """What a difference means, if one can be sure of it."""
    if difference.low is None:
        return ""
    if not difference.differs_from_zero:
        return "unclear"
    metric = metric_named(name)
    better = metric.better if metric is not None else 0
    if not better:
        return "more" if difference.mean > 0 else "less"
    return "better" if (difference.mean > 0) == (better > 0) else "worse"


def _shown(name: str, value: MeanOverSeeds, *, sign: bool = False) -> str:
    text = _number(name, abs(value.mean))
    if value.mean < 0 and text.strip("0.%ms ,"):
        text = f"-{text}"
    elif sign and value.mean > 0:
        text = f"+{text}"
    margin = value.margin
    if margin is not None:
        text = f"{text} ± {_number(name, margin)}"
    return f"{text} %" if _unit(name) is MetricUnit.SHARE else text


def _number(name: str, value: float) -> str:
    unit = _unit(name)
    if unit is MetricUnit.SECONDS:
        return duration(value)
    if unit is MetricUnit.SHARE:
        return f"{value * 100:.1f}"
    if unit is MetricUnit.COST:
        return f"{value:,.2f}"
    whole = value == int(value) or value >= _MANY
    return f"{value:,.0f}" if whole else f"{value:,.1f}"


def _unit(name: str) -> MetricUnit:
    metric = metric_named(name)
    return metric.unit if metric is not None else MetricUnit.COUNT


def _print_moved(printer: TerminalPrinter, found: SchedulerDifference, seed: int) -> None:
    mean, margin = found.moved.mean, found.moved.margin
    if not mean:
        printer.print("every pod lands on the same node")
        return
    number = f"{mean:,.1f}".removesuffix(".0")
    with_margin = number if margin is None else f"{number} ± {margin:,.1f}"
    printer.print()
    printer.print(f"{with_margin} pods land elsewhere, with seed {seed} for example:")
    explained = [one for one in found.moved_pods if one.why or one.baseline_why]
    drawn = [one for one in explained if _drawn(one)]
    shown = [one for one in explained if not _drawn(one)] or drawn
    for one in shown[:_MOST_MOVED]:
        printer.print(Text(one.pod.removeprefix("default/"), style="bold"))
        printer.print(_moved(one, found))
    if drawn and shown is not drawn:
        printer.print(f"{len(drawn)} of the first {len(explained)} only because of drawn ties")


def _drawn(one: PodElsewhere) -> bool:
    return all(text.endswith("the tie was drawn") for text in (one.why, one.baseline_why))


def _moved(one: PodElsewhere, found: SchedulerDifference) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=24)
    grid.add_column(overflow="fold")
    for name, node, why in (
        (found.baseline, one.baseline_node, one.baseline_why),
        (found.scheduler, one.node, one.why),
    ):
        text = f"{node or 'pending'}: {why}" if why else node or "pending"
        grid.add_row(f"  {name}", text.removeprefix(f"{node}: ") if why.startswith(node) else text)
    return grid
