"""``moor explain -o wide``."""

from mooring.testing import make_node, make_pod
from tests.unit.cli.command_line import Run as Explain


def test_every_node_and_every_plugin(explain: Explain) -> None:
    nodes = [make_node(f"n{number}", unschedulable=number == 7) for number in range(30)]
    code, out, _ = explain("shop/web", [*nodes, make_pod("web", namespace="shop")], "-o", "wide")
    assert code == 0
    header = next(line for line in out.splitlines() if line.startswith("node  fits"))
    assert header.split() == [
        "node", "fits", "NodeUnschedulable", "NodeName", "TaintToleration",
        "NodeResourcesFit", "why", "not",
    ]  # fmt: skip
    verdicts = out.partition("Points")[0].splitlines()
    rows = {line.split()[0]: line.split(maxsplit=6)[1:] for line in verdicts if line[:1] == "n"}
    assert rows["n6"] == ["✓"] * 5
    assert rows["n7"] == [
        "✗",
        "✗",
        "✓",
        "✓",
        "✓",
        "NodeUnschedulable: may not use a cordoned node",
    ]
    assert sum(line.startswith("n29 ") for line in out.splitlines()) == 2
