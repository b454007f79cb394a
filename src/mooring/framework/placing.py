"""The hooks after a node was chosen: reserve, permit, and those around binding.

Built from a profile's points, like the runtime that has it. `reserve` and `permit` belong to the
decision; the others run beside later decisions, and may wait for the outside world.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from mooring.errors import MooringError, PluginError
from mooring.framework import hook
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Refusal
from mooring.framework.points import Placed
from mooring.framework.verdict import ACCEPT, Verdict, reject
from mooring.model.node import Node
from mooring.model.pod import Pod

#: How long a pod has to wait for each plugin before it is bound, in seconds.
Waits = Mapping[str, float]


#: No pod waits longer for a plugin, in seconds.
# parity v1.36.4: framework/runtime/framework.go maxTimeout
LONGEST_WAIT: Final = 15 * 60.0


class Placing:
    """One profile's hooks after the choice of a node.

    Args:
        points: the profile's plugins by extension point.
    """

    def __init__(self, points: Mapping[str, Sequence[Placed]]) -> None:
        self._reserves = [
            (one.name, one.plugin)
            for one in points.get("reserve", ())
            if isinstance(one.plugin, hook.Reserve)
        ]
        self._permits = [
            (one.name, one.plugin)
            for one in points.get("permit", ())
            if isinstance(one.plugin, hook.Permit)
        ]
        self._pre_binds = [
            (one.name, one.plugin)
            for one in points.get("preBind", ())
            if isinstance(one.plugin, hook.PreBind)
        ]
        self._binds = [
            (one.name, one.plugin)
            for one in points.get("bind", ())
            if isinstance(one.plugin, hook.Bind)
        ]
        self._post_binds = [
            (one.name, one.plugin)
            for one in points.get("postBind", ())
            if isinstance(one.plugin, hook.PostBind)
        ]

    @property
    def waits(self) -> bool:
        """Whether something runs between the decision and the binding."""
        return bool(self._pre_binds)

    def reserve(self, cycle: Cycle, node: Node) -> Refusal | None:
        """Tell the plugins which node was chosen; a refusal takes everything back.

        Raises:
            PluginError: a plugin failed; everything is taken back.
        """
        for name, plugin in self._reserves:
            try:
                verdict = one_verdict(plugin.reserve(cycle, node), name)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                self.unreserve(cycle, node)
                blame(error, name, "reserve", cycle.pod)
            if not verdict.accepted:
                self.unreserve(cycle, node)
                return Refusal(name, verdict)
        return None

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        """Let the plugins give back what they took, the last one first."""
        for name, plugin in reversed(self._reserves):
            try:
                plugin.unreserve(cycle, node)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "unreserve", cycle.pod)

    def permit(self, cycle: Cycle, node: Node) -> Refusal | Waits:
        """Ask for the last word; the pods' waiting times, none if it need not wait.

        Raises:
            PluginError: a plugin failed.
        """
        waits: dict[str, float] = {}
        for name, plugin in self._permits:
            try:
                answer = plugin.permit(cycle, node)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "permit", cycle.pod)
            if isinstance(answer, hook.Wait):
                waits[name] = min(answer.seconds, LONGEST_WAIT)
                continue
            verdict = one_verdict(answer, name)
            if not verdict.accepted:
                return Refusal(name, verdict)
        return waits

    async def pre_bind(self, binding: Binding) -> Binding | Refusal:
        """Prepare what the pod needs before it is bound.

        Raises:
            PluginError: a plugin failed.
        """
        for name, plugin in self._pre_binds:
            try:
                answer = await plugin.pre_bind(binding)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "pre_bind", binding.pod)
            done = _next(binding, answer, name)
            if isinstance(done, Refusal):
                return done
            binding = done
        return binding

    async def bind(self, binding: Binding) -> Binding | Refusal:
        """Ask the bind hooks; the caller creates the binding that comes back.

        Raises:
            PluginError: a plugin failed.
        """
        for name, plugin in self._binds:
            try:
                answer = plugin.bind(binding)
                if inspect.isawaitable(answer):
                    answer = await answer
            except Exception as error:  # noqa: BLE001
                blame(error, name, "bind", binding.pod)
            done = _next(binding, answer, name)
            if isinstance(done, Refusal):
                return done
            binding = done
        return binding

    async def post_bind(self, binding: Binding) -> None:
        """Tell the plugins that the pod is bound.

        Raises:
            PluginError: a plugin failed; the pod stays bound.
        """
        for name, plugin in self._post_binds:
            try:
                await plugin.post_bind(binding)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "post_bind", binding.pod)


def _next(binding: Binding, answer: object, name: str) -> Binding | Refusal:
    if isinstance(answer, Binding):
        return answer
    if answer is None or answer is True:
        return binding
    if isinstance(answer, Verdict):
        return binding if answer.accepted else Refusal(name, answer)
    return Refusal(name, reject(answer if isinstance(answer, str) else f"refused by {name}"))


def one_verdict(answer: object, name: str) -> Verdict:
    """The verdict that a plugin's answer about one thing means."""
    if answer is None or answer is True:
        return ACCEPT
    if isinstance(answer, Verdict):
        return answer
    return reject(answer if isinstance(answer, str) and answer else f"rejected by {name}")


def blame(error: Exception, plugin: str, where: str, pod: Pod | None) -> NoReturn:
    """Turn whatever a plugin raised into an error that names it."""
    if isinstance(error, PluginError):
        raise error
    kind, said = type(error).__name__, str(error)
    what = said if isinstance(error, MooringError) else f"{kind}: {said}"
    key = pod.key if pod is not None else ""
    raise PluginError(
        f"plugin {plugin} failed in {where} for pod {key}: {what}",
        plugin=plugin, hook=where, pod=key,
    ) from error  # fmt: skip
