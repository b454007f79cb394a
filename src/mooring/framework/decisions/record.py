"""The record of one decision: what every plugin said about every node, and what came of it.

`recording` makes it by watching a decision; people read it through `moor explain`, programs through
`to_dict`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mooring.framework.decisions.decision import PostFilterResult, Scoring
from mooring.framework.filtering import Filtering, Preemption, Rejection
from mooring.framework.verdict import SKIPPED, SUCCESS, Verdict, Verdicts

#: Stands where a plugin's verdicts would, if it rejected the pod before any node was asked.
PRE_FILTER_REJECTED = "PreFilterRejected"


class PreFiltered(msgspec.Struct, frozen=True):
    """What one plugin said before any node was asked."""

    skipped: bool = False
    verdict: Verdict | None = None
    nodes: tuple[str, ...] | None = None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One decision in full.

    Attributes:
        pod: the pod, as ``namespace/name``.
        profile: the scheduler name whose profile decided.
        priority: the pod's priority.
        nodes: the names of all nodes, by row.
        pre_enqueue: each plugin's decision whether the pod may enter the queue.
        pre_filter: each plugin's result before any node was evaluated.
        filter: each plugin's verdict on each node, or why it was not called.
        filtering: the feasible nodes and the first rejection of the others; None if no node was
        evaluated.
        feasible_without_nominated: the rows that would be feasible if nominated pods did not count.
        scoring: the scores of the feasible nodes; None if there are none.
        best: the rows with the highest total.
        nominated_shortcut: the pod's own nominated node, if it is feasible.
        post_filter: if no node was feasible, what each plugin found to make room.
        post_filter_result: the result of that.
        pending: why the pod is pending if nothing gates it, in kube-scheduler's words.
        error: why the decision was aborted.
        notes: what plugins add, as plain data by key.
    """

    pod: str
    profile: str
    priority: int
    nodes: Sequence[str] = ()
    pre_enqueue: Mapping[str, Verdict] = {}
    pre_filter: Mapping[str, PreFiltered] = {}
    filter: Mapping[str, Verdicts | str | None] = {}
    filtering: Filtering | None = None
    feasible_without_nominated: Sequence[int] = ()
    scoring: Scoring | None = None
    best: Sequence[int] = ()
    nominated_shortcut: str = ""
    post_filter: Mapping[str, Preemption | Verdict] = {}
    post_filter_result: PostFilterResult = PostFilterResult()
    pending: str = ""
    error: str = ""
    notes: Mapping[str, Any] = {}

    @property
    def gated(self) -> bool:
        """Whether a plugin gates the pod before scheduling."""
        return any(not verdict.accepted for verdict in self.pre_enqueue.values())

    @property
    def feasible(self) -> list[str]:
        """The names of the nodes on which the pod fits, sorted."""
        if self.filtering is None or self.error:
            return []
        return self._names(self.filtering.feasible.tolist())

    @property
    def selected(self) -> list[str]:
        """The names of the equally good best nodes, sorted."""
        if self.gated:
            return []
        if self.nominated_shortcut:
            return [self.nominated_shortcut]
        return self._names(self.best)

    @property
    def message(self) -> str:
        """Why the pod is pending, in kube-scheduler's words; empty if it is not."""
        if self.gated:
            return next(v.reason for v in self.pre_enqueue.values() if not v.accepted)
        if self.error:
            return self.error
        return self.pending

    def rejection(self, row: int) -> Rejection | None:
        """The first rejection of a node; None if the pod fits there."""
        return self.filtering.rejection(row) if self.filtering is not None else None

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        out: dict[str, Any] = {
            "pod": self.pod,
            "profile": self.profile,
            "priority": self.priority,
            "gated": self.gated,
            "preEnqueue": {name: _status(one) for name, one in self.pre_enqueue.items()},
            "preFilter": {name: _pre_filtered(one) for name, one in self.pre_filter.items()},
            "filter": {name: self._answers(one) for name, one in self.filter.items()},
            "feasible": self.feasible,
            "best": self._names(self.best),
            "selected": self.selected,
        }
        plain = self._names(self.feasible_without_nominated)
        if self.filtering is not None:
            if plain != out["feasible"] and not self.error:
                out["feasibleWithoutNominated"] = plain
            rejected = {
                name: {"plugin": rejection.plugin, "code": rejection.verdict.code}
                for row, name in enumerate(self.nodes)
                if (rejection := self.filtering.rejection(row)) is not None
            }
            if rejected:
                out["nodeStatus"] = rejected
        if self.scoring is not None:
            out.update(self._scores(self.scoring))
        if self.nominated_shortcut:
            out["nominatedShortcut"] = self.nominated_shortcut
        found = self._searched()
        if found is not None:
            out["postFilter"] = _preemption(found)
        error = self.error or (found.error if found is not None else "")
        if error:
            out["error"] = error
        out.update(self.notes)
        return out

    def _searched(self) -> Preemption | None:
        """The search for victims, also if another plugin's word ended it before."""
        searches = (one for one in self.post_filter.values() if isinstance(one, Preemption))
        return self.post_filter_result.preemption or next(searches, None)

    def _names(self, rows: Sequence[int]) -> list[str]:
        return sorted(self.nodes[row] for row in rows)

    def _answers(self, answers: Verdicts | str | None) -> str | dict[str, Any]:
        if isinstance(answers, str):
            return answers
        if answers is None:
            accepted = {"code": SUCCESS}
            return dict.fromkeys(self.nodes, accepted)
        statuses = [_status(verdict) for verdict in answers.table]
        return {
            name: statuses[place]
            for name, place in zip(self.nodes, answers.choice.tolist(), strict=True)
        }

    def _scores(self, scoring: Scoring) -> dict[str, Any]:
        assert self.filtering is not None  # noqa: S101 - scores are of its nodes
        names = [self.nodes[row] for row in self.filtering.feasible.tolist()]
        scores: dict[str, Any] = {}
        for one in scoring.scores:
            entry: dict[str, Any] = {"weight": one.weight, "skipped": one.raw is None}
            if one.raw is not None and one.normalized is not None:
                entry["raw"] = dict(zip(names, one.raw.tolist(), strict=True))
                entry["normalized"] = dict(zip(names, one.normalized.tolist(), strict=True))
            scores[one.name] = entry
        total = dict(zip(names, scoring.total.tolist(), strict=True))
        return {"score": scores, "total": total}


def _status(verdict: Verdict) -> dict[str, Any]:
    reasons = sorted(verdict.reasons)
    return {"code": verdict.code, "reasons": reasons} if reasons else {"code": verdict.code}


def _pre_filtered(one: PreFiltered) -> dict[str, Any]:
    if one.skipped:
        return {"code": SKIPPED, "nodes": None}
    status = _status(one.verdict) if one.verdict is not None else {"code": SUCCESS}
    return {**status, "nodes": sorted(one.nodes) if one.nodes is not None else None}


def _preemption(found: Preemption) -> dict[str, Any]:
    best = sorted(found.best)
    nominated = best[0] if len(best) == 1 else None
    out = {
        **_status(found.verdict),
        "eligible": found.eligible,
        "potentialNodes": sorted(found.potential),
        "candidates": {
            name: {
                "victims": [pod.key for pod in one.victims],
                "pdbViolations": one.pdb_violations,
            }
            for name, one in sorted(found.candidates.items())
        },
        "bestNodes": best,
        "nominatedNode": nominated,
        "victims": (
            [pod.key for pod in found.candidates[nominated].victims] if nominated else None
        ),
        "nondeterministic": len(best) > 1,
    }
    if found.rejected:
        out["dryRunStatus"] = {name: _status(one) for name, one in sorted(found.rejected.items())}
    return out
