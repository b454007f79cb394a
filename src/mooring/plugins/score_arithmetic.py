"""Arithmetic on scores that several plugins share, in whole numbers as kube-scheduler computes.

Called by the plugins' `score_nodes` and `normalize`; knows nothing of pods or nodes.
"""

from typing import Final

import numpy as np

from mooring.framework.arrays import Amounts

#: The best score of a node.
MAX_SCORE: Final = 100


def divide(amounts: Amounts, divisor: Amounts | int) -> Amounts:
    """Whole quotients cut toward zero, as Go divides; the divisor is positive."""
    if amounts.min(initial=0) < 0:
        return np.asarray(np.sign(amounts) * (np.abs(amounts) // divisor), np.int64)
    return amounts // divisor


def normalize_scores(scores: Amounts, *, reverse: bool = False) -> Amounts:
    """Scores stretched so that the highest becomes 100.

    Args:
        scores: numbers from 0.
        reverse: whether the highest is the worst and becomes 0.
    """
    # parity v1.36.4: plugins/helper/normalize_score.go
    top = int(scores.max(initial=0))
    if top == 0:
        return np.full(len(scores), MAX_SCORE, np.int64) if reverse else scores
    stretched = scores * MAX_SCORE // top
    return MAX_SCORE - stretched if reverse else stretched
