"""Running the hooks around a binding: PreBind, Bind, PostBind.

They may wait for the outside world. Each step between two awaits has the limit of any hook, and the
whole hook has a limit, too; what does not end even when it is cancelled is left behind. Whatever
happens in a hook, its caller gets an answer or a `PluginError`. Called by `Binder`. A plain method
of one of our own plugins needs none of that, and is called as it is.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from types import FrameType
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

from mooring.errors import EscapeError
from mooring.framework import foreign, hook
from mooring.framework.binding import Binding
from mooring.framework.binding_hooks import BindingHooks, blame, next_binding
from mooring.framework.filtering import Rejection
from mooring.framework.left_behind import MOST_LEFT_BEHIND
from mooring.framework.running_hook import rule_in, traceback_of, waiting_frames
from mooring.live.waiting_bindings import WaitingBindings
from mooring.process.deadline import Deadline
from mooring.wording import counted

#: So long hooks that were cancelled may take to end before they count as left behind at a stop.
_END_SECONDS: Final = 0.5

Run = Callable[[Binding], Awaitable[object] | object]


class AsyncHooks:
    """Runs hooks of plugins with limits.

    Args:
        deadline: for each step.
        seconds: for a whole hook.
        waiting_bindings: where tasks that wait for a hook are kept.
    """

    def __init__(
        self, deadline: Deadline, seconds: float, waiting_bindings: WaitingBindings
    ) -> None:
        self._deadline = deadline
        self._seconds = seconds
        self._waiting_bindings = waiting_bindings
        self._under_way: dict[asyncio.Task[Any], str] = {}
        # Of those, the ones that nobody waits for any more, and how many each plugin has.
        self._given_up: set[asyncio.Task[Any]] = set()
        self._left_behind: Counter[str] = Counter()
        # By class: whether its `bind` neither waits nor is anybody else's. A reload makes new ones.
        self._plain_binds: WeakKeyDictionary[type, bool] = WeakKeyDictionary()

    async def pre_bind(
        self, name: str, plugin: hook.PreBind, binding: Binding
    ) -> Binding | Rejection:
        """Let a plugin prepare what the pod needs before it is bound.

        Raises:
            PluginError: it failed.
        """
        return await self._ask("pre_bind", name, plugin.pre_bind, binding)

    async def bind(self, binding_hooks: BindingHooks, binding: Binding) -> Binding | Rejection:
        """Ask the bind hooks; the caller creates the binding that comes back.

        Raises:
            PluginError: a plugin failed.
        """
        for name, plugin in binding_hooks.binds:
            if self._is_plain(plugin):
                made = plugin.bind(binding)
                answer = binding if made is binding else next_binding(binding, made, name)
            else:
                answer = await self._ask("bind", name, plugin.bind, binding)
            if isinstance(answer, Rejection):
                return answer
            binding = answer
        return binding

    async def post_bind(self, binding_hooks: BindingHooks, binding: Binding) -> None:
        """Inform the plugins that the pod is bound.

        Raises:
            PluginError: a plugin failed; the pod stays bound.
        """
        for name, plugin in binding_hooks.post_binds:
            await self._run(name, "post_bind", plugin.post_bind, binding, pause=False)

    def _is_plain(self, plugin: hook.Bind) -> bool:
        kind = type(plugin)
        known = self._plain_binds.get(kind)
        if known is None:
            known = not foreign.is_foreign(kind) and not inspect.iscoroutinefunction(kind.bind)
            self._plain_binds[kind] = known
        return known

    async def _ask(self, point: str, name: str, run: Run, binding: Binding) -> Binding | Rejection:
        answer = await self._run(name, point, run, binding)
        try:
            return next_binding(binding, answer, name)
        except Exception as error:  # noqa: BLE001 - a plugin may return anything
            blame(error, name, point, binding.pod)

    async def _run(
        self, name: str, point: str, run: Run, binding: Binding, *, pause: bool = True
    ) -> object:
        try:
            self._reject_leaky(name)
            with self._waiting_bindings.waiting() if pause else nullcontext():
                return await self._limited(name, run, binding)
        except Exception as error:  # noqa: BLE001
            blame(error, name, point, binding.pod)

    async def _limited(self, name: str, run: Run, binding: Binding) -> object:
        # A task of its own: who cancels what is then known, and it can be left behind.
        work = foreign.wait(run, binding)
        task = asyncio.create_task(self._deadline.each_step(work))
        self._under_way[task] = name
        task.add_done_callback(self._ended)
        frames: list[FrameType] = []
        try:
            await asyncio.wait({task}, timeout=self._seconds)
            frames = waiting_frames(work)
        finally:
            if not task.done():
                task.cancel()
                self._given_up.add(task)
                self._left_behind[name] += 1
        if not task.done():
            self._too_late(frames, binding)
        if task.cancelled():
            raise EscapeError("it waited for something that was cancelled")
        return task.result()

    def _too_late(self, frames: list[FrameType], binding: Binding) -> NoReturn:
        """Say where a hook still waits, and in which of a policy's functions."""
        late = EscapeError(f"it did not finish within {counted(self._seconds, 'second')}")
        late.__traceback__ = traceback_of(frames)
        rule = rule_in(frames)
        if rule is not None:
            rule.fail(late, binding.node_name)
        raise late

    def _reject_leaky(self, name: str) -> None:
        if self._left_behind[name] >= MOST_LEFT_BEHIND:
            raise EscapeError(
                f"{self._left_behind[name]} of its hooks have not ended although they were "
                "cancelled; it is not called again until one does"
            )

    async def wait_cancelled(self) -> None:
        """Give hooks that were cancelled a moment to end."""
        if self._given_up:
            await asyncio.wait(self._given_up, timeout=_END_SECONDS)

    @property
    def left_behind(self) -> int:
        """How many hooks have not ended although they were cancelled."""
        return self._left_behind.total()

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        name = self._under_way.pop(task)
        if task in self._given_up:
            self._given_up.discard(task)
            self._left_behind[name] -= 1
        if not task.cancelled():
            task.exception()  # who waits for it has it; otherwise nobody wants it any more
