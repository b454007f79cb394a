"""What ``moor explain -o json`` prints: the decision in full and what would help, as plain data."""

from typing import TYPE_CHECKING, Any

from mooring.explaining.answer import answer_sentences
from mooring.explaining.causes import clause_at
from mooring.explaining.decision_text import outcome_sentence

if TYPE_CHECKING:
    from mooring.cli.explain.pod_history import PodHistory
    from mooring.explaining.explainer import Explanation
    from mooring.snapshot.snapshot import Snapshot


def as_dict(
    found: "Explanation",
    snapshot: "Snapshot",
    node: str = "",
    history: "PodHistory | None" = None,
) -> dict[str, Any]:
    """An explanation as plain data: the record and what would help.

    Args:
        found: the explanation.
        snapshot: where it came from.
        node: keep only this node where something is said for each node.
        history: what a live cluster knows of the pod.
    """
    record = found.record
    out = record.to_dict()
    if node:
        _keep_node(out, node)
    out["message"] = outcome_sentence(record)
    why_not = clause_at(record, found.groups, found.bound_to)
    out["answer"] = " ".join(answer_sentences(record, found.causes, found.standing, why_not))
    out["causes"] = [
        {"plugin": one.plugin, "reasons": list(one.reasons), "text": one.text, "nodes": one.nodes}
        for one in found.causes
    ]
    if found.assumed:
        out["schedulerName"] = found.pod.scheduler_name
    if found.bound_to:
        out["boundTo"] = found.bound_to
    if found.say is not None:
        out["policy"] = {
            "name": found.say.policy,
            "weight": found.say.weight,
            "totalWeight": found.say.total,
        }
    if found.standing is not None:
        out["place"] = {"place": found.standing.place, "tied": found.standing.tied}
    if history is not None:
        out["history"] = {
            "age": history.age,
            "failedAttempts": history.attempts,
            "lastEvent": history.event,
        }
    out["suggestions"] = [
        {
            "text": one.combination.text,
            "cost": round(one.combination.cost, 2),
            "node": one.combination.node,
            "nodes": one.nodes,
            **({"caution": one.combination.caution} if one.combination.caution else {}),
        }
        for one in found.suggestions
    ]
    out["skippedObjects"] = [
        {"object": one.thing, "problem": one.problem} for one in snapshot.skipped
    ]
    return out


def _keep_node(out: dict[str, Any], node: str) -> None:
    for plugin, answers in out["filter"].items():
        if isinstance(answers, dict):
            out["filter"][plugin] = {node: answers[node]}
    for score in out.get("score", {}).values():
        for field in ("raw", "normalized"):
            if field in score:
                score[field] = {key: value for key, value in score[field].items() if key == node}
    for field in ("nodeStatus", "total", "allocations", "extendedResourceClaims", "preBind"):
        if field in out:
            out[field] = {key: value for key, value in out[field].items() if key == node}
    if "bindingWait" in out:
        out["bindingWait"] = [name for name in out["bindingWait"] if name == node]
