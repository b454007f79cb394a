"""A policy as one plugin of mooring's own scheduler.

All filters and scores of the policy run under the policy's name, with the very code that answers
kube-scheduler's webhook, so both give the same verdicts and the same scores.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from mooring.framework import hook
from mooring.framework.arrays import Scores
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.details.detail_calls import ask_details
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.nodes import Nodes
from mooring.framework.policy import Policy
from mooring.framework.policy_calls import keep_victims, reject_nodes, score_nodes
from mooring.framework.policy_checks.device_reads import reads_devices
from mooring.framework.policy_checks.policy_signature import PolicySignature, policy_signature
from mooring.framework.remedies.remedy import RemedyCase
from mooring.framework.rules import FilterRule
from mooring.framework.scope import Scope
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.devices.cluster_devices import DEVICE_KINDS


class PolicyFilter(hook.FilterNodes):
    """The filters of a policy; every reason counts."""

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self._policy = policy

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Ask every filter about every node."""
        verdicts = [ACCEPT] * len(nodes)
        for _, rejections in reject_nodes(self._policy.filters, pod, nodes):
            for index, verdict in rejections:
                verdicts[index] = _both(verdicts[index], verdict)
        return Verdicts.each(verdicts)

    def remedy_cases(self, case: RemedyCase) -> Iterator[tuple[str, hook.Remedies, RemedyCase]]:
        """The plugins that were added to the policy and reject the node, each with its own case."""
        askable = [
            (rule, plugin)
            for rule in self._policy.filters
            if isinstance(plugin := getattr(rule.function, "__self__", None), hook.Remedies)
        ]
        if case.nominated:
            # It is the nominated pods that a plugin minds, and which one does is not known.
            yield from ((rule.name, plugin, case) for rule, plugin in askable)
            return
        for rule, plugin in askable:
            verdict = _verdict(rule, case, case.pod)
            if not verdict.accepted:

                def accepts(pod: Pod, rule: FilterRule = rule) -> bool:
                    return _verdict(rule, case, pod).accepted

                yield rule.name, plugin, replace(case, verdict=verdict, accepts=accepts)


class PolicyDetails(hook.Details):
    """What the plugins that were added to a policy say about their rejections."""

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self._policy = policy

    def details(self, rejected: RejectedNodes) -> list[str]:
        """For each node what every filter says that rejects it."""
        pod, nodes = rejected.pod, rejected.nodes
        told: list[list[str]] = [[] for _ in nodes]
        for rule in self._policy.filters:
            found = rule.rejections(pod, nodes)
            texts = [_reasons(verdict) for _, verdict in found]
            plugin = getattr(rule.function, "__self__", None)
            if found and isinstance(plugin, hook.Details):
                rows = [nodes.columns.row_of[nodes[index].name] for index, _ in found]
                own = nodes.subset(np.array(rows))
                part = RejectedNodes(pod, own, found[0][1], rejected.usable)
                asked = ask_details(rule.name, plugin, part)
                texts = [detail or text for detail, text in zip(asked, texts, strict=True)]
            for (index, _), text in zip(found, texts, strict=True):
                told[index].append(text)
        return [", and it ".join(one) for one in told]


class PolicyRequeues(hook.Requeues):
    """What helps pods that a policy rejected, if each of its filters is a plugin that says so."""

    #: What they read is watched for them: they are plugins of the profile, too.
    reads = ()

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self._policy = policy

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        """What any of the plugins names: which of them rejected the pod is not known."""
        return [hint for one in _requeues(self._policy) for hint in one.requeue_on()]


class PolicyScore(hook.ScoreNodes):
    """The scores of a policy: their weighted mean, from 0 to 100."""

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self._policy = policy

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Scores:
        """Ask every score about every node."""
        return score_nodes(self._policy.scores, pod, nodes)


class PolicySign(hook.Sign):
    """Has the answers kept of a policy all of whose filters and scores read their arguments alone.

    Attributes:
        signature: what they read of a pod.
    """

    filter_scope = score_scope = Scope.ROW
    signature: ClassVar[PolicySignature]

    def sign(self, pod: Pod) -> bytes | None:
        """What the functions read of the pod."""
        return self.signature.of(pod)


class PolicyPreempt(hook.Preempt):
    """The say of a policy in preemption."""

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self._policy = policy

    @property
    def asks(self) -> list[object]:
        """The plugins that were added to the policy and are asked through it."""
        return [getattr(rule.function, "__self__", None) for rule in self._policy.preempts]

    def preempt(self, pod: Pod, node: Node, victims: Sequence[Pod]) -> Sequence[Pod]:
        """The victims that every function leaves."""
        return keep_victims(self._policy.preempts, pod, node, victims)


class PolicyBind(hook.Bind):
    """The bind function of a policy."""

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self._policy = policy

    async def bind(self, binding: Binding) -> Binding | Verdict:
        """Call it, plain or ``async``."""
        for rule in self._policy.binds:
            made = await rule.prepare_async(binding) if rule.is_async else rule.prepare(binding)
            if isinstance(made, Verdict):
                return made
            binding = made
        return binding


def _requeues(policy: Policy) -> list[hook.Requeues]:
    asked = [getattr(rule.function, "__self__", None) for rule in policy.filters]
    return [one for one in asked if isinstance(one, hook.Requeues)]


def _verdict(rule: FilterRule, case: RemedyCase, pod: Pod) -> Verdict:
    row = case.cluster.columns.row_of[case.node.name]
    nodes = Cycle(pod, case.cluster).nodes.subset(np.array([row]))
    rejections = rule.rejections(pod, nodes)
    return rejections[0][1] if rejections else ACCEPT


def _reasons(verdict: Verdict) -> str:
    note = f" ({verdict.note})" if verdict.note else ""
    return f"is rejected: {', '.join(verdict.reasons)}{note}"


def _both(one: Verdict, other: Verdict) -> Verdict:
    if one.accepted:
        return other
    return Verdict(
        accepted=False,
        reason=one.reason,
        also=(*one.also, *other.reasons),
        unresolvable=one.unresolvable or other.unresolvable,
        note=one.note or other.note,
    )


def policy_plugin(policy: Policy) -> hook.Hook:
    """The plugin a policy is: it has exactly the hooks the policy has functions for."""
    bases: list[type[hook.Hook]] = []
    if policy.filters:
        bases.append(PolicyFilter)
        owners = (getattr(rule.function, "__self__", None) for rule in policy.filters)
        if any(isinstance(owner, hook.Details) for owner in owners):
            bases.append(PolicyDetails)
        if len(_requeues(policy)) == len(policy.filters):
            bases.append(PolicyRequeues)
    if policy.scores:
        bases.append(PolicyScore)
    if policy.preempts:
        bases.append(PolicyPreempt)
    if policy.binds:
        bases.append(PolicyBind)
    declared: dict[str, object] = {}
    signature = policy_signature(policy)
    if signature is not None:
        bases.append(PolicySign)
        declared = {
            "signature": signature,
            "filter_scope": PolicySign.filter_scope,
            "score_scope": PolicySign.score_scope,
        }
    if reads_devices(policy):
        declared["reads"] = DEVICE_KINDS
    made: hook.Hook = type("PolicyPlugin", tuple(bases) or (hook.Hook,), declared)(policy)
    return made
