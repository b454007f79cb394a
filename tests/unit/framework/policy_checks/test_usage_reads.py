"""Which functions read what only a node cache knows."""

from pathlib import Path

import pytest

import mooring as mr
from mooring.framework.policy_checks.usage_reads import usage_reads
from tests.unit.framework.policy_checks.checked_files import HEAD


def reads(folder: Path, body: str) -> list[str]:
    file = folder / "policy.py"
    file.write_text(HEAD + body)
    return usage_reads(mr.load(file))


def test_each_function_is_named_with_what_it_reads(tmp_path: Path) -> None:
    body = """
@policy.filter
def share(pod, node):
    team = [one for one in (pod, *node.pods) if one.namespace == pod.namespace]
    return len(team) < len(node.pods) or node.free["cpu"] > 0

@policy.score_nodes
def pack(pod, nodes):
    return nodes.used["cpu"] + [len(each.pods) for each in nodes]

@policy.score
def name(pod, node):
    return len(node.name)

class Plugin(hook.Filter, hook.Reserve):
    def filter(self, pod, node):
        return not node.used
    def reserve(self, cycle, node):
        node.pods
    def unreserve(self, cycle, node):
        pass

policy.add(Plugin())
"""
    assert reads(tmp_path, body) == [
        "filter 'share' reads node.pods and node.free",
        "filter 'Plugin' reads node.used",
        "score_nodes 'pack' reads nodes.used and each.pods",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "try:\n        return not node.pods\n    except mr.NotAvailable:\n        return True",
        "return not pod.raw.get('node').pods",
        "return hasattr(node, 'pods') and not node.pods",
        "node = pod\n    return node.free",
    ],
)
def test_what_may_not_fail_is_not_named(tmp_path: Path, body: str) -> None:
    assert reads(tmp_path, f"@policy.filter\ndef one(pod, node):\n    {body}\n") == []


def test_functions_without_source_read_nothing_that_is_known() -> None:
    policy = mr.Policy("p")
    policy.score(name="built-in")(max)  # type: ignore[type-var]
    assert usage_reads(policy) == []


def test_readmes_policy() -> None:
    file = Path(__file__).parents[4] / "examples" / "06-fair-gpus" / "policy.py"
    assert usage_reads(mr.load(file)) == [
        "filter 'share' reads node.pods",
        "score 'pack' reads node.used",
    ]
