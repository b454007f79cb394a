"""Hooks around binding in virtual time: coroutines that are run to their end at once.

A hook that waits for the outside world cannot go on: there is none in a simulation.
"""

import inspect
from collections.abc import Callable
from typing import Any

from mooring.errors import MooringError
from mooring.framework import foreign
from mooring.framework.binding import Binding
from mooring.framework.binding_hooks import BindingHooks, blame, next_binding
from mooring.framework.filtering import Rejection
from mooring.scheduler.effects import Bind


class BindingHooksDriver:
    """Runs the hooks around bindings."""

    def __init__(self) -> None:
        self._plain: dict[int, tuple[BindingHooks, bool]] = {}

    def before(self, effect: Bind) -> Binding | Rejection:
        """Run `pre_bind` and `bind`; the binding to create, or a rejection.

        Raises:
            PluginError: a hook failed.
        """
        binding = effect.binding
        for name, plugin in effect.hooks.pre_binds:
            if name in effect.pre_binds:
                answer = _ask("pre_bind", name, plugin.pre_bind, binding)
                if isinstance(answer, Rejection):
                    return answer
                binding = answer
        if self._only_plain(effect.hooks):
            return binding
        for name, one in effect.hooks.binds:
            answer = _ask("bind", name, one.bind, binding)
            if isinstance(answer, Rejection):
                return answer
            binding = answer
        return binding

    def after(self, effect: Bind) -> None:
        """Run `post_bind`.

        Raises:
            PluginError: a hook failed; the pod stays bound.
        """
        for name, plugin in effect.hooks.post_binds:
            try:
                _run(plugin.post_bind, effect.binding)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, name, "post_bind", effect.pod)

    def _only_plain(self, hooks: BindingHooks) -> bool:
        """Whether all bind hooks are our own and return what they get."""
        known = self._plain.get(id(hooks))
        if known is None:
            plain = all(
                not foreign.is_foreign(type(one)) and not inspect.iscoroutinefunction(one.bind)
                for _, one in hooks.binds
            )
            known = self._plain[id(hooks)] = (hooks, plain)
        return known[1]


def _ask(point: str, name: str, run: Callable[..., Any], binding: Binding) -> Binding | Rejection:
    try:
        return next_binding(binding, _run(run, binding), name)
    except Exception as error:  # noqa: BLE001
        blame(error, name, point, binding.pod)


def _run(run: Callable[..., Any], binding: Binding) -> object:
    work = foreign.wait(run, binding)
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    work.close()
    raise MooringError("it waits for the outside world, which a simulation does not have")
