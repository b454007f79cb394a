"""What plugins say in names and numbers about their rejections, for groups of nodes.

Asked once for an explanation, while the cluster is as it was for the decision. A plugin that fails
is asked no more and named in `failed`; its reasons are told without details. Nothing is decided
here.
"""

from collections.abc import Sequence

import numpy as np

from mooring.errors import PluginError
from mooring.explaining.alike_nodes import AlikeNodes, alike_nodes
from mooring.framework.arrays import Rows
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.record import Record
from mooring.framework.details.detail_calls import ask_details
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.filtering import Rejection
from mooring.framework.hook import Details
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdict
from mooring.model.pod import Pod


class RejectionDetails:
    """Asks the plugins of one decision for details.

    Args:
        runtime: the plugins.
        pod: the pod, on no node.
        record: the decision.

    Attributes:
        failed: plugins that could not say more.
    """

    def __init__(self, runtime: Runtime, pod: Pod, record: Record) -> None:
        self._pod = pod
        self._record = record
        self._plugins = {
            one.name: one.plugin
            for at_point in runtime.points.values()
            for one in at_point
            if isinstance(one.plugin, Details)
        }
        self._runtime = runtime
        self._cycle: Cycle | None = None
        self.failed: list[PluginError] = []

    def groups(self) -> list[AlikeNodes]:
        """All nodes, by what the plugins say about them in detail; those that fewest reject first.

        Verdicts that differ only in what preemption could do are the same if there are details.
        """
        found: list[AlikeNodes] = []
        for group in self._merged(alike_nodes(self._record)):
            if group.nominated or not group.rejections:
                found.append(group)
            else:
                found += self._split(group)
        found.sort(key=lambda one: (len(one.rejections), -len(one.rows), int(one.rows[0])))
        return found

    def of_usable(self, rejection: Rejection, rows: Rows) -> list[str]:
        """What a plugin says of all nodes that it alone rejects, for each of them."""
        return self._ask(rejection.plugin, rejection.verdict, rows, usable=True)

    def of_pod(self, plugin: str, verdict: Verdict) -> str:
        """What a plugin says that rejects the pod as such; empty if nothing."""
        rows = np.arange(len(self._record.nodes))
        return next(iter(self._ask(plugin, verdict, rows)), "")

    def _merged(self, groups: Sequence[AlikeNodes]) -> list[AlikeNodes]:
        merged: dict[object, AlikeNodes] = {}
        for group in groups:
            key = (group.nominated, tuple(self._key(one) for one in group.rejections))
            known = merged.get(key)
            merged[key] = group if known is None else _both(known, group)
        return list(merged.values())

    def _key(self, rejection: Rejection) -> object:
        if rejection.plugin in self._plugins:
            return rejection.plugin, rejection.verdict.reasons
        return rejection

    def _split(self, group: AlikeNodes) -> list[AlikeNodes]:
        """The nodes of a group by their details."""
        texts = [self._ask(one.plugin, one.verdict, group.rows) for one in group.rejections]
        parts: dict[tuple[str, ...], list[int]] = {}
        for row, details in zip(group.rows.tolist(), zip(*texts, strict=True), strict=True):
            parts.setdefault(details, []).append(row)
        if len(parts) == 1:
            return [group._replace(details=next(iter(parts)))]
        # The texts may be about all nodes that were asked about, so ask about each part.
        found = []
        for rows in parts.values():
            part = np.array(rows)
            details = tuple(self._ask(one.plugin, one.verdict, part)[0] for one in group.rejections)
            found.append(group._replace(rows=part, details=details))
        return found

    def _ask(self, name: str, verdict: Verdict, rows: Rows, *, usable: bool = False) -> list[str]:
        plugin = self._plugins.get(name)
        if not isinstance(plugin, Details) or verdict.error or not len(rows):
            return [""] * len(rows)
        try:
            if self._cycle is None:
                self._cycle = self._runtime.filter_walk.prepared(self._pod)
            nodes = self._cycle.nodes.subset(rows)
            return ask_details(name, plugin, RejectedNodes(self._pod, nodes, verdict, usable))
        except PluginError as error:
            self.failed.append(error)
            del self._plugins[name]
            return [""] * len(rows)


def _both(one: AlikeNodes, other: AlikeNodes) -> AlikeNodes:
    """Two groups as one; of each rejection the one that preemption might resolve."""
    rejections = tuple(
        mine if not mine.verdict.unresolvable else theirs
        for mine, theirs in zip(one.rejections, other.rejections, strict=True)
    )
    return one._replace(rows=np.union1d(one.rows, other.rows), rejections=rejections)
