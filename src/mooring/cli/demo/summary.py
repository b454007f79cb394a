"""What ``moor demo`` prints at its end: a picture, two explanations, what to do next."""

from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from mooring.cli.demo.runner import DemoResult
from mooring.cli.demo.view import picture
from mooring.cli.demo.workload import NAMESPACE
from mooring.errors import InputError, PluginError, PolicyError
from mooring.wording import counted

if TYPE_CHECKING:
    from mooring.framework.policy import Policy

_NEXT: Final = (
    ("moor demo --example fair-gpus", "what a policy changes; see moor examples"),
    ("moor cluster --scheduler", "a cluster like this for kubectl"),
    ("moor demo --policy policy.py", "this demo with your policy"),
    ("moor run policy.py", "a scheduler for your cluster"),
    ("moor serve policy.py", "an extender for kube-scheduler"),
    ("moor explain NAMESPACE/POD", "why a pod is on its node, or why it is pending"),
)


def print_summary(
    result: DemoResult, policy: "Policy | None", hook_timeout: float, console: Console
) -> None:
    """Print everything.

    Raises:
        InputError: a decision failed, on the cluster or when it was to be explained.
    """
    progress = result.progress
    failures = list(progress.failures.values())
    _heading(console, "Where the pods went")
    console.print(picture(progress, result.steps, console.width))
    if any(pod.name == "llm" and pod.node for pod in progress.of("llm")):
        _heading(console, "Why llm is there (moor explain)")
        failures += _explain(result.placement, result.placed, policy, hook_timeout, console)
    if any(not pod.node for pod in progress.of("giant")):
        _heading(console, "Why giant is pending (moor explain)")
        giant = f"{NAMESPACE}/giant"
        failures += _explain(result.end, giant, policy, hook_timeout, console)
    if result.burst:
        _heading(console, "How fast")
        rate = result.burst / result.burst_seconds if result.burst_seconds else 0.0
        console.print(
            f"{result.burst} pods were created, placed and bound in {result.burst_seconds:.2f}s:"
            f" {rate:.0f} pods/s, with the API server, controllers and scheduler in this one "
            "process.",
            soft_wrap=not console.is_terminal,
        )
    _heading(console, "Next")
    width = max(len(command) for command, _ in _NEXT)
    for command, what in _NEXT:
        console.print(Text.assemble("  ", (f"{command:{width}}", "bold"), f"   {what}"))
    if failures:
        pods = f" for {counted(number, 'pod')}" if (number := len(progress.failures)) else ""
        advice = "; fix the policy" if policy is not None else ""
        raise InputError(f"scheduling failed{pods}, first: {failures[0]}{advice}")


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold underline"))
    console.print()


def _explain(
    objects: list[dict[str, Any]],
    pod: str,
    policy: "Policy | None",
    hook_timeout: float,
    console: Console,
) -> list[str]:
    """Print an explanation; what failed in the policy, if it did."""
    from mooring.cli.explain.view import ExplanationView
    from mooring.cli.hook_limit import hook_limit
    from mooring.explaining.explainer import Explainer
    from mooring.snapshot.object_reader import ObjectReader
    from mooring.snapshot.snapshot import Snapshot

    snapshot = Snapshot(strict=False)
    ObjectReader(snapshot).read(objects)
    try:
        with hook_limit(hook_timeout) as deadline:
            found = Explainer(snapshot, policy=policy, before=deadline.begin).explain(pod)
    except (PluginError, PolicyError) as error:
        console.print(
            f"The explanation calls the policy for every node, including nodes that other plugins "
            f"reject, and the policy fails: {error}.",
            soft_wrap=not console.is_terminal,
        )
        return [str(error)]
    ExplanationView(found).print_all()
    return []
