"""An embedded cluster and mooring's scheduler, each in a thread with an event loop of its own.

`mooring.testing.cluster` is built on it. What it needs is imported when it starts, so that tests
without it start fast.
"""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mooring.errors import InputError
from mooring.framework.policy import Policy
from mooring.testing.loop_thread import LoopThread
from mooring.testing.stuck_hook import StuckHook

if TYPE_CHECKING:
    from mooring.embedded.watch_history import WatchEvent
    from mooring.live.options import SchedulerSettings


class EmbeddedSettings(NamedTuple):
    """What the cluster is made of.

    Attributes:
        nodes: manifests.
        policy: a policy that takes part in scheduling, or where it is.
        config: a parsed KubeSchedulerConfiguration; None is the default one.
        scheduler: whether there is a scheduler.
        kubelet: whether bound pods run.
        job_seconds: how long pods of jobs run; None for ever.
        hook_seconds: how long a plugin may hold up the scheduler before a wait gives up.
    """

    nodes: Sequence[Mapping[str, Any]]
    policy: Policy | str | None
    config: Mapping[str, Any] | None
    scheduler: bool
    kubelet: bool
    job_seconds: float | None
    hook_seconds: float


class EmbeddedThread:
    """The running cluster.

    Args:
        settings: what it is made of.
        kubeconfig: where its kubeconfig is written.

    Attributes:
        url: the API server's address, once it is started.
        hook_seconds: how long a plugin may hold up the scheduler.
    """

    url: str

    def __init__(self, settings: EmbeddedSettings, kubeconfig: Path) -> None:
        self.hook_seconds = settings.hook_seconds
        self._settings = settings
        self._kubeconfig = kubeconfig
        self._news = threading.Condition()
        self._changes = 0
        self._server = LoopThread("mooring-cluster", self._serve, self._noticed)
        self._scheduler = LoopThread("mooring-scheduler", self._schedule, self._noticed)

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            InputError: the policy, the configuration or a node cannot be used.
        """
        self._server.start()
        if self._settings.scheduler:
            self._scheduler.start()

    def stop(self) -> None:
        """End it and wait until nothing of it is left but a hook that does not return."""
        self._scheduler.stop()
        self._server.stop()

    @property
    def failure(self) -> BaseException | None:
        """What ended a part of it, if it ended by itself."""
        return self._server.failure or self._scheduler.failure

    def stuck_hook(self) -> StuckHook:
        """Whom the scheduler waits for, looked at from now on."""
        return self._scheduler.stuck_hook()

    @property
    def changes(self) -> int:
        """Grows whenever an object changes."""
        with self._news:
            return self._changes

    def wait_change(self, seen: int, seconds: float) -> None:
        """Wait until there are other changes than those seen, for at most so long."""
        with self._news:
            self._news.wait_for(lambda: self._changes != seen, seconds)

    # -- in the threads

    async def _serve(self) -> None:
        from mooring.embedded.kubeconfig import kubeconfig_text, write_private  # noqa: PLC0415
        from mooring.embedded.kubelet.kubelet import KubeletSettings  # noqa: PLC0415
        from mooring.embedded.resources import EVENTS, RESOURCES  # noqa: PLC0415
        from mooring.embedded.server import EmbeddedCluster, Options  # noqa: PLC0415
        from mooring.embedded.status_errors import StatusError  # noqa: PLC0415

        wanted = self._settings
        kubelet = KubeletSettings(job_seconds=wanted.job_seconds) if wanted.kubelet else None
        nodes = [dict(one) for one in wanted.nodes]
        try:
            made = EmbeddedCluster(nodes, Options(kubelet=kubelet))
        except StatusError as rejected:
            raise InputError(f"a node cannot be used: {rejected}") from rejected
        async with made as embedded:
            for resource in RESOURCES:
                if resource is not EVENTS:  # the store has both kinds of events as one
                    embedded.store.listen(resource, self._noticed)
            self.url = embedded.url
            write_private(self._kubeconfig, kubeconfig_text(self.url))
            await self._server.until_told()

    async def _schedule(self) -> None:
        from mooring.live.run import scheduling  # noqa: PLC0415

        async with scheduling(self._scheduler_settings()):
            await self._scheduler.until_told()

    def _scheduler_settings(self) -> "SchedulerSettings":
        from mooring.live.options import HookLimits, RunOptions, read_settings  # noqa: PLC0415

        return read_settings(
            RunOptions(
                policy=self._settings.policy,
                config=self._settings.config,
                kubeconfig=self._kubeconfig,
                leader_elect=False,
                hook_limits=HookLimits(decision_seconds=self.hook_seconds),
            )
        )

    def _noticed(self, _: "WatchEvent | None" = None) -> None:
        with self._news:
            self._changes += 1
            self._news.notify_all()
