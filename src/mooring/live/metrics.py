"""The scheduler's metrics, in Prometheus' form.

Names, labels and buckets are kube-scheduler's own, so that its dashboards and alerts work; what
only mooring has begins with ``mooring_``. Metrics of the process are there as well.

The loop counts here; what can be looked up when somebody asks is in `scraped_metrics`. One
`SchedulerMetrics` belongs to one scheduler, not to the process.
"""

# parity v1.36.4: pkg/scheduler/metrics/metrics.go

from functools import cache
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from mooring.process.metric_labels import LabelValues
from mooring.process.tallied_histogram import TalliedHistogram

#: Pods that were tried more often have one label together.
_MOST_ATTEMPTS: Final = 15
RESULTS: Final = ("scheduled", "unschedulable", "error")


def _buckets(first: float, factor: float, count: int) -> tuple[float, ...]:
    return tuple(first * factor**step for step in range(count))


_ATTEMPT_SECONDS: Final = _buckets(0.001, 2, 15)
_POINT_SECONDS: Final = _buckets(0.0001, 2, 12)


class SchedulerMetrics:
    """Counts what the scheduler does.

    The methods are called for every pod, so children with labels are looked up once.
    """

    def __init__(self) -> None:
        # The time of creation of every series would double the number of lines.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()
        self.attempts = Counter(
            "scheduler_schedule_attempts",
            "Attempts to schedule a pod, by result: scheduled, unschedulable (plugins rejected) or "
            "error (something failed).",
            ["result", "profile"], registry=registry,
        )  # fmt: skip
        self.attempt_seconds = TalliedHistogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Time of an attempt: deciding and binding.",
            ["result", "profile"], buckets=_ATTEMPT_SECONDS, registry=registry,
        )  # fmt: skip
        self.algorithm_seconds = TalliedHistogram(
            "scheduler_scheduling_algorithm_duration_seconds", "Time of one decision.",
            buckets=_ATTEMPT_SECONDS, registry=registry,
        )  # fmt: skip
        self.sli_seconds = TalliedHistogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Time from a pod's first attempt until it was bound, by the number of attempts.",
            ["attempts"], buckets=_buckets(0.01, 2, 20), registry=registry,
        )  # fmt: skip
        self.pod_attempts = TalliedHistogram(
            "scheduler_pod_scheduling_attempts", "Attempts that bound pods needed.",
            buckets=_buckets(1, 2, 5), registry=registry,
        )  # fmt: skip
        self.victims = TalliedHistogram(
            "scheduler_preemption_victims", "Pods preempted to make room for one.",
            buckets=_buckets(1, 2, 7), registry=registry,
        )  # fmt: skip
        self.preemption_attempts = Counter(
            "scheduler_preemption_attempts", "Searches for pods whose preemption would make room.",
            registry=registry,
        )  # fmt: skip
        self.point_seconds = TalliedHistogram(
            "scheduler_framework_extension_point_duration_seconds",
            "Time of all plugins at an extension point, measured for one decision in ten; Score "
            "has PreScore in it.",
            ["extension_point", "status", "profile"], buckets=_POINT_SECONDS, registry=registry,
        )  # fmt: skip
        self.permit_seconds = TalliedHistogram(
            "scheduler_permit_wait_duration_seconds",
            "Time that pods waited for a Permit plugin, by what it came to.",
            ["result"], buckets=_ATTEMPT_SECONDS, registry=registry,
        )  # fmt: skip
        self.event_seconds = TalliedHistogram(
            "scheduler_event_handling_duration_seconds",
            "Time to apply one change of the cluster, by kind.",
            ["event"], buckets=_POINT_SECONDS, registry=registry,
        )  # fmt: skip
        self.pending = Gauge(
            "scheduler_pending_pods",
            "Pending pods, by sub-queue: active, backoff, unschedulable, gated.",
            ["queue"], registry=registry,
        )  # fmt: skip
        self.incoming = Counter(
            "scheduler_queue_incoming_pods", "Pods that came to a sub-queue, and why.",
            ["queue", "event"], registry=registry,
        )  # fmt: skip
        self.inflight_events = Gauge(
            "scheduler_inflight_events",
            "Cluster events kept for pods in flight.", ["event"], registry=registry,
        )  # fmt: skip
        self.unschedulable = Gauge(
            "scheduler_unschedulable_pods",
            "Pods that a plugin rejected; a pod that several rejected counts for each.",
            ["plugin", "profile"], registry=registry,
        )  # fmt: skip
        self.cache_size = Gauge(
            "scheduler_cache_size",
            "What the scheduler knows of the cluster: nodes, pods, and assumed_pods, which wait "
            "for a Permit plugin or are being bound.",
            ["type"], registry=registry,
        )  # fmt: skip
        self.leading = Gauge(
            "leader_election_master_status", "1 while this process leads, by Lease.",
            ["name"], registry=registry,
        )  # fmt: skip
        self.foreign_binds = Counter(
            "mooring_foreign_binds",
            "Pods that another scheduler bound to the same nodes, by its name; the first 50 names "
            "count for themselves, further ones as other.",
            ["scheduler"], registry=registry,
        )  # fmt: skip
        self.kubelet_rejections = Counter(
            "mooring_kubelet_rejections",
            "Pods of ours that a kubelet rejected, by its reason, such as OutOfcpu; the "
            "first 50 reasons count for themselves, further ones as other.",
            ["reason"], registry=registry,
        )  # fmt: skip
        self.events = Counter(
            "mooring_events",
            "Kubernetes events, by what became of them: created, patched (a count went up), "
            "dropped (too many waited) or failed.",
            ["result"], registry=registry,
        )  # fmt: skip
        self.informer_synced = Gauge(
            "mooring_informer_synced", "1 once the first list of a resource is complete.",
            ["resource"], registry=registry,
        )  # fmt: skip
        self.informer_connected = Gauge(
            "mooring_informer_connected", "1 while a watch of the resource is open.",
            ["resource"], registry=registry,
        )  # fmt: skip
        self.informer_stale = Gauge(
            "mooring_informer_stale_seconds",
            "For how long the resource may have changed unheard; 0 while a watch is open.",
            ["resource"], registry=registry,
        )  # fmt: skip
        self.informer_objects = Gauge(
            "mooring_informer_objects", "Objects of the resource that are known.",
            ["resource"], registry=registry,
        )  # fmt: skip
        self.informer_events = Counter(
            "mooring_informer_events",
            ("Informer activity: lists, watches, events, errors, skipped (objects that cannot "
            "be parsed), replayed (events about the past, which have no effect), stalls "
            "(watches without any data)."),
            ["resource", "what"], registry=registry,
        )  # fmt: skip
        self.state_differences = Gauge(
            "mooring_state_differences",
            "Differences between the state and a fresh list when they were last compared "
            "(SIGUSR2); -1 before.",
            registry=registry,
        )  # fmt: skip
        self.state_differences.set(-1)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        self._attempt = cache(
            lambda result, profile: (
                self.attempts.labels(result, profile),
                self.attempt_seconds.labels(result, profile),
            )
        )
        self._sli = cache(self.sli_seconds.labels)
        self._point = cache(self.point_seconds.labels)
        self._event = cache(self.event_seconds.labels)
        self._reasons = LabelValues()
        self._schedulers = LabelValues()

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        """A pod was tried: ``scheduled``, ``unschedulable`` or ``error``."""
        counter, histogram = self._attempt(result, profile)
        counter.inc()
        histogram.observe(seconds)

    def algorithm(self, seconds: float) -> None:
        """A decision took so long."""
        self.algorithm_seconds.observe(seconds)

    def bound(self, profile: str, attempts: int, seconds: float) -> None:  # noqa: ARG002
        """A pod was bound, after so many attempts and so long after the first of them."""
        self.pod_attempts.observe(attempts)
        label = str(attempts) if attempts <= _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS + 1}+"
        self._sli(label).observe(seconds)

    def preempted(self, victims: int) -> None:
        """Victims are to be preempted for a pod."""
        self.victims.observe(victims)

    def preemption_attempt(self) -> None:
        """A search for victims began."""
        self.preemption_attempts.inc()

    def extension_point_ran(self, point: str, status: str, profile: str, seconds: float) -> None:
        """The plugins of an extension point, such as ``Filter``, took so long."""
        self._point(point, status, profile).observe(seconds)

    def permitted(self, result: str, seconds: float) -> None:
        """A pod waited so long for a Permit plugin; ``Success`` or ``Unschedulable``."""
        self.permit_seconds.labels(result).observe(seconds)

    def event_handled(self, event: str, seconds: float) -> None:
        """Changes of one kind were applied."""
        self._event(event).observe(seconds)

    def foreign_bind(self, scheduler_name: str) -> None:
        """Another scheduler bound a pod."""
        self.foreign_binds.labels(self._schedulers.of(scheduler_name)).inc()

    def kubelet_rejected(self, reason: str) -> None:
        """A kubelet rejected a pod of ours."""
        self.kubelet_rejections.labels(self._reasons.of(reason)).inc()

    def text(self) -> bytes:
        """All metrics in Prometheus' text form."""
        return generate_latest(self._registry)
