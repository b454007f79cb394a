"""What ``moor demo`` tells when its acts are over: a picture, two explanations, what to do next."""

from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from mooring.cli.demo_play import Outcome
from mooring.cli.demo_view import picture
from mooring.cli.demo_workload import NAMESPACE

if TYPE_CHECKING:
    from mooring.framework.policy import Policy

_NEXT: Final = (
    ("moor cluster --scheduler", "such a cluster for kubectl"),
    ("moor demo --policy policy.py", "your policy takes part"),
    ("moor run policy.py", "a scheduler on your cluster"),
    ("moor serve policy.py", "an extender of kube-scheduler"),
    ("moor explain NAMESPACE/POD", "why a pod is where it is, or why it waits"),
)


def tell(outcome: Outcome, policy: "Policy | None", console: Console) -> None:
    """Print everything."""
    progress = outcome.progress
    _heading(console, "Where the pods went")
    console.print(picture(progress, outcome.acts, console.width))
    if any(pod.name == "llm" and pod.node for pod in progress.of("llm")):
        _heading(console, "Why llm is there (moor explain)")
        _explain(outcome.placement, outcome.placed, policy)
    if any(not pod.node for pod in progress.of("giant")):
        _heading(console, "Why giant waits (moor explain)")
        _explain(outcome.end, f"{NAMESPACE}/giant", policy)
    _heading(console, "How fast")
    rate = outcome.burst / outcome.burst_seconds if outcome.burst_seconds else 0.0
    console.print(
        f"{outcome.burst} pods were created, placed and bound in {outcome.burst_seconds:.2f} s: "
        f"{rate:.0f} pods/s, with API server, controllers and scheduler in this one process.",
        soft_wrap=not console.is_terminal,
    )
    _heading(console, "Next")
    width = max(len(command) for command, _ in _NEXT)
    for command, what in _NEXT:
        console.print(Text.assemble("  ", (f"{command:{width}}", "bold"), f"   {what}"))
    console.print(Text("  docs/guide/cluster.md has more, examples has five policies", style="dim"))


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold underline"))
    console.print()


def _explain(objects: list[dict[str, Any]], pod: str, policy: "Policy | None") -> None:
    from mooring.cli.explain_view import View
    from mooring.explaining.explainer import Explainer
    from mooring.explaining.reading import Reader
    from mooring.explaining.snapshot import Snapshot

    snapshot = Snapshot(strict=False)
    Reader(snapshot).all(objects)
    View(Explainer(snapshot, policy=policy).explain(pod)).print_all()
