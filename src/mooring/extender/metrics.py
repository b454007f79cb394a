"""The extender's metrics, in Prometheus' form.

One `ExtenderMetrics` belongs to one server process. With several workers prometheus-client's
shared files (``PROMETHEUS_MULTIPROC_DIR``) add them up, whichever worker answers ``/metrics``.
"""

import os

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
)

from mooring.framework.rules import Rule
from mooring.process.metric_labels import LabelValues

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class ExtenderMetrics:
    """Counts what the extender does; also the observer of the policy's functions."""

    def __init__(self) -> None:
        # The time of creation of every series would double the number of lines.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()
        self.requests = Counter(
            "mooring_extender_requests", "Requests by verb and HTTP status.",
            ["verb", "code"], registry=registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "mooring_extender_request_duration_seconds",
            "Time from the request's first byte to the reply's last, by verb.",
            ["verb"], buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.request_bytes = Counter(
            "mooring_extender_request_bytes", "Bytes received, by verb.",
            ["verb"], registry=registry,
        )  # fmt: skip
        self.reply_bytes = Counter(
            "mooring_extender_reply_bytes", "Bytes sent, by verb.", ["verb"], registry=registry
        )
        self.errors = Counter(
            "mooring_extender_errors",
            "Requests that the policy did not answer, by kind: input, policy, late, busy, stuck, "
            "stopping, gone, cluster, internal.",
            ["verb", "kind"], registry=registry,
        )  # fmt: skip
        self.slow = Counter(
            "mooring_extender_slow_requests", "Requests that came near the caller's timeout.",
            ["verb"], registry=registry,
        )  # fmt: skip
        self.whole_nodes = Counter(
            "mooring_extender_whole_nodes",
            "Whole nodes received, by whether their bytes were recognised or had to be decoded.",
            ["how"], registry=registry,
        )  # fmt: skip
        self.function_seconds = Histogram(
            "mooring_policy_function_duration_seconds",
            "Time a function of the policy took for one request, if it was called.",
            ["hook", "function"], buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.function_errors = Counter(
            "mooring_policy_function_errors",
            ("Requests in which a function of the policy raised, did not return or returned "
            "something invalid."),
            ["hook", "function"], registry=registry,
        )  # fmt: skip
        self.rejections = Counter(
            "mooring_policy_rejections",
            "Nodes a filter rejected, by reason; the first 50 reasons of a function count for "
            "themselves, further ones as other.",
            ["function", "reason"], registry=registry,
        )  # fmt: skip
        self.hangs = Counter(
            "mooring_policy_function_hangs",
            "Times a function of the policy did not return in time and was interrupted, "
            "or could not be.",
            ["hook", "function"], registry=registry,
        )  # fmt: skip
        self.waiting = Gauge(
            "mooring_extender_waiting_requests", "Requests that wait for their answer now.",
            registry=registry, multiprocess_mode="livesum",
        )  # fmt: skip
        self.held_bytes = Gauge(
            "mooring_extender_held_bytes", "Bytes of bodies and replies that are in memory now.",
            registry=registry, multiprocess_mode="livesum",
        )  # fmt: skip
        self.connections = Gauge(
            "mooring_extender_connections", "Connections that are open now.",
            registry=registry, multiprocess_mode="livesum",
        )  # fmt: skip
        self.cache_nodes = Gauge(
            "mooring_node_cache_nodes", "Nodes in the node cache.",
            registry=registry, multiprocess_mode="livemax",
        )  # fmt: skip
        self.cache_pods = Gauge(
            "mooring_node_cache_pods", "Pods in the node cache.",
            registry=registry, multiprocess_mode="livemax",
        )  # fmt: skip
        self.cache_synced = Gauge(
            "mooring_node_cache_synced", "1 once nodes and pods are known.",
            registry=registry, multiprocess_mode="livemin",
        )  # fmt: skip
        self.cache_errors = Gauge(
            "mooring_node_cache_errors", "Lists and watches of the node cache that failed so far.",
            registry=registry, multiprocess_mode="livesum",
        )  # fmt: skip
        self._reasons: dict[str, LabelValues] = {}

    def ran(self, rule: Rule, seconds: float) -> None:
        """A function answered."""
        self.function_seconds.labels(rule.kind, rule.name).observe(seconds)

    def failed(self, rule: Rule) -> None:
        """A function raised, did not return or returned something invalid."""
        self.function_errors.labels(rule.kind, rule.name).inc()

    def hung(self, rule: Rule) -> None:
        """A function did not return in time."""
        self.hangs.labels(rule.kind, rule.name).inc()

    def rejected(self, rule: Rule, reason: str, count: int) -> None:
        """A filter rejected nodes for a reason."""
        known = self._reasons.get(rule.name)
        if known is None:
            known = self._reasons[rule.name] = LabelValues()
        self.rejections.labels(rule.name, known.of(reason)).inc(count)

    def received(self, whole_nodes: int, decoded: int) -> None:
        """A request had whole nodes; so many had to be decoded."""
        self.whole_nodes.labels("decoded").inc(decoded)
        self.whole_nodes.labels("recognised").inc(whole_nodes - decoded)

    def text(self) -> bytes:
        """All metrics in Prometheus' text form."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        multiprocess.MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
