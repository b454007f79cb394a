"""Asking a policy: one question about one pod, answered by its rules.

Shells call these functions; `around` lets them time each rule without the framework reading a
clock. A function that raises or returns something illegal surfaces as `PolicyError`.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from mooring.framework.arrays import Floats
from mooring.framework.rules import FilterRule, PreemptRule, Rule, ScoreRule
from mooring.framework.verdict import Verdict
from mooring.model.node import Node
from mooring.model.pod import Pod

Around = Callable[[Rule], AbstractContextManager[None]]

#: What each rule said: for filters, the rejected positions and why.
Rejections = list[tuple[FilterRule, list[tuple[int, Verdict]]]]


def _plain(rule: Rule) -> AbstractContextManager[None]:  # noqa: ARG001
    return nullcontext()


def reject_nodes(
    rules: Iterable[FilterRule], pod: Pod, nodes: Sequence[Node], around: Around = _plain
) -> Rejections:
    """Ask every filter about every node; all reasons are wanted, so none stops the others."""
    answers = []
    for rule in rules:
        with around(rule):
            answers.append((rule, rule.rejections(pod, nodes)))
    return answers


def score_nodes(
    rules: Sequence[ScoreRule], pod: Pod, nodes: Sequence[Node], around: Around = _plain
) -> Floats:
    """The weighted mean of all scores, from 0 to 100 for each node; 0 without score functions."""
    total = np.zeros(len(nodes))
    for rule in rules:
        with around(rule):
            total += rule.weight * rule.scores(pod, nodes)
    return total / (sum(rule.weight for rule in rules) or 1)


def keep_victims(
    rules: Iterable[PreemptRule],
    pod: Pod,
    node: Node,
    victims: Sequence[Pod],
    around: Around = _plain,
) -> Sequence[Pod]:
    """The victims that all preempt functions leave on a node; none if one drops the node."""
    for rule in rules:
        with around(rule):
            victims = rule.remaining(pod, node, victims)
        if not victims:
            break
    return victims
