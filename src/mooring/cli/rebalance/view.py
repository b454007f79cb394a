"""What ``moor rebalance`` prints for people: the answer first, then the moves."""

from rich.text import Text

from mooring.cli.terminal_output import TerminalPrinter, answer_lines, table, yes_mark
from mooring.simulator.rebalance.plan import RebalancePlan
from mooring.wording import are, counted


def print_plan(plan: RebalancePlan, file: str | None) -> None:
    """Print a plan.

    Args:
        plan: the plan.
        file: where it was written; None if nowhere.
    """
    out = TerminalPrinter()
    number, pods = len(plan.moves), counted(plan.looked_at, "running pod")
    sentences = [f"No move gains enough, of {pods} that can be moved."]
    if number:
        gained = sum(one.gain or 0 for one in plan.moves)
        waves = plan.moves[-1].wave
        together = f" in {counted(waves, 'wave')}" if waves > 1 else ""
        moves = f"{counted(number, 'move')}{together}"
        points = counted(gained, "point")
        sentences = [f"{moves} {_gain(number)} {points}, of {pods} that can be moved."]
    if plan.more:
        sentences.append("There may be more (--max-moves).")
    if plan.protected:
        sentences.append(
            f"{counted(plan.protected, 'more pod')} would gain, but disruption budgets allow no "
            "eviction."
        )
    if plan.unconfirmed:
        left_out = f"{counted(plan.unconfirmed, 'pod')} {are(plan.unconfirmed)} left out"
        sentences.append(
            f"{left_out}: evicted, the scheduler would put them back or preempt others."
        )
    out.print(answer_lines(yes_mark(), sentences))
    if number:
        out.print()
        made = table("wave", "pod", "from", "to", "gain", "why", numbers=[0, 4], lines=True)
        for one in plan.moves:
            gain = "-" if one.gain is None else f"+{one.gain}"
            made.add_row(str(one.wave), one.pod, one.source, one.target, gain, Text(one.why))
        out.print(made)
    if file is not None:
        out.print()
        out.print(f"The plan is in {file}.")


def _gain(number: int) -> str:
    return "gains" if number == 1 else "gain"
