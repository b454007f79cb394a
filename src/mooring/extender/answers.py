"""The extender's answers: request bytes in, reply bytes out, with the policy asked in between.

Knows the protocol's rules, not HTTP. Belongs to one thread, the same that applies changes to the
cluster, so a question sees one state of the cluster from beginning to end. Called by `app`, and by
`mooring.testing` without any server.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import compress
from operator import not_
from typing import Any, Final, TypeVar

import msgspec

from mooring.errors import InputError, PolicyError
from mooring.extender.bodies import BodyReader, NamedNodes, Question, read, read_pod
from mooring.extender.function_observer import FunctionObserver, SilentObserver
from mooring.extender.kept_answers import (
    Asked,
    KeptAnswers,
    KeptKind,
    KeptRejection,
    rejected_by_node,
)
from mooring.extender.wire import (
    MAX_SCORE,
    ExtenderBindingArgs,
    ExtenderFilterResult,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    HostPriority,
    MetaPod,
    MetaVictims,
)
from mooring.framework.binding import Binding
from mooring.framework.plugin_calls import whole as whole_scores
from mooring.framework.policy import Policy
from mooring.framework.policy_calls import Rejections, keep_victims, reject_nodes, score_nodes
from mooring.framework.rules import FilterRule, Rule, ScoreRule
from mooring.framework.verdict import Verdict, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.process.deadline import was_interrupted
from mooring.state.cluster import Cluster
from mooring.state.lru_cache import LruCache

log = logging.getLogger("mooring.extender")
_encode = msgspec.json.Encoder().encode

#: The reason for a node whose name kube-scheduler knows and mooring does not know yet.
UNKNOWN_NODE = "node is not known to the extender yet"
#: So many pods that were filtered, and requests of so many bytes, are remembered until they are to
#: be bound.
_MOST_ASKED: Final = 256
_MOST_ASKED_BYTES: Final = 16 << 20

T = TypeVar("T")
#: What is kept of some nodes, and what speaks against those that are rejected.
Kept = tuple[dict[str, Any], dict[str, KeptRejection]]


class Answers:
    """Answers the verbs of one policy.

    Args:
        policy: the policy to ask.
        cluster: the node cache; None for a stateless server.
        clock: seconds for measuring functions.
        observer: observes what the functions do.
        is_blamed: whether the function that runs was observed as one that failed already.
    """

    def __init__(
        self,
        policy: Policy,
        cluster: Cluster | None = None,
        *,
        clock: Callable[[], float] = lambda: 0.0,
        observer: FunctionObserver | None = None,
        is_blamed: Callable[[], bool] = lambda: False,
    ) -> None:
        self.policy = policy
        self.cluster = cluster
        self.bodies = (
            BodyReader(cluster.usage, cluster.devices) if cluster is not None else BodyReader()
        )
        self._clock = clock
        self._is_blamed = is_blamed
        self._asked: LruCache[str, tuple[Pod, Sequence[FilterRule] | None]] = LruCache(
            _MOST_ASKED, _MOST_ASKED_BYTES
        )
        self._observer = observer if observer is not None else SilentObserver()
        self._kept = KeptAnswers(policy, cluster)

    def filter(self, body: bytes, rules: Sequence[FilterRule] | None = None) -> bytes:
        """Answer a filter request with all filters of the policy, or with the given ones.

        Raises:
            InputError: the request is unreadable or incomplete.
            PolicyError: a function raised or returned something illegal.
        """
        question = self.bodies.read(body)
        self._remember(question.pod, rules, len(body))
        rules = self.policy.filters if rules is None else rules
        asked = self._asked_of(question, rules)
        if asked is not None:
            return _encode(self._filtered_by_name(asked, question, rules))
        nodes, names, unknown = self._nodes(question)
        rejected = self._rejections(question.pod, nodes, rules)
        result = _filter_result(unknown, ((names[at], one) for at, one in rejected.items()))
        accepted = bytearray(b"\1") * len(names)
        for index in rejected:
            accepted[index] = 0
        if question.names is not None:
            result.node_names = list(compress(names, accepted))
        reply = _encode(result)
        if question.spans is None:
            return reply
        kept = list(compress(range(len(names)), accepted))
        head, tail = reply.split(b'"Nodes":null', 1)
        pieces: list[bytes | memoryview] = [head, b'"Nodes":{"metadata":{},"items":[']
        for piece in question.splice(kept):
            pieces += (piece, b",")
        if kept:
            pieces.pop()
        pieces += (b"]}", tail)
        return b"".join(pieces)

    def prioritize(self, body: bytes, rules: Sequence[ScoreRule] | None = None) -> bytes:
        """Answer a prioritize request with all scores of the policy, or with the given ones.

        Raises:
            InputError: the request is unreadable or incomplete.
            PolicyError: a function raised or returned something illegal.
        """
        question = self.bodies.read(body)
        rules = self.policy.scores if rules is None else rules
        asked = self._asked_of(question, rules)
        if asked is not None:
            return _encode(self._scored_by_name(asked, question, rules))
        nodes, names, unknown = self._nodes(question)
        scored = self._priorities(question.pod, nodes, names, rules)
        return _encode(scored + [HostPriority(name, 0) for name in unknown])

    def preempt(self, body: bytes) -> bytes:
        """Answer a preempt request.

        Raises:
            InputError: the request is unreadable or incomplete.
            PolicyError: a function raised or returned something illegal.
        """
        args = read(ExtenderPreemptionArgs, body)
        pod = read_pod(args.pod)
        if args.node_name_to_victims is None and args.node_name_to_meta_victims is None:
            raise InputError("the request has neither NodeNameToVictims nor NodeNameToMetaVictims")
        result: dict[str, MetaVictims] = {}
        for name, whole in (args.node_name_to_victims or {}).items():
            if whole is not None:
                victims = [read_pod(raw) for raw in whole.pods or ()]
                self._keep(result, pod, name, victims, whole.num_pdb_violations)
        for name, meta in (args.node_name_to_meta_victims or {}).items():
            if meta is None or name in result:
                continue
            if not self.policy.preempts:
                result[name] = meta
                continue
            found = self._find_victims(name, meta.pods or ())
            if found is not None:
                self._keep(result, pod, name, found, meta.num_pdb_violations)
        return _encode(ExtenderPreemptionResult(result))

    def binding(self, body: bytes) -> Binding:
        """Read a bind request.

        Raises:
            InputError: the request is unreadable or incomplete.
        """
        args = read(ExtenderBindingArgs, body)
        for key, value in (
            ("PodName", args.pod_name),
            ("PodNamespace", args.pod_namespace),
            ("Node", args.node),
        ):
            if not value:
                raise InputError(f"the request has no {key}")
        cluster = self.cluster
        pod = cluster.pod(args.pod_namespace, args.pod_name) if cluster is not None else None
        return Binding(
            namespace=args.pod_namespace,
            name=args.pod_name,
            uid=args.pod_uid,
            node_name=args.node,
            pod=pod if pod is not None and args.pod_uid in ("", pod.uid) else None,
            node=cluster.nodes.get(args.node) if cluster is not None else None,
        )

    def prepare(self, binding: Binding) -> Binding | Verdict:
        """Run the policy's plain bind function, if it has one, and count the pod on its node.

        kube-scheduler may have sent a pod's filter request before the bind request of the pod that
        it placed before, so the filters are asked once more about the node that was chosen.

        Raises:
            PolicyError: a function raised or returned something illegal.
        """
        against = self._filtered_again(binding)
        if against is not None:
            return reject(f"node {binding.node_name} no longer fits: {against.reason}")
        for rule in self.policy.binds:
            if not rule.is_async:
                with self._around(binding.key, rule):
                    prepared = rule.prepare(binding)
                if isinstance(prepared, Verdict):
                    return prepared
                binding = prepared
        self.assume(binding)
        return binding

    async def prepare_async(self, binding: Binding) -> Binding | Verdict:
        """Run the policy's ``async`` bind function, if it has one; not on the decision thread.

        Raises:
            PolicyError: the function raised or returned something illegal.
        """
        for rule in self.policy.binds:
            if rule.is_async:
                with self._around(binding.key, rule):
                    return await rule.prepare_async(binding)
        return binding

    def assume(self, binding: Binding) -> None:
        """Count a pod on its node before the API server confirms it; not if it is gone by now.

        A caller that has waited long enough may ask again for another node: the last one counts.
        """
        cluster = self.cluster
        if cluster is None or not self._is_known(binding):
            return
        pod = cluster.pod(binding.namespace, binding.name)
        assumed = cluster.assumed_pod(binding.key)
        if assumed is not None and not assumed.confirmed:
            pod = assumed.pod
        # A pod that is bound is counted where it is.
        if pod is not None and not pod.node_name:
            cluster.assume(pod, binding.node_name, binding.annotations)

    def annotate(self, binding: Binding) -> None:
        """The binding got annotations since it was assumed."""
        if self._is_counted(binding):
            self.assume(binding)

    def confirm(self, binding: Binding) -> None:
        """The API server bound the pod, whatever was assumed of it since."""
        if self.cluster is None or not self._is_known(binding):
            return
        if not self._is_counted(binding):
            self.assume(binding)
        self.cluster.confirm(binding.key)

    def forget(self, binding: Binding) -> None:
        """The pod was not bound after all; not if another binding counts it elsewhere by now."""
        if self.cluster is not None and self._is_counted(binding):
            self.cluster.forget(binding.key)

    def _is_known(self, binding: Binding) -> bool:
        """Whether the pod that was to be bound is still there."""
        cluster, pod = self.cluster, binding.pod
        known = cluster.pod(binding.namespace, binding.name) if cluster is not None else None
        return known is not None and pod is not None and known.uid == pod.uid

    def _is_counted(self, binding: Binding) -> bool:
        """Whether the pod is assumed to be where this binding takes it."""
        assumed = self.cluster.assumed_pod(binding.key) if self.cluster is not None else None
        return (
            assumed is not None
            and assumed.node_name == binding.node_name
            and self._is_known(binding)
        )

    def _nodes(self, question: Question) -> tuple[Sequence[Node], list[str], list[str]]:
        """The nodes in question, their names, and the names nothing is known of."""
        cluster = self.cluster
        if question.spans is not None:
            nodes = question.nodes
            self._observer.received(len(nodes), question.decoded)
            return nodes, [node.name for node in nodes], []
        names = question.names or []
        if cluster is None:
            return NamedNodes(names, self.bodies.named), names, []
        known = cluster.nodes
        with suppress(KeyError):
            return list(map(known.__getitem__, names)), names, []
        there = [name for name in names if name in known]
        return [known[name] for name in there], there, [n for n in names if n not in known]

    def _priorities(
        self, pod: Pod, nodes: Sequence[Node], names: Sequence[str], rules: Sequence[ScoreRule]
    ) -> list[HostPriority]:
        """The score of each node."""
        totals = score_nodes(rules, pod, nodes, partial(self._around, pod.key))
        # The same whole numbers that mooring's own scheduler adds up, brought to the wire's range.
        scores = ((whole_scores(totals) * MAX_SCORE + 50) // 100).tolist()
        if log.isEnabledFor(logging.DEBUG):
            for name, score, total in zip(names, scores, totals.tolist(), strict=True):
                log.debug("pod %s node %s score %d (%g)", pod.key, name, score, total)
        return [HostPriority(name, one) for name, one in zip(names, scores, strict=True)]

    def _asked_of(self, question: Question, rules: Sequence[Rule]) -> Asked | None:
        """What is asked, if answers to it may be kept."""
        # Who wants to see every answer in the log wants all functions to be called.
        if question.spans is not None or log.isEnabledFor(logging.DEBUG):
            return None
        return self._kept.asked(rules, question.pod)

    def _filtered_by_name(
        self, asked: Asked, question: Question, rules: Sequence[FilterRule]
    ) -> ExtenderFilterResult:
        """What the filters say, of most nodes as they said it before."""

        def ask(nodes: Sequence[Node], names: list[str]) -> Kept:
            against = rejected_by_node(self._reject(question.pod, nodes, rules), len(nodes))
            alike = {one: KeptRejection(one) for one in set(against) if one}
            rejected = {name: alike[one] for name, one in zip(names, against, strict=True) if one}
            return dict(zip(names, map(not_, against), strict=True)), rejected

        def read(kind: KeptKind, names: list[str]) -> tuple[list[str], list[str], KeptKind]:
            accepted = list(filter(kind.answers.__getitem__, names))
            rejected = kind.rejected.__contains__
            return accepted, list(filter(rejected, names)), kind

        unknown, (accepted, failed, kind) = self._said(asked, question, ask, read)
        against = kind.rejected
        counts: Counter[tuple[int, str]] = Counter()
        for one, count in Counter(map(against.__getitem__, failed)).items():
            for by in one.by:
                counts[by] += count
        for (number, reason), count in sorted(counts.items()):
            self._observer.rejected(rules[number], reason, count)
        result = _filter_result(unknown, ((name, against[name].verdict) for name in failed))
        result.node_names = accepted
        return result

    def _scored_by_name(
        self, asked: Asked, question: Question, rules: Sequence[ScoreRule]
    ) -> list[HostPriority]:
        """What the scores say, of most nodes as they said it before."""

        def ask(nodes: Sequence[Node], names: list[str]) -> Kept:
            scored = self._priorities(question.pod, nodes, names, rules)
            return dict(zip(names, scored, strict=True)), {}

        def read(kind: KeptKind, names: list[str]) -> list[HostPriority]:
            return list(map(kind.answers.__getitem__, names))

        unknown, scored = self._said(asked, question, ask, read)
        return scored + [HostPriority(name, 0) for name in unknown]

    def _said(
        self,
        asked: Asked,
        question: Question,
        ask: Callable[[Sequence[Node], list[str]], Kept],
        read: Callable[[KeptKind, list[str]], T],
    ) -> tuple[list[str], T]:
        """The names nothing is known of, and what is said of the others.

        Args:
            asked: what is asked.
            question: the pod and the names of the nodes.
            ask: asks the functions about those of which their answer is not kept.
            read: reads what is said of nodes; raises `KeyError` unless all are known.
        """
        names, kind = question.names or [], self._kept.of(asked)
        if 2 * len(names) > len(kind.answers):
            kind.load()
        with suppress(KeyError):
            return [], read(kind, names)
        missing = [name for name in names if name not in kind.answers]
        nodes, there, unknown = self._nodes(question._replace(names=missing))
        kind = self._kept.keep(asked, *ask(nodes, there))
        if unknown:
            names = [name for name in names if name in kind.answers]
        return unknown, read(kind, names)

    def _reject(self, pod: Pod, nodes: Sequence[Node], rules: Sequence[FilterRule]) -> Rejections:
        return reject_nodes(rules, pod, nodes, partial(self._around, pod.key))

    def _rejections(
        self, pod: Pod, nodes: Sequence[Node], rules: Sequence[FilterRule]
    ) -> dict[int, Verdict]:
        """The rejected nodes by position, each with all that speaks against it."""
        by_node = self._together(self._reject(pod, nodes, rules))
        if log.isEnabledFor(logging.DEBUG):
            for index, node in enumerate(nodes):
                against = by_node.get(index)
                shown = "accepted" if against is None else f"rejected: {against.reason}"
                log.debug("pod %s node %s %s", pod.key, node.name, shown)
        return by_node

    def _together(self, by_rule: Rejections) -> dict[int, Verdict]:
        """Count rejections; the rejected nodes by position, with all that speaks against each."""
        by_node: dict[int, Verdict] = {}
        for rule, rejections in by_rule:
            counts = Counter([verdict.reason for _, verdict in rejections])
            for reason, count in counts.items():
                self._observer.rejected(rule, reason, count)
            if not by_node:
                by_node = dict(rejections)
                continue
            for index, verdict in rejections:
                before = by_node.get(index)
                by_node[index] = verdict if before is None else before.and_also(verdict)
        return by_node

    def _remember(self, pod: Pod, rules: Sequence[FilterRule] | None, size: int) -> None:
        """Keep what is asked about now until the pod is to be bound, for some pods at most."""
        if self.cluster is not None and self.policy.usage:
            self._asked.put(pod.uid, (pod, rules), size)

    def _filtered_again(self, binding: Binding) -> Verdict | None:
        """What the filters that were asked about a pod have against its node by now."""
        asked = self._asked.get(binding.uid)
        if asked is None or binding.node is None or self._is_counted(binding):
            return None
        pod, rules = asked
        filters = self.policy.filters if rules is None else rules
        return self._rejections(pod, [binding.node], filters).get(0)

    def _find_victims(self, node_name: str, victims: Sequence[MetaPod]) -> list[Pod] | None:
        """The victims of a node by id; None, and the node is dropped, if one is not known."""
        if self.cluster is None:
            raise InputError(
                "victims were sent by UID only, and this server has no cluster to look them up in: "
                "start it with --kubeconfig FILE, or set nodeCacheCapable: false"
            )
        found = []
        for victim in victims:
            pod = self.cluster.pod_by_uid(victim.uid)
            if pod is None:
                log.warning(
                    "dropped node %s from preemption: its victim %s is not known yet",
                    node_name,
                    victim.uid,
                )
                return None
            found.append(pod)
        return found

    def _keep(
        self,
        result: dict[str, MetaVictims],
        pod: Pod,
        node_name: str,
        victims: Sequence[Pod],
        violations: int,
    ) -> None:
        known = self.cluster.nodes.get(node_name) if self.cluster is not None else None
        node = known if known is not None else self.bodies.named([node_name])[0]
        around = partial(self._around, pod.key)
        kept = keep_victims(self.policy.preempts, pod, node, victims, around)
        log.debug(
            "pod %s node %s keeps %d of %d victims", pod.key, node_name, len(kept), len(victims)
        )
        # kube-scheduler rejects an answer that has a node without victims.
        if kept:
            result[node_name] = MetaVictims(
                pods=[MetaPod(uid=victim.uid) for victim in kept],
                num_pdb_violations=min(violations, len(kept)),
            )

    @contextmanager
    def _around(self, pod: str, rule: Rule) -> Iterator[None]:
        """Observe a function, and put the pod into its error."""
        start = self._clock()
        try:
            yield
        except Exception as error:
            if type(error) is PolicyError:
                error.pod = pod
            if not self._is_blamed():
                self._observer.failed(rule)
                if was_interrupted(error):
                    self._observer.hung(rule)
            raise
        self._observer.ran(rule, self._clock() - start)


def _filter_result(
    unknown: Iterable[str], rejected: Iterable[tuple[str, Verdict]]
) -> ExtenderFilterResult:
    """A reply that says why nodes are not accepted."""
    failed, unresolvable = dict.fromkeys(unknown, UNKNOWN_NODE), dict[str, str]()
    for name, verdict in rejected:
        (unresolvable if verdict.unresolvable else failed)[name] = verdict.reason
    return ExtenderFilterResult(failed_nodes=failed, failed_and_unresolvable_nodes=unresolvable)
