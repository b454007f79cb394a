"""The log lines that the guides show are those that are written."""

import re
from pathlib import Path

from mooring.testing.real_kubernetes import wait_for
from tests.unit.cli.test_cluster import POD, Start, start

__all__ = ["start"]  # a fixture

GUIDES = Path(__file__).parents[3] / "docs" / "guide"
POLICY = """
import mooring as mr

policy = mr.Policy("night-shift")


@policy.filter
def hours(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if({}, "closed at night")
"""
#: What is not the same each time: when, how long, and which of equal nodes.
_CHANCE = (
    (r"^\S+ \S+ ", "TIME "),
    (r"\d+(\.\d)?m?s\b", "SECONDS"),
    (r"to node node-\d", "to node NODE"),
    (r"score \d+", "score SCORE"),
    (r", tied with \d other nodes?", ""),
)


def alike(line: str) -> str:
    for pattern, text in _CHANCE:
        line = re.sub(pattern, text, line)
    return line


def test_the_lines_of_the_guide_are_written(start: Start, tmp_path: Path) -> None:
    text = (GUIDES / "logging.md").read_text()
    command, *shown = re.findall(r"```console\n\$ moor (.*?)```", text, re.DOTALL)[0].splitlines()
    policy = tmp_path / "policy.py"
    policy.write_text(POLICY.format("node.name == 'none'"))
    (tmp_path / "pods.yaml").write_text(POD.replace("name: p", "name: web"))
    name, *arguments = command.split()
    assert name == "cluster"
    cluster = start(*arguments, "--snapshot", "pods.yaml")
    wait_for(lambda: "is unschedulable" in cluster.everything or None, "the pod to be tried")
    policy.write_text(POLICY.format("True"))
    wait_for(lambda: "bound pod" in cluster.everything or None, "the binding in the log")
    written = [alike(line) for line in cluster.everything.splitlines()]
    for line in shown:
        assert alike(line) in written, line


def test_beside_a_kube_scheduler_another_port_is_taken() -> None:
    """kube-scheduler's own, and those of the other components, are taken on its host."""
    text = (GUIDES / "scheduler.md").read_text().partition("## Beside kube-scheduler")[2]
    (port,) = re.findall(
        r"^    moor run .* --port (\d+)$", text.partition("\n## ")[0], re.MULTILINE
    )
    kubernetes = {*range(10247, 10261)}
    assert int(port) not in kubernetes
