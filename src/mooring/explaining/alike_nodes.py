"""Nodes about which all plugins say the same, so that thousands of nodes become a few lines.

Read from a record by the search for suggestions and by the command line.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mooring.framework.arrays import Rows
from mooring.framework.decisions.decision import EXTENDER
from mooring.framework.decisions.record import Record
from mooring.framework.filtering import Rejection
from mooring.framework.verdict import Verdicts


class AlikeNodes(NamedTuple):
    """Nodes with the same verdicts.

    Attributes:
        rows: the nodes, ascending.
        rejections: what each plugin says that rejects them; none if the pod fits.
        nominated: the rejection counts pods that are nominated to these nodes.
        details: for each rejection what its plugin says in names and numbers; empty if nothing.
    """

    rows: Rows
    rejections: tuple[Rejection, ...]
    nominated: bool = False
    details: tuple[str, ...] = ()


def alike_nodes(record: Record) -> list[AlikeNodes]:
    """All nodes, by what the plugins say about them; those that fewest reject come first.

    A plugin that rejected the pod before any node was asked is nowhere here.
    """
    asked = [(name, one) for name, one in record.filter.items() if isinstance(one, Verdicts)]
    found: list[AlikeNodes] = []
    for rows in _alike([verdicts for _, verdicts in asked], len(record.nodes)):
        first = int(rows[0])
        rejections = tuple(
            Rejection(name, verdicts[first]) for name, verdicts in asked if verdicts.choice[first]
        )
        if rejections:
            found.append(AlikeNodes(rows, rejections))
        else:
            found.extend(_accepted(record, rows))
    found.sort(key=lambda one: (len(one.rejections), -len(one.rows), int(one.rows[0])))
    return found


def _alike(asked: Sequence[Verdicts], size: int) -> list[Rows]:
    if not asked or not size:
        return [np.arange(size)] if size else []
    table = np.stack([one.choice.astype(np.int64) for one in asked], axis=1)
    _, group = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(group.reshape(-1)))[:-1]
    return np.split(order, ends)


def _accepted(record: Record, rows: Rows) -> list[AlikeNodes]:
    """Nodes that every plugin accepts as they are; some may be nominated for other pods."""
    filtering = record.filtering
    if filtering is None or filtering.whole is not None:
        return [AlikeNodes(rows, ())]
    fits = np.isin(rows, filtering.feasible)
    found = [AlikeNodes(rows[fits], ())] if fits.any() else []
    others: dict[Rejection, list[int]] = {}
    for row in rows[~fits].tolist():
        rejection = filtering.rejection(row)
        if rejection is not None:
            others.setdefault(rejection, []).append(row)
    for rejection, rejected in others.items():
        nominated = rejection.plugin != EXTENDER
        found.append(AlikeNodes(np.array(rejected), (rejection,), nominated=nominated))
    return found
