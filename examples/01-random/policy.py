"""Nodes and scores by chance: the smallest policy that uses both verbs."""

import logging
import os
import random

import mooring as mr

log = logging.getLogger("lucky")
dice = random.Random(os.environ.get("SEED"))  # with SEED set, every run gets the same luck

policy = mr.Policy("lucky", usage=False, description="Nodes and scores by chance.")


@policy.filter
def lucky(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    """Keep each node with probability 1/2."""
    fits = dice.random() < 0.5
    log.info("pod %s is %s to fit on node %s", pod.key, "lucky" if fits else "unlucky", node.name)
    return mr.accept_if(fits, "Well, you're not lucky")


@policy.score(max_score=10)
def fortune(pod: mr.Pod, node: mr.Node) -> float:
    """Give each node a whole number from 0 to 10."""
    score = dice.randint(0, 10)
    log.info("pod %s is lucky to get score %d on node %s", pod.key, score, node.name)
    return score
