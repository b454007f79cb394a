"""The result of a simulation as a page of text of at most 80 columns."""

from collections import Counter
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from mooring.cli.terminal_output import TerminalPrinter, answer_lines, no_mark, table, yes_mark
from mooring.simulator.result import NodeSpan, SimulationResult
from mooring.wording import counted

_MOST_REASONS = 5
_MOST_EVENTS = 12
_MOST_NODES = 12
_PODS = "pods"
_DAY, _HOUR, _MINUTE = 86_400, 3600, 60
_BLOCKS = " ▁▂▃▄▅▆▇█"
_WIDTH = 66
_COLUMNS = 79


def print_result(result: SimulationResult) -> None:
    """Print what came of a simulation."""
    printer = TerminalPrinter()
    printer.print(answer_lines(*_answer(result)))
    printer.print()
    printer.print(_numbers(result))
    if len(result.spread.pods) > 1:
        printer.print(_zones(result))
    if result.series.times:
        printer.heading("over time")
        printer.print(_curves(result))
    if 1 < len(_nodes_here(result)) <= _MOST_NODES:
        printer.heading("nodes at the end")
        printer.print(_nodes(result))
    if result.costs and result.cost is not None:
        printer.heading("node groups")
        printer.print(_costs(result))
    if result.events:
        printer.heading("events")
        printer.print(_events(result))
    if result.pending_reasons:
        printer.heading("pending")
        printer.print(_reasons(result))


def _answer(result: SimulationResult) -> tuple[Text, list[str]]:
    pods = counted(result.created, "pod")
    if result.pending:
        first = f"{result.pending} of {pods} pending after {duration(result.end)}"
    else:
        first = f"{pods}, none pending after {duration(result.end)}"
    scenario, scheduler = result.scenario, result.configuration
    sentences = [first, f"scenario {scenario}, scheduler {scheduler}, seed {result.seed}"]
    if result.interrupted:
        sentences.append("interrupted: this is what came of it until then")
    return (no_mark() if result.pending else yes_mark()), sentences


def _numbers(result: SimulationResult) -> Table:
    rows = table("", "", "", "", numbers=(1, 3))
    waiting = result.waiting
    left = [
        ("placed", str(result.placed)),
        ("completed", str(result.completed)),
        ("running", str(result.running)),
        ("pending", str(result.pending)),
        ("preempted", str(result.preemptions)),
        ("evicted", str(result.evictions)),
    ]
    right = [
        ("waiting p50", duration(waiting.p50)),
        ("waiting p90", duration(waiting.p90)),
        ("waiting p99", duration(waiting.p99)),
        ("waiting max", duration(waiting.max)),
        ("decisions", str(result.decisions)),
        ("cost", "-" if result.cost is None else f"{result.cost:,.2f}"),
    ]
    for one, other in zip(left, right, strict=True):
        rows.add_row(*one, *other)
    rows.show_header = False
    return rows


def _zones(result: SimulationResult) -> str:
    """Where pods are at the end; many zones as their extremes."""
    pods = result.spread.pods
    zones = ", ".join(f"{number} in {zone or 'no zone'}" for zone, number in pods.items())
    if len(zones) > _WIDTH:
        zones = f"{min(pods.values())} to {max(pods.values())} in each of {len(pods)} zones"
    return f"at the end   {zones}"


def _curves(result: SimulationResult) -> Table:
    series = result.series
    longest = max((len(name) for name, v in series.utilization.items() if any(v)), default=0)
    length = max(_COLUMNS - len(" in use") - 2 - max(longest, 6) - 15, 10)
    rows = table("", "mean", "max", f"0 to {duration(result.end)}", numbers=(1, 2))
    for name, shares in series.utilization.items():
        if not any(shares):
            continue
        mean = result.utilization.get(name, 0.0)
        curve = sparkline(series.times, shares, 1.0, length)
        rows.add_row(f"{name} in use", _percent(mean), _percent(max(shares)), curve)
    fragmentation = series.fragmentation.get("cpu", [])
    if any(fragmentation):
        mean = result.fragmentation.get("cpu", 0.0)
        curve = sparkline(series.times, fragmentation, 1.0, length)
        rows.add_row("cpu unusable", _percent(mean), _percent(max(fragmentation)), curve)
    for name, numbers in (
        ("nodes", series.nodes),
        ("pods", series.running),
        ("pending", series.pending),
    ):
        most = max(numbers)
        if most:
            curve = sparkline(series.times, numbers, float(most), length)
            rows.add_row(name, "", str(most), curve)
    return rows


def sparkline(times: Sequence[float], values: Sequence[float], top: float, length: int) -> str:
    """A curve of so many characters, from 0 to the top."""
    end = times[-1]
    text, place = "", 0
    for step in range(length):
        until = end * (step + 1) / length
        highest = values[place]
        while place + 1 < len(times) and times[place + 1] <= until:
            place += 1
            highest = max(highest, values[place])
        level = min(highest / top, 1.0) if top else 0.0
        text += _BLOCKS[max(round(level * (len(_BLOCKS) - 1)), 1 if level > 0 else 0)]
    return text


def _nodes_here(result: SimulationResult) -> list[NodeSpan]:
    return [one for one in result.nodes if one.removed is None]


def _nodes(result: SimulationResult) -> Table:
    used: dict[str, Counter[str]] = {}
    for pod in result.pods:
        if pod.bound is not None and pod.ended is None:
            requests = result.shapes[pod.shape].requests
            used.setdefault(pod.node, Counter()).update({**requests, _PODS: 1})
    names = [name for name, shares in result.series.utilization.items() if any(shares)][:4]
    columns = range(1, len(names) + 2)
    rows = table("node", _PODS, *(f"{name} in use" for name in names), numbers=columns)
    for one in _nodes_here(result):
        here = used.get(one.name, Counter())
        shares = [here[name] / (one.allocatable.get(name) or 1) for name in names]
        rows.add_row(one.name, str(here[_PODS]), *map(_percent, shares))
    return rows


def _costs(result: SimulationResult) -> Table:
    rows = table("group", "most nodes", "node hours", "cost", numbers=(1, 2, 3))
    for one in result.costs:
        rows.add_row(
            one.group or "-", str(one.most_nodes), f"{one.node_hours:,.1f}", f"{one.cost:,.2f}"
        )
    return rows


def _events(result: SimulationResult) -> Table:
    rows = table("time", "what", "")
    for one in result.events[:_MOST_EVENTS]:
        rows.add_row(duration(one.time), one.kind, one.message)
    more = len(result.events) - _MOST_EVENTS
    if more > 0:
        rows.add_row("", "", f"and {more} more: -o json lists them")
    return rows


def _reasons(result: SimulationResult) -> Table:
    rows = table("pods", "reason", numbers=(0,), lines=True)
    for one in result.pending_reasons[:_MOST_REASONS]:
        rows.add_row(str(one.pods), one.message)
    more = len(result.pending_reasons) - _MOST_REASONS
    if more > 0:
        rows.add_row("", f"and {counted(more, 'other reason')}: -o json lists them")
    return rows


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def duration(seconds: float) -> str:
    """A time for people: ``350ms``, ``12.5s``, ``4m10s``, ``1d2h``."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms" if seconds else "0s"
    if seconds < _MINUTE:
        return f"{seconds:.1f}s".replace(".0s", "s")
    whole = round(seconds)
    parts = (("d", whole // _DAY), ("h", whole % _DAY // _HOUR), ("m", whole % _HOUR // _MINUTE),
             ("s", whole % _MINUTE))  # fmt: skip
    shown = [f"{number}{unit}" for unit, number in parts if number]
    return "".join(shown[:2])
