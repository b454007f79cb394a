"""How ``moor demo`` looks: the live picture, a line for each step, the nodes with their pods.

Draws what `Progress` says; decides nothing and waits for nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mooring.cli.demo.progress import DemoNode, Progress
from mooring.cli.demo.workload import DemoStep

_FREE: Final = "·"
_FULL, _EMPTY = "█", "░"
#: How wide a bar of the moving picture is at most and at least, and what is beside it.
_BAR, _NARROWEST, _BESIDE = 40, 8, 8
_WIDEST: Final = 60
_DRAWN: Final = 24
#: Where the words of a step begin, behind its mark and its name.
_WORDS: Final = 12
#: Lines of the live picture beside the bars: the title, the steps, and what is between.
_OTHER_LINES: Final = 6
_LEAST_LINES: Final = 4


class StepResult(NamedTuple):
    """What became of a step: all went well, and a few words."""

    well: bool
    text: str


class LiveView:
    """The picture while things happen.

    Args:
        progress: what happens.
        steps: all of them, in order.
        console: where it is shown.
        clock: seconds that only grow.

    Attributes:
        done: what became of the steps that are over.
        current: the step that is running.
    """

    def __init__(
        self,
        progress: Progress,
        steps: Sequence[DemoStep],
        console: Console,
        clock: Callable[[], float],
    ) -> None:
        self._progress = progress
        self._steps = steps
        self._console = console
        self._clock = clock
        self._last: list[tuple[float, int]] = []
        self.done: dict[str, StepResult] = {}
        self.current = ""

    def __rich__(self) -> RenderableType:
        lines = max(self._console.size.height - len(self._steps) - _OTHER_LINES - 1, _LEAST_LINES)
        return Group(self._title(), Text(), *self._step_lines(), Text(), self._bars(lines))

    def _title(self) -> Text:
        counts = self._progress.all
        placed, running, pending = counts.placed, counts.running, counts.pods - counts.placed
        return Text.assemble(
            (f"{len(self._progress.nodes)} nodes", "bold"),
            "   ",
            (f"{running} running", "green"),
            f" · {placed - running} starting · ",
            (f"{pending} pending", "yellow" if pending else ""),
            "   ",
            (f"{self._rate(placed):.0f} pods/s", "bold"),
        )

    def _rate(self, placed: int) -> float:
        """How many pods a second were placed in the last second."""
        now = self._clock()
        self._last = [*(one for one in self._last if one[0] > now - 1.0), (now, placed)]
        since, before = self._last[0]
        return max(placed - before, 0) / (now - since) if now - since > 0.1 else 0.0

    def _step_lines(self) -> list[Text]:
        made = []
        for step in self._steps:
            if step.app in self.done:
                made.append(step_line(step, self.done[step.app]))
            elif step.app == self.current:
                placed = self._progress.counts(step.app).placed
                count = f": {placed} of {step.pods}" if step.pods > 1 else ""
                made.append(Text.assemble(("▸ ", step.colour), f"{step.app:9} {step.about}{count}"))
            else:
                made.append(Text(f"  {step.app}", style="dim"))
        return [_one_line(one) for one in made]

    def _bars(self, lines: int) -> Table:
        """All nodes, in as many columns as it takes."""
        nodes = list(self._progress.nodes.values())
        names = max(len(one.name) for one in nodes)
        width, beside = self._console.size.width, names + _BESIDE
        most = max(width // (beside + _NARROWEST), 1)
        columns = min(-(-len(nodes) // lines), most)
        room = max(min(width // columns - beside, _BAR), _NARROWEST)
        rows = min(-(-len(nodes) // columns), lines)
        made = Table.grid(padding=(0, 2, 0, 0))
        for _ in range(columns):
            made.add_column(no_wrap=True)
        for row in range(rows):
            places = [column * rows + row for column in range(columns)]
            made.add_row(
                *(self._bar(nodes[one], names, room) for one in places if one < len(nodes))
            )
        left = len(nodes) - rows * columns
        if left > 0:
            made.add_row(Text(f"and {left} more", style="dim"))
        return made

    def _bar(self, node: DemoNode, names: int, room: int) -> Text:
        bar = Text()
        for step, width in _widths(node, self._steps, room):
            bar.append(_FULL * width, style=step.colour)
        bar.append(_EMPTY * (room - len(bar)), style="dim")
        return Text.assemble(f"{node.name:{names}} ", bar, f" {node.share:4.0%}")


def _one_line(text: Text) -> Text:
    text.no_wrap = True
    text.overflow = "ellipsis"
    return text


def step_line(step: DemoStep, result: StepResult) -> Text:
    """What became of a step, in one line."""
    mark, style = ("✓", "green") if result.well else ("✗", "red")
    return Text.assemble(
        (mark, style),
        " ",
        (f"{step.app:9}", f"bold {step.colour}"),
        f" {step.about} → {result.text}",
    )


def step_lines(step: DemoStep, result: StepResult) -> Table:
    """What became of a step, broken where the words begin if it is long."""
    line = step_line(step, result)
    made = Table.grid()
    made.add_row(line[:_WORDS], line[_WORDS:])
    return made


def picture(progress: Progress, steps: Sequence[DemoStep], width: int) -> RenderableType:
    """The nodes with their pods: a letter for the workload, as wide as the CPU it asks for."""
    nodes = list(progress.nodes.values())
    shown = nodes[:_DRAWN]
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    names = 0
    for title, texts in (
        ("node", [one.name for one in shown]),
        ("zone", [one.zone for one in shown]),
    ):
        made.add_column(title, no_wrap=True)
        names += max(map(len, [title, *texts]))
    made.add_column("CPU by workload", no_wrap=True)
    made.add_column("asked", justify="right", no_wrap=True)
    made.add_column("pods", justify="right", no_wrap=True)
    room = max(min(width - names - 20, _WIDEST), _NARROWEST)
    for node in shown:
        made.add_row(
            node.name, node.zone, _letters(node, steps, room), f"{node.share:.0%}", str(node.pods)
        )
    parts: list[RenderableType] = [made]
    if len(nodes) > _DRAWN:
        parts.append(Text(f"and {len(nodes) - _DRAWN} more nodes", style="dim"))
    used = {one.app for one in progress.pods.values() if one.node}
    legend = Text("")
    for step in steps:
        if step.app in used:
            legend.append(f"{step.letter} ", style=f"bold {step.colour}")
            legend.append(f"{step.app}   ")
    legend.append(f"{_FREE} free", style="dim")
    parts.append(legend)
    return Group(*parts)


def _letters(node: DemoNode, steps: Sequence[DemoStep], room: int) -> Text:
    made = Text()
    for step, width in _widths(node, steps, room):
        made.append(step.letter * width, style=step.colour)
    made.append(_FREE * (room - len(made)), style="dim")
    return made


def _widths(node: DemoNode, steps: Sequence[DemoStep], room: int) -> Iterator[tuple[DemoStep, int]]:
    """How wide each workload is drawn on a node; whatever is there is seen."""
    reached, drawn = 0, 0
    for step in steps:
        asked = node.apps[step.app]
        if asked and drawn < room:
            reached += asked
            end = min(max(round(reached / node.cpu_milli * room), drawn + 1), room)
            yield step, end - drawn
            drawn = end


def zones(progress: Progress, app: str) -> str:
    """How many pods of a workload each zone has."""
    counts: Counter[str] = Counter()
    for pod in progress.of(app):
        if pod.node in progress.nodes:
            counts[progress.nodes[pod.node].zone] += 1
    return " + ".join(str(counts[name]) for name in sorted(counts))
