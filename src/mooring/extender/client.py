"""How our scheduler asks the configuration's extenders, with kube-scheduler's rules.

`live` calls it in the middle of a decision. Filters are asked one after the other, each about what
the one before left; scores are asked for at the same time. An extender that is ignorable and fails
is passed over; another one that fails in filter, preempt or bind ends the attempt with
`ExtenderError`. A failure to score is only logged.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import aiohttp

from mooring.config.types import Extender
from mooring.extender.http_extender import ExtenderError, HttpExtender, open_session
from mooring.extender.wire import MAX_SCORE, MetaVictims
from mooring.framework.binding import Binding
from mooring.framework.filtering import Candidate
from mooring.framework.verdict import Verdict, reject
from mooring.model.node import Node
from mooring.model.pod import Pod

__all__ = ["ExtenderClients", "ExtenderError", "FilteredNodes", "open_session"]

log = logging.getLogger("mooring.extender")

_MAX_NODE_SCORE: Final = 100
#: A node that an extender dropped without a word: kube-scheduler counts no reason and does not try
#: to make room there.
_SILENT: Final = reject("", unresolvable=True)


class FilteredNodes(NamedTuple):
    """What the extenders left.

    Attributes:
        kept: the names of the nodes that remain, in the last extender's order.
        rejections: why the others do not remain; the reason is empty if none was given.
    """

    kept: list[str]
    rejections: dict[str, Verdict]


class ExtenderClients:
    """All extenders of one configuration.

    Args:
        extenders: as the configuration has them.
        http: the pool of connections, see `open_session`; whoever made it closes it.

    Raises:
        InputError: the TLS settings of one cannot be used.
    """

    def __init__(self, extenders: Iterable[Extender], http: aiohttp.ClientSession) -> None:
        # parity v1.36.4: scheduler.go buildExtenders: those that may fail come last
        in_order = sorted(extenders, key=lambda one: one.ignorable)
        self._extenders = [HttpExtender(one, http) for one in in_order]
        self._failing: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return len(self._extenders)

    @property
    def has_filters(self) -> bool:
        """Whether an extender filters nodes; then one feasible node is not enough to look for."""
        return any(one.settings.filter_verb for one in self._extenders)

    @property
    def has_scores(self) -> bool:
        """Whether an extender scores nodes."""
        return any(one.settings.prioritize_verb for one in self._extenders)

    @property
    def has_preempts(self) -> bool:
        """Whether an extender has a say in preemption."""
        return any(one.settings.preempt_verb for one in self._extenders)

    def interested(self, pod: Pod) -> bool:
        """Whether some extender takes part in decisions about a pod."""
        return any(one.interested(pod) for one in self._extenders)

    async def filter(self, pod: Pod, nodes: Sequence[Node]) -> FilteredNodes:
        """Ask all interested extenders which nodes remain for a pod.

        Raises:
            ExtenderError: one that is not ignorable failed.
        """
        # parity v1.36.4: schedule_one.go findNodesThatPassExtenders
        by_name = {node.name: node for node in nodes}
        left = list(by_name)
        rejections: dict[str, Verdict] = {}
        for extender in self._extenders:
            if not left:
                break
            if not extender.settings.filter_verb or not extender.interested(pod):
                continue
            try:
                reply = await extender.filter(pod, [by_name[name] for name in left])
            except ExtenderError as error:
                self._pass_over(extender, "filter", error)
                continue
            self._answered(extender, "filter")
            kept = dict.fromkeys(reply.kept)
            rejections = {name: _SILENT for name in left if name not in kept} | rejections
            rejections |= {name: reject(why) for name, why in reply.failed.items()}
            rejections |= {
                name: reject(why, unresolvable=True) for name, why in reply.unresolvable.items()
            }
            left = list(kept)
        remaining = set(left)
        # A reply may speak of nodes that nobody asked about; that is nobody's business here.
        return FilteredNodes(
            left,
            {
                name: verdict
                for name, verdict in rejections.items()
                if name in by_name and name not in remaining
            },
        )

    async def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Ask all interested extenders for scores, at the same time.

        Returns:
            What to add to the nodes' totals, weighted and on the scale of plugins' scores; nodes of
            which nobody spoke are left out.
        """
        # parity v1.36.4: schedule_one.go prioritizeNodes
        asked = [
            one for one in self._extenders if one.settings.prioritize_verb and one.interested(pod)
        ]
        totals: Counter[str] = Counter()
        for scores in await asyncio.gather(*(self._scores(one, pod, nodes) for one in asked)):
            for name, score in scores.items():
                totals[name] += score
        return {node.name: _int64(totals[node.name]) for node in nodes if node.name in totals}

    async def _scores(
        self, extender: HttpExtender, pod: Pod, nodes: Sequence[Node]
    ) -> Mapping[str, int]:
        scale = extender.settings.weight * (_MAX_NODE_SCORE // MAX_SCORE)
        totals: Counter[str] = Counter()
        try:
            found = await extender.prioritize(pod, nodes)
        except ExtenderError as error:
            self._complain(extender, "prioritize", f"{error}; its scores are ignored")
            return totals
        self._answered(extender, "prioritize")
        for one in found:
            totals[one.host] += one.score * scale
        return totals

    async def preempt(
        self,
        pod: Pod,
        candidates: Mapping[str, Candidate],
        nodes: Mapping[str, Node] | None = None,
    ) -> dict[str, Candidate]:
        """Ask all interested extenders where pods may be preempted for a pod, and which.

        Args:
            pod: the pod that needs room.
            candidates: which victims on which node make room, by node.
            nodes: the cluster's nodes, because a reply may name other pods as victims, or other
                nodes; without them only the candidates' own victims are known.

        Returns:
            The candidates that remain, with the victims that remain.

        Raises:
            ExtenderError: one that is not ignorable failed, or left no victims on a node.
        """
        # parity v1.36.4: framework/preemption/preemption.go callExtenders
        left = dict(candidates)
        for extender in self._extenders:
            if not left:
                break
            if not extender.settings.preempt_verb or not extender.interested(pod):
                continue
            try:
                reply = await extender.preempt(pod, left)
                left = self._remaining(extender, reply, left, nodes)
            except ExtenderError as error:
                self._pass_over(extender, "preempt", error)
                continue
            self._answered(extender, "preempt")
        return left

    def _remaining(
        self,
        extender: HttpExtender,
        reply: Mapping[str, MetaVictims],
        before: Mapping[str, Candidate],
        nodes: Mapping[str, Node] | None,
    ) -> dict[str, Candidate]:
        # In the order of the question, so that the choice among equals does not hang on the reply.
        in_order = {name: reply[name] for name in before if name in reply} | dict(reply)
        found = {
            name: Candidate(
                name,
                _named(extender, name, one, _pods_on(name, before, nodes)),
                one.num_pdb_violations,
            )
            for name, one in in_order.items()
        }
        for name, one in list(found.items()):
            if not one.victims:
                if not extender.settings.ignorable:
                    raise extender.error(
                        f"extender {extender.name}: expected at least one victim pod on node "
                        f'"{name}"'
                    )
                del found[name]
        return found

    def binder(self, pod: Pod) -> HttpExtender | None:
        """The extender that binds a pod; None if plugins do."""
        return next(iter(self._binders(pod)), None)

    async def bind(self, pod: Pod, binding: Binding) -> bool:
        """Let the extender bind a pod that is there for it.

        Returns:
            Whether one did; otherwise plugins have to.

        Raises:
            ExtenderError: one that is not ignorable did not.
        """
        # parity v1.36.4: schedule_one.go extendersBinding
        for extender in self._binders(pod):
            try:
                await extender.bind(binding)
            except ExtenderError as error:
                self._pass_over(extender, "bind", error)
                continue
            self._answered(extender, "bind")
            return True
        return False

    def _binders(self, pod: Pod) -> list[HttpExtender]:
        return [one for one in self._extenders if one.settings.bind_verb and one.interested(pod)]

    def _pass_over(self, extender: HttpExtender, verb: str, error: ExtenderError) -> None:
        """Go on without an extender that is ignorable; raise the error of another one."""
        if not extender.settings.ignorable:
            raise error
        self._complain(extender, verb, f"{error}; it is ignorable and is skipped")

    def _complain(self, extender: HttpExtender, verb: str, sentence: str) -> None:
        """Warn of the first failure of a series; a pod comes every few milliseconds."""
        key = (extender.name, verb)
        log.log(logging.DEBUG if key in self._failing else logging.WARNING, "%s", sentence)
        self._failing.add(key)

    def _answered(self, extender: HttpExtender, verb: str) -> None:
        key = (extender.name, verb)
        if key in self._failing:
            self._failing.discard(key)
            log.info("extender %s is answering %s again", extender.name, verb)


def _pods_on(
    node: str, candidates: Mapping[str, Candidate], nodes: Mapping[str, Node] | None
) -> Sequence[Pod] | None:
    """The pods on a node as far as they are known; None if there is no such node."""
    if nodes is not None:
        return nodes[node].pods if node in nodes else None
    return candidates[node].victims if node in candidates else None


def _named(
    extender: HttpExtender, node: str, victims: MetaVictims, pods: Sequence[Pod] | None
) -> tuple[Pod, ...]:
    """The pods that a reply names by their ids."""
    # parity v1.36.4: extender.go convertToVictims
    if pods is None:
        raise extender.error(
            f'extender {extender.name} names a node "{node}" for preemption that is not known'
        )
    by_id = {one.uid: one for one in pods}
    for one in victims.pods or ():
        if one.uid not in by_id:
            raise extender.error(
                f"extender: {extender.name} claims to preempt pod (UID: {one.uid}) on node: "
                f"{node}, but the pod is not found on that node"
            )
    return tuple(by_id[one.uid] for one in victims.pods or ())


def _int64(number: int) -> int:
    """The number as Go would have it, whatever an extender and a weight come to."""
    return (number + 2**63) % 2**64 - 2**63
