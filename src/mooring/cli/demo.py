"""``moor demo``: a policy at work, with nothing else installed.

Starts the real ``moor serve`` and plays kube-scheduler's part over HTTP: fit pods by CPU, call
filter, call prioritize, take the best node.
"""

import inspect
import time
from collections import Counter
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from mooring.cli import demo_policy
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.testing.builders import make_node, make_pod
from mooring.testing.serve import MoorServe

_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: {url}
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 5"""


def run() -> None:
    """Show a policy at work: the real extender, eight nodes, fourteen pods."""
    console = Console(highlight=False)
    source = inspect.getsource(demo_policy).partition("import mooring")[2]
    console.print("\n[bold]1. A policy[/] is a few functions:\n")
    console.print(Syntax(f"import mooring{source}".rstrip(), "python", background_color="default"))
    with MoorServe("mooring.cli.demo_policy:policy", ["--no-node-cache"]) as server:
        console.print(
            f"\n[bold]2. moor serve[/] answers at {server.url}; kube-scheduler needs only this:\n"
        )
        console.print(Panel.fit(_CONFIG.format(url=server.url), border_style="dim"))
        console.print("\n[bold]3. Pods come in[/] (the demo plays kube-scheduler's part):\n")
        play = _Play(server, _nodes())
        for pod in _pods():
            play.place(pod)
            console.print(play.lines[-1], soft_wrap=True)
    console.print("\n[bold]4. Where they went[/]\n")
    console.print(play.table())
    times = sorted(play.milliseconds)
    console.print(
        f"\n{len(times)} calls over HTTP, median {times[len(times) // 2]:.1f} ms.\n\n"
        f"Next: write policy.py, run [bold]moor serve policy.py[/], and put the lines of step 2\n"
        f"into kube-scheduler's configuration. The folder examples has five policies\n"
        f"with tests and manifests.\n",
        soft_wrap=True,
    )


def _nodes() -> list[Node]:
    return [
        make_node(
            f"node-{number}",
            cpu="4",
            labels={"rack": f"r{number % 2}", "disktype": "ssd" if number % 3 == 0 else "hdd"},
            images=["db:16"] if number in (3, 6) else ["web:2"] if number in (1, 2) else [],
        )
        for number in range(1, 9)
    ]


def _pods() -> list[Pod]:
    def pod(name: str, image: str, **extra: Any) -> Pod:
        return make_pod(name, images=[image], requests={"cpu": "1"}, **extra)

    web = [pod(f"web-{number}", "web:2") for number in range(1, 7)]
    databases = [pod(f"db-{n}", "db:16", labels={"disk": "ssd"}) for n in range(1, 6)]
    licensed = [
        pod(f"cad-{n}", "cad:9", annotations={"example.com/licence-rack": "r1"}) for n in (1, 2)
    ]
    lost = pod(
        "lost-1", "cad:9", labels={"disk": "ssd"}, annotations={"example.com/licence-rack": "r7"}
    )
    return [*web, *databases, *licensed, lost]


class _Play:
    """kube-scheduler's part."""

    def __init__(self, server: MoorServe, nodes: list[Node]) -> None:
        self._server = server
        self._nodes = {node.name: node for node in nodes}
        self._free = {node.name: node.allocatable["cpu"] for node in nodes}
        self._placed: dict[str, list[str]] = {node.name: [] for node in nodes}
        self.lines: list[str] = []
        self.milliseconds: list[float] = []

    def place(self, pod: Pod) -> None:
        fitting = [name for name, free in self._free.items() if free >= pod.requests["cpu"]]
        full = len(self._nodes) - len(fitting)
        answer = self._call("/filter", pod, fitting)
        kept = [item["metadata"]["name"] for item in answer["Nodes"]["items"]]
        reasons = Counter(answer["FailedNodes"].values())
        if full:
            reasons["Insufficient cpu"] = full
        if not kept:
            counted = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
            total = len(self._nodes)
            self.lines.append(f"  [red]✗[/] {pod.name:7} 0/{total} nodes are available: {counted}.")
            return
        scores = {one["Host"]: one["Score"] for one in self._call("/prioritize", pod, kept)}
        best = max(kept, key=lambda name: (scores[name], self._free[name]))
        self._free[best] -= pod.requests["cpu"]
        self._placed[best].append(pod.name)
        why = "image is there" if scores[best] else "most free CPU"
        out = f", {len(fitting) - len(kept)} nodes filtered out" if len(kept) < len(fitting) else ""
        self.lines.append(f"  [green]✓[/] {pod.name:7} → {best}  [dim]({why}{out})[/]")

    def table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2))
        for column in ("node", "disk", "rack", "images", "pods", ""):
            table.add_column(column)
        for name, node in self._nodes.items():
            pods = self._placed[name]
            bar = "█" * len(pods) + "░" * (4 - len(pods))
            images = ", ".join(node.images)
            table.add_row(
                name, node.labels["disktype"], node.labels["rack"], images, bar, " ".join(pods)
            )
        return table

    def _call(self, path: str, pod: Pod, names: list[str]) -> Any:
        items = [self._nodes[name].raw for name in names]
        start = time.perf_counter()
        reply = self._server.post(path, {"Pod": pod.raw, "Nodes": {"items": items}})
        self.milliseconds.append(1000 * (time.perf_counter() - start))
        return reply.json()
