"""An embedded cluster with mooring's scheduler, in a thread with an event loop of its own.

`mooring.testing.cluster` is built on it. What it needs is imported when it starts, so that tests
without it start fast.
"""

import asyncio
import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mooring.errors import InputError, MooringError
from mooring.framework.policy import Policy

if TYPE_CHECKING:
    from mooring.embedded.store import Entry
    from mooring.live.options import Settings

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0


class EmbeddedSettings(NamedTuple):
    """What the cluster is made of.

    Attributes:
        nodes: manifests.
        policy: a policy that takes part in scheduling, or where it is.
        config: a parsed KubeSchedulerConfiguration; None is the default one.
        scheduler: whether there is a scheduler.
        kubelet: whether bound pods run.
        job_seconds: how long pods of jobs run; None for ever.
    """

    nodes: Sequence[Mapping[str, Any]]
    policy: Policy | str | None
    config: Mapping[str, Any] | None
    scheduler: bool
    kubelet: bool
    job_seconds: float | None


class EmbeddedThread:
    """The running cluster.

    Args:
        settings: what it is made of.
        kubeconfig: where its kubeconfig is written.

    Attributes:
        url: the API server's address, once it is started.
        failure: what ended it, if it ended by itself.
    """

    url: str

    def __init__(self, settings: EmbeddedSettings, kubeconfig: Path) -> None:
        self.failure: BaseException | None = None
        self._settings = settings
        self._kubeconfig = kubeconfig
        self._ready = threading.Event()
        self._news = threading.Condition()
        self._changes = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._live, name="mooring-cluster", daemon=True)

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            InputError: the policy, the configuration or a node cannot be used.
        """
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            self.stop()
            raise MooringError(f"the cluster did not start within {_START_SECONDS:g} seconds")
        if self.failure is not None:
            self._thread.join()
            raise self.failure

    def stop(self) -> None:
        """End it and wait until nothing of it is left."""
        if self._loop is not None and self._end is not None:
            with contextlib.suppress(RuntimeError):  # it ended by itself
                self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(_STOP_SECONDS)

    @property
    def changes(self) -> int:
        """Grows whenever an object changes."""
        with self._news:
            return self._changes

    def wait_change(self, seen: int, seconds: float) -> None:
        """Wait until there are other changes than those seen, for at most so long."""
        with self._news:
            self._news.wait_for(lambda: self._changes != seen, seconds)

    # -- in the thread

    def _live(self) -> None:
        import uvloop  # noqa: PLC0415 - only when a cluster is started

        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - raised where the cluster is used
            self.failure = error
        finally:
            self._ready.set()
            self._noticed(None)

    async def _serve(self) -> None:
        from mooring.embedded.kubelet.kubelet import KubeletSettings  # noqa: PLC0415
        from mooring.embedded.refusals import Refused  # noqa: PLC0415
        from mooring.embedded.resources import EVENTS, RESOURCES  # noqa: PLC0415
        from mooring.embedded.server import EmbeddedCluster, Options  # noqa: PLC0415
        from mooring.live.run import scheduling  # noqa: PLC0415
        from mooring.testing.kubeconfigs import kubeconfig_text, write_private  # noqa: PLC0415

        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        wanted = self._settings
        kubelet = KubeletSettings(job_seconds=wanted.job_seconds) if wanted.kubelet else None
        nodes = [dict(one) for one in wanted.nodes]
        try:
            made = EmbeddedCluster(nodes, Options(kubelet=kubelet))
        except Refused as refused:
            raise InputError(f"a node cannot be used: {refused}") from refused
        async with contextlib.AsyncExitStack() as stack:
            embedded = await stack.enter_async_context(made)
            for resource in RESOURCES:
                if resource is not EVENTS:  # the store has both kinds of events as one
                    embedded.store.listen(resource, self._noticed)
            self.url = embedded.url
            write_private(self._kubeconfig, kubeconfig_text(self.url))
            if wanted.scheduler:
                await stack.enter_async_context(scheduling(self._scheduler()))
            self._ready.set()
            await self._end.wait()

    def _scheduler(self) -> "Settings":
        from mooring.live.options import Options, read_settings  # noqa: PLC0415

        return read_settings(
            Options(
                policy=self._settings.policy,
                config=self._settings.config,
                kubeconfig=self._kubeconfig,
                leader_elect=False,
            )
        )

    def _noticed(self, _: "Entry | None") -> None:
        with self._news:
            self._changes += 1
            self._news.notify_all()
