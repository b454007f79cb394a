"""`Policy`: what a user writes.

An ordinary object that collects rules; there is no global registry. Shells ask its rules, through
the functions in `policy_calls`.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, cast, overload

from mooring.errors import InputError
from mooring.framework import hook
from mooring.framework.arrays import Scores
from mooring.framework.binding import Binding
from mooring.framework.nodes import Nodes
from mooring.framework.rules import BindRule, FilterRule, PreemptRule, Rule, ScoreRule
from mooring.model.node import Node
from mooring.model.pod import Pod

FilterFunction = TypeVar("FilterFunction", bound=Callable[[Pod, Node], hook.FilterAnswer])
FilterNodesFunction = TypeVar(
    "FilterNodesFunction", bound=Callable[[Pod, Nodes], hook.FilterAnswers]
)
ScoreFunction = TypeVar("ScoreFunction", bound=Callable[[Pod, Node], float])
ScoreNodesFunction = TypeVar("ScoreNodesFunction", bound=Callable[[Pod, Nodes], Scores])
PreemptFunction = TypeVar(
    "PreemptFunction", bound=Callable[[Pod, Node, Sequence[Pod]], hook.PreemptAnswer]
)
BindFunction = TypeVar("BindFunction", bound=Callable[[Binding], Any])
RuleT = TypeVar("RuleT", bound=Rule)

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_LEGAL = "use letters, digits, '-', '_' and '.', with a letter or digit first and last"
#: What a configuration can say at most.
_MOST_WEIGHT: Final = 2**31 - 1
#: Larger numbers of scores could not be added up and divided any more.
_MOST_NUMBER: Final = 1e100


class Policy:
    """Rules for scheduling pods, written as functions or plugins.

    Args:
        name: the policy's name in logs and events.
        usage: whether functions read `node.used`, `node.free` or `node.pods`; set False for a
        policy that needs only the nodes themselves, so that no pods are watched.
        devices: whether functions read `node.devices`, so that devices and claims to them are
        watched; None finds it out from the files of the functions.
        description: a one-line description.
        weight: the weight of its score relative to the scores of other plugins, like a plugin's
        weight in a ``KubeSchedulerConfiguration``. None makes it equal to the sum of their weights,
        so that the policy has half the say.
    """

    def __init__(
        self,
        name: str,
        *,
        usage: bool = True,
        devices: bool | None = None,
        description: str = "",
        weight: int | None = None,
    ) -> None:
        if not _NAME.fullmatch(str(name)):
            raise InputError(f"policy name {name!r} is invalid; {_LEGAL}")
        if weight is not None and not _is_weight(weight):
            raise InputError(
                f"policy {name!r} has weight={weight!r}; it must be an integer from 1 to "
                f"{_MOST_WEIGHT}"
            )
        self.name = name
        self.usage = usage
        self.devices = devices
        self.description = description
        self.weight = weight
        self.filters: list[FilterRule] = []
        self.scores: list[ScoreRule] = []
        self.preempts: list[PreemptRule] = []
        self.binds: list[BindRule] = []
        #: The added plugins that have hooks which only mooring's own scheduler runs.
        self.plugins: list[hook.Hook] = []

    @property
    def needs_pods(self) -> bool:
        """Whether its functions use the cluster's pods, which then have to be watched."""
        return self.usage or bool(self.preempts or self.binds)

    @property
    def rules(self) -> list[Rule]:
        """All functions of the policy, by extension point."""
        return [*self.filters, *self.scores, *self.preempts, *self.binds]

    @overload
    def filter(self, function: FilterFunction, /) -> FilterFunction: ...
    @overload
    def filter(
        self,
        /,
        *,
        name: str = ...,
        reason: str = ...,
        unresolvable: bool = ...,
        pure: bool = ...,
    ) -> Callable[[FilterFunction], FilterFunction]: ...
    def filter(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str = "",
        reason: str = "",
        unresolvable: bool = False,
        pure: bool = False,
    ) -> Any:
        """Register a function that accepts or rejects one node for a pod.

        Args:
            function: ``(pod, node)``; returns a `Verdict`, a bool, None or a reason.
            name: the rule's name; the function's name if empty.
            reason: used if the function only returns False.
            unresolvable: its rejections cannot be resolved by preemption.
            pure: it reads nothing but the node, the pods on it and the pod, so its results are kept
                while these do not change; see the guide for what it may read of them.
        """
        return self._decorate(
            self.filters, FilterRule, function, "filter", name,
            reason=reason, unresolvable=unresolvable, pure=pure,
        )  # fmt: skip

    @overload
    def filter_nodes(self, function: FilterNodesFunction, /) -> FilterNodesFunction: ...
    @overload
    def filter_nodes(
        self, /, *, name: str = ..., reason: str = ..., unresolvable: bool = ...
    ) -> Callable[[FilterNodesFunction], FilterNodesFunction]: ...
    def filter_nodes(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str = "",
        reason: str = "",
        unresolvable: bool = False,
    ) -> Any:
        """Register a function that accepts or rejects all nodes at once.

        Args:
            function: ``(pod, nodes)``; returns a mask, one answer for each node or ``None``.
            name: the rule's name; the function's name if empty.
            reason: used if the function only returns False.
            unresolvable: its rejections cannot be resolved by preemption.
        """
        return self._decorate(
            self.filters, FilterRule, function, "filter_nodes", name,
            reason=reason, unresolvable=unresolvable,
        )  # fmt: skip

    @overload
    def score(self, function: ScoreFunction, /) -> ScoreFunction: ...
    @overload
    def score(
        self, /, *, name: str = ..., weight: float = ..., max_score: float = ..., pure: bool = ...
    ) -> Callable[[ScoreFunction], ScoreFunction]: ...
    def score(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str = "",
        weight: float = 1,
        max_score: float = 100,
        pure: bool = False,
    ) -> Any:
        """Register a function that rates how well one node suits a pod.

        Args:
            function: ``(pod, node)``; returns a number from 0 to `max_score`.
            name: the rule's name; the function's name if empty.
            weight: how much it counts relative to the policy's other scores.
            max_score: the best score that the function returns.
            pure: it reads nothing but the node, the pods on it and the pod, so its results are kept
                while these do not change; see the guide for what it may read of them.
        """
        return self._decorate(
            self.scores, ScoreRule, function, "score", name,
            weight=weight, max_score=max_score, pure=pure,
        )  # fmt: skip

    @overload
    def score_nodes(self, function: ScoreNodesFunction, /) -> ScoreNodesFunction: ...
    @overload
    def score_nodes(
        self, /, *, name: str = ..., weight: float = ..., max_score: float = ...
    ) -> Callable[[ScoreNodesFunction], ScoreNodesFunction]: ...
    def score_nodes(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str = "",
        weight: float = 1,
        max_score: float = 100,
    ) -> Any:
        """Register a function that scores all nodes at once.

        Args:
            function: ``(pod, nodes)``; returns one number from 0 to `max_score` for each node.
            name: the rule's name; the function's name if empty.
            weight: how much it counts relative to the policy's other scores.
            max_score: the best score that the function returns.
        """
        return self._decorate(
            self.scores, ScoreRule, function, "score_nodes", name,
            weight=weight, max_score=max_score,
        )  # fmt: skip

    @overload
    def preempt(self, function: PreemptFunction, /) -> PreemptFunction: ...
    @overload
    def preempt(self, /, *, name: str = ...) -> Callable[[PreemptFunction], PreemptFunction]: ...
    def preempt(self, function: Callable[..., Any] | None = None, /, *, name: str = "") -> Any:
        """Register a function that influences which pods are preempted on a node.

        Args:
            function: ``(pod, node, victims)``; accepts or excludes the node as a filter does, or
            returns the remaining victims.
            name: the rule's name; the function's name if empty.
        """
        return self._decorate(self.preempts, PreemptRule, function, "preempt", name)

    @overload
    def bind(self, function: BindFunction, /) -> BindFunction: ...
    @overload
    def bind(self, /, *, name: str = ...) -> Callable[[BindFunction], BindFunction]: ...
    def bind(self, function: Callable[..., Any] | None = None, /, *, name: str = "") -> Any:
        """Register the function that runs just before a pod is bound; a policy has at most one.

        Args:
            function: ``(binding)``, regular or ``async``; returns nothing, the binding with more
                annotations, or a rejection.
            name: the rule's name; the function's name if empty.
        """
        return self._decorate(self.binds, BindRule, function, "bind", name)

    def add(self, plugin: hook.Hook) -> None:
        """Register every hook that a plugin implements.

        Filters, scores, `Preempt` and `Bind` are added to the policy's functions and run
        everywhere. A plugin with other hooks, or with its own `attach`, is also a separate plugin
        in mooring's scheduler, and a plugin that prepares its filter or score (`PreFilter`,
        `PreScore`, `Normalize`) runs only there.

        Raises:
            InputError: it is not a plugin, implements no hook, or its name is already taken.
        """
        given: object = plugin
        if not isinstance(given, hook.Hook):
            made = f"{given.__name__}()" if isinstance(given, type) else "..."
            raise InputError(f"policy.add takes a plugin; use policy.add({made})")
        name = hook.plugin_name(plugin)
        before = len(self.rules)
        alone = isinstance(plugin, hook.PREPARING)
        if not alone:
            self._add_rules(plugin, name)
        if alone and isinstance(plugin, (hook.Score, hook.ScoreNodes)):
            _check_number("plugin", name, "weight", plugin.weight)
        attached = type(plugin).attach is not hook.Hook.attach
        if alone or attached or isinstance(plugin, hook.SCHEDULER_ONLY):
            if any(hook.plugin_name(other) == name for other in self.plugins):
                raise InputError(f"policy {self.name!r} has two plugins named {name!r}")
            self.plugins.append(plugin)
        elif len(self.rules) == before:
            raise InputError(
                f"plugin {name!r} implements no hook; inherit from hook.Filter, hook.Score or "
                "another hook"
            )

    def _add_rules(self, plugin: hook.Hook, name: str) -> None:
        if isinstance(plugin, hook.Filter):
            self.filter(name=name)(plugin.filter)
        if isinstance(plugin, hook.FilterNodes):
            self.filter_nodes(name=name, reason=plugin.reason)(plugin.filter_nodes)
        if isinstance(plugin, hook.Score):
            self.score(name=name, weight=plugin.weight, max_score=plugin.max_score)(plugin.score)
        if isinstance(plugin, hook.ScoreNodes):
            self.score_nodes(name=name, weight=plugin.weight, max_score=plugin.max_score)(
                plugin.score_nodes
            )
        if isinstance(plugin, hook.Preempt):
            self.preempt(name=name)(plugin.preempt)
        if isinstance(plugin, hook.Bind):
            self.bind(name=name)(plugin.bind)

    def _decorate(
        self,
        rules: list[RuleT],
        make: type[RuleT],
        function: Callable[..., Any] | None,
        kind: str,
        name: str,
        **options: Any,
    ) -> Any:
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            called = name or getattr(function, "__name__", "")
            self._check(rules, kind, called, options)
            doc = (getattr(function, "__doc__", None) or "").strip().partition("\n")[0]
            rules.append(make(kind=kind, name=called, function=function, doc=doc, **options))
            return function

        if function is None:
            return register
        if not callable(function):
            raise InputError(
                f"policy.{kind} takes a function; use @policy.{kind} or "
                f"@policy.{kind}(name=...) above it"
            )
        return register(function)

    def _check(self, rules: list[RuleT], kind: str, name: str, options: dict[str, Any]) -> None:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{kind} name {name!r} is invalid in policy {self.name!r}; "
                f"set one with name=: {_LEGAL}"
            )
        if kind == "bind" and rules:
            raise InputError(
                f"policy {self.name!r} has two bind functions, {rules[0].name!r} and {name!r}; "
                "keep one, because a pod is bound only once"
            )
        if any(rule.name == name for rule in rules):
            raise InputError(f"policy {self.name!r} has two {kind} functions named {name!r}")
        for option in ("weight", "max_score"):
            _check_number(kind, name, option, options.get(option, 1))

    def __repr__(self) -> str:
        return f"<Policy {self.name}: {', '.join(rule.name for rule in self.rules) or 'empty'}>"


def _is_weight(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_WEIGHT


def _check_number(kind: str, name: str, option: str, value: object) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < cast("float", value) < math.inf:
        raise InputError(
            f"{kind} {name!r} has {option}={value!r}; it must be a number greater than 0"
        )
    if cast("float", value) > _MOST_NUMBER:
        raise InputError(f"{kind} {name!r} has {option} above {_MOST_NUMBER:g}; it must be smaller")
