"""Nodes about which all plugins say the same, so that thousands of nodes become a few lines.

Read from a record by the search for suggestions and by the command line.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mooring.framework.arrays import Rows
from mooring.framework.filtering import Refusal
from mooring.framework.record import Record
from mooring.framework.verdict import Verdicts


class Group(NamedTuple):
    """Nodes with the same verdicts.

    Attributes:
        rows: the nodes, ascending.
        refusals: what each plugin says that refuses them; none if the pod fits.
        promised: the refusal counts pods that were promised these nodes.
    """

    rows: Rows
    refusals: tuple[Refusal, ...]
    promised: bool = False


def groups(record: Record) -> list[Group]:
    """All nodes, by what the plugins say about them; those that fewest refuse come first.

    A plugin that refused the pod before any node was asked is in no group.
    """
    asked = [(name, one) for name, one in record.filter.items() if isinstance(one, Verdicts)]
    found: list[Group] = []
    for rows in _alike([verdicts for _, verdicts in asked], len(record.nodes)):
        first = int(rows[0])
        refusals = tuple(
            Refusal(name, verdicts[first]) for name, verdicts in asked if verdicts.choice[first]
        )
        if refusals:
            found.append(Group(rows, refusals))
        else:
            found.extend(_accepted(record, rows))
    found.sort(key=lambda one: (len(one.refusals), -len(one.rows), int(one.rows[0])))
    return found


def _alike(asked: Sequence[Verdicts], size: int) -> list[Rows]:
    if not asked or not size:
        return [np.arange(size)] if size else []
    table = np.stack([one.choice.astype(np.int64) for one in asked], axis=1)
    _, group = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(group.reshape(-1)))[:-1]
    return np.split(order, ends)


def _accepted(record: Record, rows: Rows) -> list[Group]:
    """Nodes that every plugin accepts as they are; promises to other pods may forbid some."""
    filtering = record.filtering
    if filtering is None or filtering.whole is not None:
        return [Group(rows, ())]
    fits = np.isin(rows, filtering.feasible)
    found = [Group(rows[fits], ())] if fits.any() else []
    others: dict[Refusal, list[int]] = {}
    for row in rows[~fits].tolist():
        refusal = filtering.refusal(row)
        if refusal is not None:
            others.setdefault(refusal, []).append(row)
    for refusal, refused in others.items():
        found.append(Group(np.array(refused), (refusal,), promised=True))
    return found
