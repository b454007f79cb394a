"""Whether a plugin that makes room may have those pods preempted.

Called by the runtime, through the border, with what `post_filter` of a plugin returned that is not
mooring's own. Pods are deleted by what comes out here, so nothing is believed: each node and each
victim is looked up in the state, and the state's own pods come out.
"""

import operator
from collections.abc import Mapping
from typing import Final

import numpy as np

from mooring.errors import AnswerError
from mooring.framework import foreign
from mooring.framework.filtering import Candidate, Preemption
from mooring.framework.hook_answers import legal_verdict, shown
from mooring.framework.verdict import Verdict
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

_NEVER: Final = "Never"


def legal_post_filter(answer: object, pod: Pod, cluster: Cluster) -> Preemption | Verdict:
    """What `post_filter` returned.

    Args:
        answer: that.
        pod: the pod for which room is made.
        cluster: the state, with no what-if going on.

    Raises:
        AnswerError: it is none of what it may return, or names a pod that it may not.
    """
    if isinstance(answer, Verdict):
        return legal_verdict(answer)
    if isinstance(answer, Preemption):
        verdict: object = answer.verdict
        candidates: object = answer.candidates
        rejected: object = answer.rejected
        if (
            isinstance(verdict, Verdict)
            and isinstance(candidates, Mapping)
            and isinstance(rejected, Mapping)
        ):
            found = [_candidate(*one, pod, cluster) for one in candidates.items()]
            by_node = {one.node: one for one in found}
            best = _names(answer.best)
            if not by_node.keys() >= set(best):
                raise AnswerError("it returned a Preemption whose best nodes are not candidates")
            return Preemption(
                verdict=legal_verdict(verdict),
                eligible=bool(answer.eligible),
                potential=_names(answer.potential),
                candidates=by_node,
                rejected=dict(_rejection(*one) for one in rejected.items()),
                best=best,
            )
    raise AnswerError(
        f"it returned {shown(answer)}; it must return a Verdict, or a Preemption with its "
        "candidates by node name"
    )


def _candidate(name: object, given: object, pod: Pod, cluster: Cluster) -> Candidate:
    if not isinstance(given, Candidate) or given.node != name:
        raise AnswerError(f"it returned {shown(given)}; candidates must be keyed by node name")
    (node,) = _names((name,))
    row = cluster.columns.row_of.get(node)
    if row is None:
        raise AnswerError(f"it returned node {node}, which is not in the cluster")
    there = {one.key: one for one in cluster.pods_on(row)}
    listed: object = given.victims
    if not isinstance(listed, (tuple, list)):
        raise AnswerError(f"it returned {shown(listed)}; the victims must be a tuple of pods")
    # One that is named twice is a victim once.
    victims = tuple(
        {id(one): one for one in (_victim(v, node, there, pod) for v in listed)}.values()
    )
    return Candidate(node, victims, _violations(given.pdb_violations, len(victims)))


def _victim(given: object, node: str, there: Mapping[str, Pod], pod: Pod) -> Pod:
    """The pod of the state that is meant."""
    if not isinstance(given, Pod):
        raise AnswerError(f"it returned {shown(given)} as a victim; victims are pods")
    key, uid = _names((given.key, given.uid))
    victim = there.get(key)
    if victim is None or victim.uid != uid:
        raise AnswerError(f"it returned pod {key} as a victim on node {node}, where it is not")
    if victim.priority >= pod.priority:
        raise AnswerError(
            f"it returned pod {key} as a victim, whose priority {victim.priority} is not lower "
            f"than the pod's own, {pod.priority}"
        )
    if pod.spec.preemption_policy == _NEVER:
        raise AnswerError(f"it returned pod {key} as a victim; preemptionPolicy is Never")
    return victim


def _violations(given: object, most: int) -> int:
    whole = isinstance(given, (int, np.integer))
    number = operator.index(given) if whole else -1  # type: ignore[arg-type]
    if not 0 <= number <= most:
        raise AnswerError(
            f"it returned {shown(given)} as pdb_violations; that is how many of the victims are "
            "protected by a disruption budget"
        )
    return number


def _rejection(name: object, verdict: object) -> tuple[str, Verdict]:
    (node,) = _names((name,))
    if not isinstance(verdict, Verdict):
        raise AnswerError(f"it returned {shown(verdict)} as a rejection; rejections are Verdicts")
    return node, legal_verdict(verdict)


def _names(given: object) -> tuple[str, ...]:
    listed = tuple(given) if isinstance(given, (tuple, list, set, frozenset)) else (None,)
    texts = [one for one in listed if isinstance(one, str)]
    if len(texts) < len(listed):
        raise AnswerError(f"it returned {shown(given)}; names must be strings")
    return tuple(map(foreign.plain, texts))
