"""The hooks after a node was chosen: reserve, permit, and those around binding.

Built from a profile's points, like the runtime that has it. `reserve`, `permit` and
`pre_bind_check` belong to the decision. Those around binding run beside later decisions and may
wait for the outside world; who carries out effects runs them one by one and asks here what their
answers mean.
"""

import logging
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Final, NoReturn

from mooring.errors import PluginError
from mooring.framework import foreign, hook
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.extension_points import PluginAtPoint
from mooring.framework.filtering import Rejection
from mooring.framework.hook_answers import (
    legal_binding,
    legal_pre_bind_check,
    legal_wait,
    one_verdict,
    shortened,
)
from mooring.framework.plans.plan import Plan, PluginPlan
from mooring.framework.plans.plan_answers import legal_plan
from mooring.framework.verdict import Verdict
from mooring.log_kinds import failure_of
from mooring.model.node import Node
from mooring.model.pod import Pod

log = logging.getLogger("mooring.framework")

#: How long a pod has to wait for each plugin before it is bound, in seconds.
Waits = Mapping[str, float]
#: The plans that the plugins made in `reserve`, in their order.
Plans = tuple[PluginPlan, ...]
#: Makes the way to call a function that may be foreign.
Entry = Callable[[Callable[..., Any]], Callable[..., Any]]


#: The points whose hooks belong to the decision.
_DECIDING: Final = ("reserve", "permit", "preBind")
#: No pod waits longer for a plugin, in seconds.
# parity v1.36.4: framework/runtime/framework.go maxTimeout
LONGEST_WAIT: Final = 15 * 60.0


class IdleAfterSkip:
    """A plugin whose hooks after the choice of a node do nothing for a pod that it skipped.

    If it returned `hook.SKIP` from `pre_filter`, that is.
    """


class BindingHooks:
    """One profile's hooks after the choice of a node.

    Args:
        points: the profile's plugins by extension point.
        entry: the way to call a hook of the decision.

    Attributes:
        pre_binds: the hooks that prepare what a pod needs before it is bound, by plugin name.
        binds: those just before the binding.
        post_binds: those that are told of it.
    """

    def __init__(
        self, points: Mapping[str, Sequence[PluginAtPoint]], entry: Entry = foreign.entry
    ) -> None:
        self._reserves = [
            (one.name, entry(one.plugin.reserve), entry(one.plugin.unreserve))
            for one in points.get("reserve", ())
            if isinstance(one.plugin, hook.Reserve)
        ]
        self._permits = [
            (one.name, entry(one.plugin.permit))
            for one in points.get("permit", ())
            if isinstance(one.plugin, hook.Permit)
        ]
        self.pre_binds = [
            (one.name, one.plugin)
            for one in points.get("preBind", ())
            if isinstance(one.plugin, hook.PreBind)
        ]
        self._pre_bind_checks = [
            (name, entry(plugin.pre_bind_check)) for name, plugin in self.pre_binds
        ]
        self.binds = [
            (one.name, one.plugin)
            for one in points.get("bind", ())
            if isinstance(one.plugin, hook.Bind)
        ]
        self.post_binds = [
            (one.name, one.plugin)
            for one in points.get("postBind", ())
            if isinstance(one.plugin, hook.PostBind)
        ]
        asked = [one for point in _DECIDING for one in points.get(point, ())]
        # Who has to have skipped a pod so that nobody need be asked; None if that is not enough.
        self._idle = frozenset(one.name for one in asked) if all(map(_is_idle, asked)) else None

    def are_idle(self, cycle: Cycle) -> bool:
        """Whether `reserve`, `permit` and `pre_bind_check` surely come to nothing for a pod."""
        return self._idle is not None and self._idle <= cycle.skipped

    def reserve(self, cycle: Cycle, node: Node) -> Rejection | Plans:
        """Tell the plugins which node was chosen; a rejection takes everything back.

        Raises:
            PluginError: a plugin failed; everything is taken back.
        """
        plans: Plans = ()
        for name, reserve, _ in self._reserves:
            try:
                answer = reserve(cycle, node)
                if answer is None:
                    continue
                if type(answer) is Plan:
                    plans = (*plans, PluginPlan(name, foreign.call(legal_plan, answer)))
                    continue
                verdict = one_verdict(answer, name)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                self.unreserve(cycle, node)
                blame(error, name, "reserve", cycle.pod)
            if not verdict.accepted:
                self.unreserve(cycle, node)
                return Rejection(name, verdict)
        return plans

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        """Let the plugins give back what they took, the last one first.

        One that fails is only logged: the placement is undone whatever happens, and the others
        must give back what they have.
        """
        for name, _, unreserve in reversed(self._reserves):
            try:
                unreserve(cycle, node)
            except Exception as error:
                failed = blamed(error, name, "unreserve", cycle.pod)
                told = foreign.tell(error).error
                log.error("%s", failed, exc_info=told, extra=failure_of(failed))  # noqa: TRY400

    def permit(self, cycle: Cycle, node: Node) -> Rejection | Waits:
        """Ask for the last word; the pods' waiting times, none if it need not wait.

        Raises:
            PluginError: a plugin failed.
        """
        waits: dict[str, float] = {}
        for name, permit in self._permits:
            try:
                answer = permit(cycle, node)
                if type(answer) is hook.Wait:
                    waits[name] = min(foreign.call(legal_wait, answer), LONGEST_WAIT)
                    continue
                verdict = one_verdict(answer, name)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "permit", cycle.pod)
            if not verdict.accepted:
                return Rejection(name, verdict)
        return waits

    def pre_bind_check(self, cycle: Cycle, node: Node) -> Set[str]:
        """Ask which plugins have something to do before the pod is bound; their names.

        Raises:
            PluginError: a plugin failed.
        """
        taking_part = set()
        for name, check in self._pre_bind_checks:
            try:
                answer = check(cycle, node)
                if answer is hook.SKIP:
                    continue
                if answer is not None:
                    foreign.call(legal_pre_bind_check, answer)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "pre_bind_check", cycle.pod)
            taking_part.add(name)
        return taking_part


def _is_idle(one: PluginAtPoint) -> bool:
    return isinstance(one.plugin, IdleAfterSkip) and not foreign.is_foreign(type(one.plugin))


def next_binding(binding: Binding, answer: object, name: str) -> Binding | Rejection:
    """What a `pre_bind` or `bind` hook's answer means: the binding to go on with, or a rejection.

    Raises:
        MooringError: the answer is illegal.
    """
    checked = foreign.call(legal_binding, binding, answer, name)
    return Rejection(name, checked) if isinstance(checked, Verdict) else checked


def blamed(error: Exception, plugin: str, where: str, pod: Pod | None) -> PluginError:
    """Whatever a plugin raised, as an error that names it; one that does already is left alone."""
    told = foreign.tell(error)
    # A class of the plugin's own, or parts of it, would be foreign code wherever the error is told.
    if type(error) is PluginError and told.error is error:
        return error
    key = pod.key if pod is not None else ""
    failed = PluginError(
        f"plugin {plugin} failed in {where} for pod {key}: {shortened(told.text)}",
        plugin=plugin, hook=where, pod=key,
    )  # fmt: skip
    failed.__cause__ = told.error
    return failed


def blame(error: Exception, plugin: str, where: str, pod: Pod | None) -> NoReturn:
    """Raise whatever a plugin raised as an error that names it."""
    raise blamed(error, plugin, where, pod)
