"""The plan of ``moor rebalance`` as a file: YAML that people read, with a command for each move."""

import json
from shlex import quote
from typing import Any

import yaml

from mooring.simulator.rebalance.plan import Move, RebalancePlan

_HEAD = """\
# A plan by moor rebalance. Carry the moves out in this order, a wave at a time: begin the next one
# when the pods of the last one run again. Each command evicts a pod through the eviction API, which
# respects disruption budgets; its controller creates it again, and the scheduler puts it on the
# node that "to" names, if the cluster is still as it was.
"""


def plan_text(plan: RebalancePlan) -> str:
    """The content of the file."""
    content = {"version": 1, "moves": [_move(one) for one in plan.moves]}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)
    return f"{_HEAD}{text}"


def _move(move: Move) -> dict[str, Any]:
    namespace, _, name = move.pod.partition("/")
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
    }
    body = json.dumps(eviction, separators=(",", ":"))
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
    return {
        "wave": move.wave,
        "pod": move.pod,
        "from": move.source,
        "to": move.target,
        "gain": move.gain,
        "why": move.why,
        "budgets": list(move.budgets),
        "command": f"echo {quote(body)} | kubectl create --raw {quote(path)} -f -",
    }
