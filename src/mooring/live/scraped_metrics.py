"""Metrics that are looked up when somebody asks: queue, state, informers, events, the Lease.

`server` calls `ScrapedMetrics.text` for ``/metrics``. Nothing here is touched while pods are
scheduled.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from prometheus_client import Counter

from mooring.kube.events import EventCounters
from mooring.kube.informer import Informer
from mooring.live.metrics import SchedulerMetrics
from mooring.scheduler.core import Core

_INFORMER_EVENTS: Final = (
    "lists", "watches", "events", "errors", "skipped", "replayed", "stalls",
)  # fmt: skip
_EVENTS: Final = ("created", "patched", "dropped", "failed")


class FollowingCounter:
    """A counter that follows numbers kept elsewhere; they only grow.

    Args:
        counter: gets what was added since the last time.
    """

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._seen: dict[tuple[str, ...], int] = {}

    def follow(self, total: int, *labels: str) -> None:
        """The number with these labels is so large now."""
        before = self._seen.get(labels, 0)
        # Counted even if nothing happened yet, so that the series is there.
        self._counter.labels(*labels).inc(max(total - before, 0))
        self._seen[labels] = total


class ScrapedMetrics:
    """Brings the gauges up to date.

    Args:
        metrics: what is served.
        core: the scheduler's heart.
        informers: what keeps the state up to date, by resource.
        events: what became of Kubernetes events.
    """

    def __init__(
        self,
        metrics: SchedulerMetrics,
        core: Core,
        informers: Mapping[str, Informer[Any]],
        events: EventCounters,
    ) -> None:
        self._metrics = metrics
        self._core = core
        self._informers = informers
        self._counters = events
        self._incoming = FollowingCounter(metrics.incoming)
        self._informer_events = FollowingCounter(metrics.informer_events)
        self._events = FollowingCounter(metrics.events)
        self._led: tuple[str, Callable[[], bool]] | None = None

    def show_leader(self, lease: str, leading: Callable[[], bool]) -> None:
        """Show who leads; `lease` is the Lease's name."""
        self._led = (lease, leading)

    def text(self) -> bytes:
        """All metrics in Prometheus' text form, as they are now."""
        self._queue()
        self._cluster()
        self._follow_informers()
        for result in _EVENTS:
            self._events.follow(getattr(self._counters, result), result)
        if self._led is not None:
            lease, leading = self._led
            self._metrics.leading.labels(lease).set(int(leading()))
        return self._metrics.text()

    def _queue(self) -> None:
        queue, metrics = self._core.queue, self._metrics
        for part, count in queue.counts().items():
            metrics.pending.labels(part).set(count)
        for (part, event), count in queue.incoming.items():
            self._incoming.follow(count, part, event)
        metrics.unschedulable.clear()  # plugins that reject nobody any more are not in the count
        for (plugin, profile), count in queue.rejected.items():
            metrics.unschedulable.labels(plugin, profile).set(count)
        metrics.inflight_events.labels("").set(queue.in_flight.changes)

    def _cluster(self) -> None:
        cluster, sizes = self._core.cluster, self._metrics.cache_size
        sizes.labels("nodes").set(len(cluster.nodes))
        sizes.labels("pods").set(cluster.pods)
        sizes.labels("assumed_pods").set(cluster.assumed)

    def _follow_informers(self) -> None:
        metrics = self._metrics
        for resource, informer in self._informers.items():
            metrics.informer_synced.labels(resource).set(int(informer.synced.is_set()))
            metrics.informer_connected.labels(resource).set(int(informer.connected))
            metrics.informer_stale.labels(resource).set(informer.stale_seconds)
            metrics.informer_objects.labels(resource).set(len(informer.known))
            counters = informer.counters
            for what in _INFORMER_EVENTS:
                self._informer_events.follow(getattr(counters, what), resource, what)
