"""Runs kubelets and controllers: the loop that makes a store of objects a cluster.

`server` and the demo start it. The only module here that knows asyncio; it works in short slices,
so that requests are answered in between.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from mooring.embedded.api import Api
from mooring.embedded.controllers.all_controllers import all_controllers
from mooring.embedded.controllers.controller import Controller
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.workqueue import WorkQueue
from mooring.embedded.devices.fake_driver import FakeDriver
from mooring.embedded.devices.forms import DriverForm
from mooring.embedded.kubelet.kubelet import Kubelet, KubeletSettings
from mooring.embedded.kubelet.node_allocatable import NodeAllocatable

#: For so long it runs before requests get their turn.
SLICE_SECONDS: Final = 0.01
#: How many objects are reconciled before the clock is read again.
_AT_ONCE: Final = 4


class ControllerManager:
    """Runs controllers and kubelets.

    Args:
        api: the cluster.
        kubelet: how pods behave; None for nodes without kubelets.
        controllers: whether to run controllers.
        events: whether controllers record events.
        root_ca: what clients verify the API server with, in PEM.
        drivers: whose devices nodes have.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        api: Api,
        kubelet: KubeletSettings | None = None,
        *,
        controllers: bool = True,
        events: bool = True,
        root_ca: str = "",
        drivers: Sequence[DriverForm] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._changed = asyncio.Event()
        self._pods = PodIndex()
        running: list[Controller] = []
        if kubelet is not None:
            client = ControllerClient(api, "kubelet", manager="kubelet", events=kubelet.events)
            running.append(Kubelet(client, self._pods, kubelet))
            running.append(NodeAllocatable(client, self._pods))
        if drivers:
            publisher = ControllerClient(api, "fake-driver", manager="fake-driver", events=False)
            running.append(FakeDriver(publisher, self._pods, drivers))
        if controllers:
            running.extend(all_controllers(api, self._pods, events=events, root_ca=root_ca))
        self.workqueue: Final = WorkQueue(api.store, running, self._pods, self._changed.set)

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            self._changed.clear()
            self._run_slice()
            due = self.workqueue.next_due()
            if due is None:
                await self._changed.wait()
                continue
            seconds = due - self._clock()
            if seconds <= 0:
                await asyncio.sleep(0)
                continue
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def settle(self, limit: int = 1_000_000) -> int:
        """Reconcile until nothing is left to do now; how many objects.

        For tests, and before the first request is answered.
        """
        return self.workqueue.run(self._clock(), limit)

    def _run_slice(self) -> None:
        end = time.monotonic() + SLICE_SECONDS
        while self.workqueue.run(self._clock(), _AT_ONCE) == _AT_ONCE and time.monotonic() < end:
            pass
