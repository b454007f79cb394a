"""What ``moor check`` prints for people: the made-up cluster, and what each function said of it."""

from collections.abc import Iterable, Iterator
from typing import Final

from rich.table import Table
from rich.text import Text

from mooring.cli.terminal_output import TerminalPrinter, no_mark, table, yes_mark
from mooring.explaining.function_answers import FunctionAnswer
from mooring.explaining.policy_trial import PodTrial
from mooring.explaining.sample_cluster import ZONE, special_labels
from mooring.framework import hook
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.policy_signature import why_called
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.quantity_texts import show
from mooring.model.resources import CPU, MEMORY
from mooring.state.cluster import Cluster
from mooring.wording import counted

#: Hooks that act: they are run when a pod is really placed.
_ACTING: Final[dict[str, type[hook.Hook]]] = {
    "reserve": hook.Reserve,
    "permit": hook.Permit,
    "pre_bind": hook.PreBind,
    "post_bind": hook.PostBind,
}
#: Longer names of functions are broken.
_WIDEST: Final = 32


class CheckView:
    """Prints the result of a check.

    Args:
        policy: the policy.
        place: how the user named it.
        cluster: the made-up cluster.
        pods: what the policy said about each pod.
        profile: the profile that decides, as part of a sentence; empty for the default one.
    """

    def __init__(
        self,
        policy: Policy,
        place: str,
        cluster: Cluster,
        pods: list[PodTrial],
        profile: str = "",
    ) -> None:
        self._policy = policy
        self._place = place
        self._cluster = cluster
        self._pods = pods
        self._profile = profile
        self._out = TerminalPrinter()

    def print_all(self) -> None:
        """Print everything."""
        self._out.print(self._title())
        kept = list(_kept(self._policy))
        if kept:
            self._out.heading("Results between decisions:")
            self._out.print(_lines(kept))
        self._out.heading(f"Results on a synthetic cluster{self._profile}:")
        self._out.print(self._nodes())
        for one in self._pods:
            self._out.print()
            self._out.print(_pod(one.pod))
            self._out.print(_lines(self._answers(one)))
        self._out.print()
        if self._broken:
            return
        self._out.print(Text("To try it on your own pods and nodes:", style="dim"))
        self._out.print(Text(f"  moor explain POD --policy {self._place}", style="dim"))

    @property
    def _broken(self) -> bool:
        return bool(self._failed) or any(one.failed for one in self._pods)

    @property
    def _failed(self) -> set[tuple[str, str]]:
        """The functions that failed."""
        return {(a.kind, a.name) for one in self._pods for a in one.answers if a.failed}

    def _title(self) -> Text:
        failed, broken = self._failed, self._broken
        said = "no problems found"
        if broken:
            said = f"{len(failed)} failed" if failed else "scheduling failed"
        mark = no_mark() if broken else yes_mark()
        name = (f"policy {self._policy.name}", "bold")
        return Text.assemble(mark, " ", name, f": {_size(self._policy)}, {said}")

    def _nodes(self) -> Table:
        nodes = list(self._cluster.nodes.values())
        extras = {node.name: ", ".join(_extras(node)) for node in nodes}
        some = any(extras.values())
        made = table("node", "zone", "cpu free", "memory free", "pods", *(["also"] if some else []))
        for node in nodes:
            cells = (
                node.labels.get(ZONE, ""),
                _free(node, CPU),
                _free(node, MEMORY),
                str(len(node.pods)),
            )
            made.add_row(node.name, *cells, *([extras[node.name]] if some else []))
        return made

    def _answers(self, one: PodTrial) -> Iterable[tuple[str, Text]]:
        for answer in one.answers:
            yield f"{answer.kind} {answer.name}", _said(answer, len(self._cluster.nodes))
        for plugin in self._policy.plugins:
            acting = [name for name, kind in _ACTING.items() if isinstance(plugin, kind)]
            if acting:
                name = f"{', '.join(acting)} {hook.plugin_name(plugin)}"
                yield name, Text("not called: runs only in moor run", style="dim")
        if one.selected:
            yield "goes to", _destination(one)
        elif one.pending:
            yield "stays pending", Text(one.pending, style="bold")
        elif one.failures:
            text = one.failed or "a function failed"
            yield "stays pending", Text(text, style="red")


def _kept(policy: Policy) -> Iterator[tuple[str, Text]]:
    """Of which functions a scheduler keeps the results."""
    for (kind, name), why in why_called(policy).items():
        said = f"called every time: {why}" if why else "kept until a node or its pods change"
        yield f"{kind} {name}", Text(said)


def _destination(one: PodTrial) -> Text:
    text = Text(" or ".join(one.selected), style="bold")
    rejected = {name for a in one.answers for names in a.rejected.values() for name in names}
    if rejected & set(one.selected):
        text.append(" (called again, the policy returned something else)", style="dim")
    return text


def _size(policy: Policy) -> str:
    owners = {id(getattr(one.function, "__self__", one)) for one in policy.rules}
    plugins = {id(one) for one in policy.plugins}
    functions = sum(not isinstance(_owner(one.function), hook.Hook) for one in policy.rules)
    added = len(plugins | (owners - {id(one) for one in policy.rules}))
    parts = [counted(functions, "function")] if functions else []
    return " and ".join([*parts, *([counted(added, "plugin")] if added else [])])


def _owner(function: object) -> object:
    return getattr(function, "__self__", None)


def _pod(pod: Pod) -> Text:
    asks = [f"{show(name, amount)} {name}" for name, amount in pod.requests.items() if amount]
    if pod.priority:
        asks.append(f"priority {pod.priority}")
    asks += _marks(pod)
    return Text.assemble((f"pod {pod.name}", "bold"), (f": {', '.join(asks)}", ""))


def _free(node: Node, resource: str) -> str:
    free, all_of_it = node.free[resource], node.allocatable[resource]
    return f"{show(resource, free)} of {show(resource, all_of_it)}"


def _extras(node: Node) -> list[str]:
    extended = [one for one in node.allocatable if "/" in one]
    return [*(f"{_free(node, one)} {one} free" for one in extended), *_marks(node)]


def _marks(thing: KubeObject) -> list[str]:
    marks = {**special_labels(thing.labels), **thing.annotations}
    return [f"{key}={value}" for key, value in marks.items()]


def _lines(rows: Iterable[tuple[str, Text]]) -> Table:
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(max_width=_WIDEST, overflow="fold")
    made.add_column(overflow="fold")
    for name, text in rows:
        made.add_row(f"  {name}", text)
    return made


def _said(answer: FunctionAnswer, nodes: int) -> Text:
    if answer.failed:
        # The whole sentence, with file and line, is on standard error.
        short = answer.failed.partition(f"{answer.kind} {answer.name!r} ")[2]
        return Text(short or answer.failed, style="red")
    if answer.said:
        return Text(answer.said, style="dim")
    if answer.scores:
        return Text(_scores(answer))
    if answer.victims:
        return Text(_victims(answer))
    lines = []
    if answer.accepted:
        whole = len(answer.accepted) == nodes
        lines.append(f"accepts {'all nodes' if whole else ', '.join(answer.accepted)}")
    for reason, rejected in answer.rejected.items():
        whole = len(rejected) == nodes
        lines.append(f"rejects {'all nodes' if whole else ', '.join(rejected)}: {reason}")
    return Text("\n".join(lines))


def _scores(answer: FunctionAnswer) -> str:
    ordered = sorted(answer.scores.items(), key=lambda one: -one[1])
    best = "" if answer.max_score == 100 else f" (of {answer.max_score:g})"
    if len({score for _, score in ordered}) == 1:
        several = "both nodes" if len(ordered) == 2 else f"all {len(ordered)} nodes"
        which = several if len(ordered) > 1 else ordered[0][0]
        return f"{_number(ordered[0][1])} for {which}{best}"
    return ", ".join(f"{name} {_number(score)}" for name, score in ordered) + best


def _number(score: float) -> str:
    return f"{round(score, 1):g}"


def _victims(answer: FunctionAnswer) -> str:
    return "\n".join(
        f"{node}: {left} of {before} victims remain" if left else f"{node}: dropped"
        for node, (left, before) in answer.victims.items()
    )
