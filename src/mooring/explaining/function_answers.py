"""What one function of a policy says about one pod, as a value that can be printed.

Made for `policy_trial`, which asks the functions one by one; plugins that only a scheduler runs are
asked in a decision, and their answers are taken from its record.
"""

from typing import Any

import msgspec

from mooring.framework.arrays import Mask
from mooring.framework.decisions.record import PreFiltered, Record
from mooring.framework.hook import plugin_name
from mooring.framework.nodes import Nodes
from mooring.framework.policy import Policy
from mooring.framework.rules import FilterRule, PreemptRule, ScoreRule
from mooring.framework.verdict import Verdict, Verdicts
from mooring.model.pod import Pod


class FunctionAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one function said about one pod.

    Attributes:
        kind: which decorator or hook it is.
        name: the function's name, or the plugin's.
        accepted: the nodes that a filter accepts.
        rejected: the others, by reason.
        scores: the numbers that a score gives, by node.
        max_score: the best number.
        victims: how many victims a preempt function leaves, and how many there were, by node.
        said: what else there is to say, in a few words.
        failed: how it failed, in one sentence with file and line; empty if it did not.
    """

    kind: str
    name: str
    accepted: list[str] = []
    rejected: dict[str, list[str]] = {}
    scores: dict[str, float] = {}
    max_score: float = 100
    victims: dict[str, tuple[int, int]] = {}
    said: str = ""
    failed: str = ""


def filtered(rule: FilterRule, pod: Pod, nodes: Nodes, fits: Mask) -> dict[str, Any]:
    """Ask a filter; takes the nodes that it rejects out of the mask."""
    rejected: dict[str, list[str]] = {}
    names = nodes.names
    rejections = rule.rejections(pod, nodes)
    for row, verdict in rejections:
        rejected.setdefault(_reason(verdict), []).append(names[row])
        fits[row] = False
    no = {row for row, _ in rejections}
    accepted = [name for row, name in enumerate(names) if row not in no]
    return {"accepted": accepted, "rejected": rejected}


def _reason(verdict: Verdict) -> str:
    note = f" ({verdict.note})" if verdict.note else ""
    return f"{', '.join(verdict.reasons)}{note}"


def scored(rule: ScoreRule, pod: Pod, nodes: Nodes) -> dict[str, Any]:
    """Ask a score."""
    if not len(nodes):
        return {"said": "not called: the filters left no node"}
    scores = rule.scores(pod, nodes) * (rule.max_score / 100)
    named = zip(nodes.names, scores.tolist(), strict=True)
    return {"scores": dict(named), "max_score": rule.max_score}


def preempted(rule: PreemptRule, pod: Pod, nodes: Nodes) -> dict[str, Any]:
    """Ask a preempt function about the nodes with pods, all of which are victims."""
    found = {}
    for node in nodes:
        victims = list(node.pods)
        if victims:
            found[node.name] = (len(rule.remaining(pod, node, victims)), len(victims))
    return {"victims": found}


def plugin_answers(policy: Policy, record: Record) -> list[FunctionAnswer]:
    """What the policy's plugins said in a decision that run in a scheduler only."""
    found = []
    for plugin in policy.plugins:
        name = plugin_name(plugin)
        gate = record.pre_enqueue.get(name)
        if gate is not None:
            said = "admits the pod" if gate.accepted else f"gates the pod: {gate.reason}"
            found.append(FunctionAnswer(kind="pre_enqueue", name=name, said=said))
        before = record.pre_filter.get(name)
        if before is not None:
            found.append(FunctionAnswer(kind="pre_filter", name=name, said=_pre_filtered(before)))
        found += _plugin_filter(name, record)
        found += _plugin_score(name, record)
    return found


def _pre_filtered(said: PreFiltered) -> str:
    if said.skipped:
        return "not applicable to this pod"
    if said.verdict is not None and not said.verdict.accepted:
        return f"rejects the pod: {said.verdict.reason}"
    if said.nodes is not None:
        return f"only {', '.join(sorted(said.nodes)) or 'no node'}"
    return "continues with all nodes"


def _plugin_filter(name: str, record: Record) -> list[FunctionAnswer]:
    if name not in record.filter or isinstance(record.filter[name], str):
        return []
    verdicts = record.filter[name]
    accepted, rejected = [], dict[str, list[str]]()
    for row, node in enumerate(record.nodes):
        verdict = verdicts[row] if isinstance(verdicts, Verdicts) else None
        if verdict is None or verdict.accepted:
            accepted.append(node)
        else:
            rejected.setdefault(_reason(verdict), []).append(node)
    return [FunctionAnswer(kind="filter", name=name, accepted=accepted, rejected=rejected)]


def _plugin_score(name: str, record: Record) -> list[FunctionAnswer]:
    scoring = record.scoring
    for one in scoring.scores if scoring is not None else ():
        if one.name == name and one.normalized is not None and scoring is not None:
            nodes = [record.nodes[row] for row in scoring.rows.tolist()]
            scores = dict(zip(nodes, map(float, one.normalized.tolist()), strict=True))
            return [FunctionAnswer(kind="score", name=name, scores=scores)]
    return []
