"""Pods whose binding is not sent yet, because something has to be done before.

Such a pod can give its place to a more important one without being deleted: its binding cycle is
broken off and the pod goes back to the queue. Kept by `Binder`, on the event loop's thread alone.

    IN PREBIND ──finish──> its binding is sent: it can be deleted, and nothing else
        │
        └──cancel──> its task is cancelled, and reports that it was not bound
"""

# parity v1.36.4: framework/runtime/pods_in_prebind_map.go

import asyncio
from typing import Any


class PodInPreBind:
    """One of them; made by the task that binds the pod.

    Attributes:
        running: the plugin whose turn it is; empty if it is nobody's.
        cause: why it was broken off; empty if it was not.
    """

    __slots__ = ("_over", "_task", "cause", "running")

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = asyncio.current_task()
        self._over = False
        self.running = ""
        self.cause = ""

    def cancel(self, cause: str) -> bool:
        """Break it off; False if it is too late for that."""
        if self._over:
            return False
        if not self.cause:
            self.cause = cause
            if self._task is not None:
                self._task.cancel()
        return True

    def finish(self) -> bool:
        """The binding is about to be sent; False if it must not be."""
        self._over = not self.cause
        return self._over

    def is_ours(self) -> bool:
        """Whether the task's cancellation, which it has just seen, is ours alone."""
        return bool(self.cause) and self._task is not None and self._task.uncancel() == 0

    @property
    def message(self) -> str:
        """Why it was broken off, in kube-scheduler's words."""
        # parity v1.36.4: framework/runtime/framework.go RunPreBindPlugins
        said = f'running PreBind plugin "{self.running}": ' if self.running else ""
        return f"{said}{self.cause}"


class PodsInPreBind:
    """All of them, by unique id."""

    def __init__(self) -> None:
        self._pods: dict[str, PodInPreBind] = {}

    def add(self, uid: str) -> PodInPreBind:
        """The current task has something to do before it binds a pod."""
        found = self._pods[uid] = PodInPreBind()
        return found

    def remove(self, uid: str) -> None:
        """It has nothing to do any more."""
        self._pods.pop(uid, None)

    def cancel(self, uid: str, cause: str) -> bool:
        """Break off the binding cycle of a pod; False if it has none, or it is too late."""
        found = self._pods.get(uid)
        return found is not None and found.cancel(cause)

    def __len__(self) -> int:
        return len(self._pods)
