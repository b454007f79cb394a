"""What makes a store of objects a cluster: kubelets and controllers, and the loop that runs them.

`server` and the demo start it. The only module here that knows asyncio; it works in short slices,
so that requests are answered in between.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from mooring.embedded.api import Api
from mooring.embedded.controllers.every import every
from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.work import Controller, Work
from mooring.embedded.kubelet.kubelet import Kubelet, KubeletSettings

#: For so long it works before others get their turn.
SLICE_SECONDS: Final = 0.01
#: How many objects are looked at before the clock is.
_AT_ONCE: Final = 4


class Life:
    """Everything that happens in a cluster by itself.

    Args:
        api: the cluster.
        kubelet: how pods behave; None for nodes without kubelets.
        controllers: whether Deployments, Jobs and the like are worked on.
        events: whether controllers write events.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        api: Api,
        kubelet: KubeletSettings | None = None,
        *,
        controllers: bool = True,
        events: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._woken = asyncio.Event()
        self._pods = PodIndex()
        workers: list[Controller] = []
        if kubelet is not None:
            hand = Hand(api, "kubelet", manager="kubelet", events=kubelet.events)
            workers.append(Kubelet(hand, self._pods, kubelet))
        if controllers:
            workers.extend(every(api, self._pods, events=events))
        self.work: Final = Work(api.store, workers, self._pods, self._woken.set)

    async def run(self) -> None:
        """Live until cancelled."""
        while True:
            self._woken.clear()
            self._work_a_slice()
            due = self.work.next_due()
            if due is None:
                await self._woken.wait()
                continue
            seconds = due - self._clock()
            if seconds <= 0:
                await asyncio.sleep(0)
                continue
            try:
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
            except TimeoutError:
                continue

    def settle(self, limit: int = 1_000_000) -> int:
        """Work until nothing is left to do now; at how many objects it looked.

        For tests, and before the first request is answered.
        """
        return self.work.run(self._clock(), limit)

    def _work_a_slice(self) -> None:
        end = time.monotonic() + SLICE_SECONDS
        while self.work.run(self._clock(), _AT_ONCE) == _AT_ONCE and time.monotonic() < end:
            pass
