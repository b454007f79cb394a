"""What a pod's claims get on all nodes at once, put together from what is kept.

Owns `NodeAnswers`. A pod whose extended resources come from devices on some nodes only has several
parts: the claims that have to be allocated are others there.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mooring.framework.arrays import Amounts, Choice, Mask, Rows
from mooring.framework.verdict import ACCEPT, Verdict
from mooring.model.devices.allocation import AllocationResult
from mooring.plugins.devices.extended_requests import ExtendedRequests
from mooring.plugins.devices.shape_answers import ShapeAnswers
from mooring.state.columns import Columns


class NodesPart(NamedTuple):
    """The nodes on which the same claims have to be allocated.

    Attributes:
        mask: (n,) which they are; None for all.
        answers: what the claims get.
        extended: what is asked for by the claim for extended resources, if one is made.
    """

    mask: Mask | None
    answers: ShapeAnswers
    extended: ExtendedRequests | None


class NodeAnswers:
    """Whether a pod's claims have, or can get, devices on each node.

    Args:
        columns: the nodes.
        of_row: (n,) the number of each node's group.

    Attributes:
        choice: (n,) the place of each node's verdict in `table`.
        table: the different verdicts; the first one accepts.
    """

    def __init__(self, columns: Columns, of_row: Rows) -> None:
        self.choice: Choice = np.zeros(len(columns), np.int32)
        self.table: list[Verdict] = [ACCEPT]
        self._columns = columns
        self._of_row = of_row
        self._parts: list[NodesPart] = []

    @property
    def accepted(self) -> Mask:
        """(n,) the nodes that are accepted."""
        mask: Mask = self.choice == 0
        return mask

    def add(self, part: NodesPart) -> None:
        """Take the answers about some nodes, or all."""
        self._parts.append(part)
        answers = part.answers
        if part.mask is None:
            self.choice, self.table = answers.choice.take(self._of_row), list(answers.table)
            return
        places = np.array([self._place(one) for one in answers.table], np.int32)
        choice = places.take(answers.choice).take(self._of_row)
        self.choice = np.where(part.mask, choice, self.choice)

    def reject(self, mask: Mask, verdict: Verdict) -> None:
        """Reject nodes that are accepted so far."""
        rejected = mask & (self.choice == 0)
        if rejected.any():
            self.choice[rejected] = self._place(verdict)

    def rejected_with(self, verdict: Verdict) -> list[str]:
        """The names of the nodes that have a verdict."""
        if verdict not in self.table:
            return []
        nodes = self._columns.nodes
        return [nodes[row].name for row in (self.choice == self._place(verdict)).nonzero()[0]]

    def allocation(
        self, node: str, new_share_id: Callable[[], str]
    ) -> tuple[Sequence[AllocationResult], ExtendedRequests | None] | None:
        """What is allocated on a node that is accepted; None if there is nothing to allocate."""
        row = self._columns.row_of[node]
        for mask, answers, extended in self._parts:
            if mask is None or mask[row]:
                return answers.results(int(self._of_row[row]), node, new_share_id), extended
        return None

    def scores(self, more: int) -> Amounts:
        """(n,) how good the ways are in which requests are met; `more` for claims that have any."""
        scores: Amounts = np.zeros(len(self.choice), np.int64)
        for mask, answers, _ in self._parts:
            found = answers.scores.take(self._of_row) + more
            scores = found if mask is None else np.where(mask, found, scores)
        return scores

    def _place(self, verdict: Verdict) -> int:
        if verdict not in self.table:
            self.table.append(verdict)
        return self.table.index(verdict)
