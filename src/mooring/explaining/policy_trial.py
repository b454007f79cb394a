"""Trying a policy: each of its functions is asked about a few pods and nodes, one by one.

For ``moor check``. What a function says, or how it fails, is kept beside what a scheduler with the
policy would decide. Nothing outside is changed, unless the caller runs bind functions.
"""

import traceback
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import msgspec
import numpy as np

from mooring.errors import PluginError, PolicyError
from mooring.explaining.explainer import Explainer
from mooring.explaining.function_answers import (
    FunctionAnswer,
    filtered,
    plugin_answers,
    preempted,
    scored,
)
from mooring.explaining.sample_cluster import SampleCluster
from mooring.framework import foreign
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.record import Record
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.sources import Sources
from mooring.framework.rules import BindRule, Rule
from mooring.framework.verdict import Verdict
from mooring.model.pod import Pod

#: Runs a bind function, plain or ``async``.
RunBind = Callable[[BindRule, Binding], Binding | Verdict]


class PodTrial(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy said about one pod.

    Attributes:
        pod: the pod.
        answers: what each function said.
        selected: the nodes among which a scheduler with the policy would choose.
        pending: why there is none, in kube-scheduler's words.
        failed: how the decision failed, unless a function above is to blame.
    """

    pod: Pod
    answers: list[FunctionAnswer]
    selected: list[str] = []
    pending: str = ""
    failed: str = ""

    @property
    def failures(self) -> list[str]:
        """Everything that failed."""
        return [one for one in (*(one.failed for one in self.answers), self.failed) if one]


class PolicyTrial:
    """Asks a policy about made-up pods.

    Args:
        policy: the policy.
        cluster: the pods and nodes.
        config: a parsed ``KubeSchedulerConfiguration``; None for the default.
        place: how the user named the policy, for messages.
        before: called before each question; for a time limit.
        run_bind: runs bind functions; None leaves them alone, because they may act outside.

    Attributes:
        cluster: the state of the made-up cluster.
        profiles: those of the configuration, with the policy.

    Raises:
        InputError: the configuration cannot be used with the policy.
    """

    def __init__(
        self,
        policy: Policy,
        cluster: SampleCluster,
        config: Mapping[str, Any] | None = None,
        *,
        place: str = "",
        before: Callable[[], None] = lambda: None,
        run_bind: RunBind | None = None,
    ) -> None:
        self._policy = policy
        self._pods = cluster.pods
        self._before = before
        self._run_bind = run_bind
        self._sources = Sources(place)
        objects = [*cluster.nodes, *cluster.running]
        self._explainer = Explainer(objects, config, policy=policy, before=before)
        self.cluster = self._explainer.cluster
        self.profiles = self._explainer.profiles
        for name in self.profiles:
            self._explainer.runtime(name)  # all plugins can be made

    def run(self) -> list[PodTrial]:
        """Ask about every pod."""
        return [self._try(self._explainer.pod(pod)) for pod in self._pods]

    def _try(self, pod: Pod) -> PodTrial:
        nodes = Cycle(pod, self.cluster).nodes
        fits = np.ones(len(nodes), np.bool_)
        answers = [self._ask(filtered, one, pod, nodes, fits) for one in self._policy.filters]
        left = nodes.subset(np.flatnonzero(fits))
        answers += [self._ask(scored, one, pod, left) for one in self._policy.scores]
        answers += [self._ask(preempted, one, pod, nodes) for one in self._policy.preempts]
        record, failed = self._decide(pod, answers)
        answers += plugin_answers(self._policy, record) if record is not None else []
        selected = record.selected if record is not None else []
        answers += [self._ask(self._bound, one, pod, selected) for one in self._policy.binds]
        pending = record.message if record is not None else ""
        return PodTrial(pod=pod, answers=answers, selected=selected, pending=pending, failed=failed)

    def _ask(
        self, ask: Callable[..., dict[str, Any]], rule: Rule, pod: Pod, *args: Any
    ) -> FunctionAnswer:
        self._before()
        try:
            said = ask(rule, pod, *args)
        except PolicyError as error:
            said = {"failed": self._told(error, rule)}
        return FunctionAnswer(kind=rule.kind, name=rule.name, **said)

    def _decide(self, pod: Pod, answers: list[FunctionAnswer]) -> tuple[Record | None, str]:
        try:
            return self._explainer.record(pod), ""
        except (PluginError, PolicyError) as error:
            known = any(one.failed for one in answers)
            return None, "" if known else self._told(error)

    def _bound(self, rule: BindRule, pod: Pod, selected: Sequence[str]) -> dict[str, Any]:
        if self._run_bind is None:
            return {"said": "not called: it may have side effects; --bind calls it"}
        if not selected:
            return {"said": "not called: there is no node to bind the pod to"}
        node = self.cluster.nodes[selected[0]]
        binding = Binding(
            namespace=pod.namespace, name=pod.name, uid=pod.uid, node_name=node.name,
            pod=pod, node=node,
        )  # fmt: skip
        made = self._run_bind(rule, binding)
        if isinstance(made, Verdict):
            return {"said": f"rejects {node.name}: {made.reason}"}
        written = [f"{key}={value}" for key, value in made.annotations.items()]
        also = f" and writes {', '.join(written)}" if written else ""
        return {"said": f"binds the pod to {made.node_name}{also}"}

    def _told(self, error: Exception, rule: Rule | None = None) -> str:
        """What failed, with the line of the policy it failed in, or that of the function."""
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        where = self._where(cause.__traceback__)
        if not where and rule is not None:
            place = self._sources.place_of(rule.function)
            where = f"{place.file}, line {place.line}" if place.line else ""
        return f"{where}: {error}" if where else str(error)

    def _where(self, trace: TracebackType | None) -> str:
        frames = [
            (frame.f_code.co_filename, line)
            for frame, line in traceback.walk_tb(trace)
            if not foreign.is_ours(frame)
        ]
        # What it called may be in a library, where nobody would look.
        own = [one for one in frames if one[0] == frames[0][0]]
        return f"{self._sources.shown(own[-1][0])}, line {own[-1][1]}" if own else ""
