"""Asking the scores of one profile which of the possible nodes is the best.

Called by the decision cycle with at least one node. Extenders' scores are added there.
"""

from collections.abc import Callable, Sequence

import numpy as np

from mooring.framework import hook
from mooring.framework.arrays import Rows
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import PluginScore, Scoring
from mooring.framework.decisions.observer import SCORE, Observer
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_calls import AskScore

#: A pre-score plugin's name and the way to ask it.
AskPreScore = tuple[str, Callable[[Cycle, Nodes], object]]


class ScoreWalk:
    """One profile's scores.

    Args:
        pre_scores: the plugins that prepare scores.
        scores: the scores with their weights.
    """

    def __init__(
        self, pre_scores: Sequence[AskPreScore], scores: Sequence[tuple[AskScore, int]]
    ) -> None:
        self._pre_scores = pre_scores
        self._scores = scores

    def run(self, cycle: Cycle, rows: Rows, observer: Observer) -> Scoring:
        """Score the possible nodes.

        Raises:
            PluginError: a plugin failed.
        """
        observer.started(SCORE)
        nodes = cycle.nodes
        if len(rows) < len(nodes):
            nodes = nodes.subset(rows)
        scores = self._ask(cycle, nodes, observer, self.prepare(cycle, nodes, observer))
        total = np.zeros(len(rows), np.int64)
        for one in scores:
            if one.normalized is not None:
                total += one.normalized if one.weight == 1 else one.normalized * one.weight
        if not self._scores:
            total += 1  # parity v1.36.4: schedule_one.go prioritizeNodes
        scoring = Scoring(rows, scores, total)
        observer.scored(scoring)
        return scoring

    def _ask(
        self, cycle: Cycle, nodes: Nodes, observer: Observer, skipped: set[str]
    ) -> list[PluginScore]:
        """What each score says of the possible nodes."""
        told = observer.each_plugin
        scores = []
        for asker, weight in self._scores:
            if asker.name in skipped:
                scores.append(PluginScore(asker.name, weight))
                continue
            if told:
                observer.asking(asker.name)
            try:
                raw = asker.raw(cycle, nodes)
                normalized = asker.normalized(cycle, nodes, raw)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, asker.name, "score", cycle.pod)
            if told:
                observer.score_answered(asker.name)
            scores.append(PluginScore(asker.name, weight, raw, normalized))
        return scores

    def prepare(self, cycle: Cycle, nodes: Nodes, observer: Observer) -> set[str]:
        """Ask the pre-score plugins; returns those that have nothing to say to this pod.

        Raises:
            PluginError: a plugin failed.
        """
        told = observer.each_plugin
        skipped = set()
        for name, prepare in self._pre_scores:
            if told:
                observer.asking(name)
            try:
                if prepare(cycle, nodes) is hook.SKIP:
                    skipped.add(name)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "pre_score", cycle.pod)
            if told:
                observer.score_answered(name)
        return skipped
