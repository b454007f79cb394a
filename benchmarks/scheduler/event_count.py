"""Waits until all events of a run are written; called by `measuring` when all pods are bound.

Events are counted, not watched: a watch would cost the API server as much as writing them.
"""

import asyncio
import time

from benchmarks.scheduler.run import Events
from mooring.testing.real_kubernetes import ControlPlane

_LOOK_SECONDS = 0.2
#: When no event came for so long, no more are waited for.
_PATIENCE_SECONDS = 10.0


async def wait_for_events(plane: ControlPlane, namespace: str, wanted: int, since: float) -> Events:
    """Count the events of a namespace until there are as many as wanted, or no more come.

    Args:
        plane: the control plane.
        namespace: where nothing but the placing of pods is recorded.
        wanted: how many.
        since: from when on to count seconds.
    """
    last, progress = -1, time.perf_counter()
    while True:
        written = await asyncio.to_thread(_count, plane, namespace)
        now = time.perf_counter()
        if written >= wanted:
            return Events(written, now - since)
        if written > last:
            last, progress = written, now
        elif now - progress > _PATIENCE_SECONDS:
            return Events(written, None)
        await asyncio.sleep(_LOOK_SECONDS)


def _count(plane: ControlPlane, namespace: str) -> int:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events?limit=1"
    page = plane.request("GET", path)
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))
