"""What a policy's functions said of nodes, kept for pods that they cannot tell apart.

Only for a policy all of whose filters and scores read nothing but their arguments
(`framework.policy_checks`), and for nodes that come by name: an answer about a node is then the
same until the node, or a pod on it, changes in the node cache. Without a node cache, only the name
is known, and that stays. Called by `answers`, on the decision thread.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from mooring.framework.policy import Policy
from mooring.framework.policy_calls import Rejections
from mooring.framework.policy_checks.policy_signature import policy_signature
from mooring.framework.rules import Rule
from mooring.framework.verdict import Verdict
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.state.lru_cache import LruCache

#: For so many kinds of pods, and about so many bytes in all.
_MOST_KINDS: Final = 256
_MOST_BYTES: Final = 48 << 20
#: What an answer takes without the node's name and without reasons.
_ANSWER_BYTES: Final = 200
#: No node has a longer name.
_LONGEST_NAME: Final = 253

#: Whose answers: the kind and the names of functions, and what they read of the pod.
Asked = tuple[str, tuple[str, ...], bytes]


#: What speaks against a node: the numbers of filters, and their verdicts.
RejectedBy = tuple[tuple[int, Verdict], ...]


class KeptRejection:
    """What speaks against some nodes: many have the same.

    Attributes:
        by: the number of each filter that rejects them, and its reason.
        verdict: all of it together.
    """

    __slots__ = ("by", "verdict")

    def __init__(self, by: Sequence[tuple[int, Verdict]]) -> None:
        self.by = tuple((number, verdict.reason) for number, verdict in by)
        self.verdict = reduce(Verdict.and_also, (verdict for _, verdict in by))


class KeptKind:
    """What is said for pods that are alike.

    Attributes:
        answers: by the name of the node; false if it is rejected.
        rejected: what speaks against the rejected ones, by their names.
        nbytes: about how much memory they take.
    """

    __slots__ = ("answers", "nbytes", "rejected")

    def __init__(self, asked: Asked) -> None:
        self.answers: dict[str, Any] = {}
        self.rejected: dict[str, KeptRejection] = {}
        self.nbytes = len(asked[2])

    def add(self, answers: Mapping[str, Any], rejected: Mapping[str, KeptRejection]) -> None:
        """Something is said of more nodes."""
        self.answers |= answers
        self.rejected |= rejected
        self.nbytes += _bytes_of(answers, rejected.values())

    def load(self) -> None:
        """Bring all answers into the processor's cache.

        Looked up one by one in the order of a request, each would be waited for; read in the order
        in which they lie in memory, the next ones are on their way.
        """
        deque(self.answers.items(), 0)

    def forget(self, name: str) -> None:
        """A node has changed."""
        if name in self.answers:
            against = self.rejected.pop(name, None)
            self.nbytes -= _bytes_of(
                {name: self.answers.pop(name)}, () if against is None else (against,)
            )


class KeptAnswers:
    """Answers by the name of the node.

    Args:
        policy: whose answers.
        cluster: the node cache; None if there is none.
    """

    def __init__(self, policy: Policy, cluster: Cluster | None) -> None:
        self._signature = policy_signature(policy)
        self._columns = cluster.columns if cluster is not None else None
        self._rows_version = -1
        self._seen = 0
        self._kept: LruCache[Asked, KeptKind] = LruCache(_MOST_KINDS, _MOST_BYTES)

    def asked(self, rules: Sequence[Rule], pod: Pod) -> Asked | None:
        """What is asked about a pod; None if its answers must not be kept.

        Call it first: what was said of nodes that changed since is forgotten.
        """
        signed = self._signature.of(pod) if self._signature is not None else None
        if signed is None or not rules:
            return None
        self._forget_changed()
        return rules[0].kind, tuple(rule.name for rule in rules), signed

    def of(self, asked: Asked) -> KeptKind:
        """What is known."""
        return self._kept.get(asked) or KeptKind(asked)

    def keep(
        self, asked: Asked, answers: Mapping[str, Any], rejected: Mapping[str, KeptRejection]
    ) -> KeptKind:
        """Keep what is said of more nodes; all that is known now, also what is not kept."""
        kind = self.of(asked)
        if max(map(len, answers), default=0) > _LONGEST_NAME:
            every = KeptKind(asked)
            every.add({**kind.answers, **answers}, {**kind.rejected, **rejected})
            return every
        kind.add(answers, rejected)
        self._kept.put(asked, kind, kind.nbytes)
        return kind

    def _forget_changed(self) -> None:
        """Forget what was said of nodes that have changed since the last look."""
        columns = self._columns
        if columns is None:
            return
        rows = columns.row_log.since(self._seen)
        if rows is None or columns.rows_version != self._rows_version:
            self._kept.clear()
        elif rows:
            changed = [columns.nodes[row].name for row in set(rows)]
            for kind in self._kept.values():
                for name in changed:
                    kind.forget(name)
        self._seen, self._rows_version = columns.row_log.end, columns.rows_version


def _bytes_of(answers: Mapping[str, Any], rejected: Iterable[KeptRejection]) -> int:
    """About how much memory answers take: reasons are as long as a policy's author likes."""
    reasons = sum(len(reason) for one in rejected for _, reason in one.by)
    return _ANSWER_BYTES * len(answers) + sum(map(len, answers)) + reasons


def rejected_by_node(by_rule: Rejections, count: int) -> list[RejectedBy]:
    """What speaks against each of so many nodes."""
    found: list[RejectedBy] = [()] * count
    for number, (_, rejections) in enumerate(by_rule):
        for index, verdict in rejections:
            found[index] += ((number, verdict),)
    return found
