"""Names, labels and buckets are kube-scheduler's, and counting is what it says."""

import pytest
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

from mooring.live.metrics import SchedulerMetrics
from mooring.process.tallied_histogram import TalliedHistogram
from tests.unit.extender.asgi import sample

# From kube-scheduler v1.36.4's pkg/scheduler/metrics/metrics.go: labels, then first bucket, factor
# and number of buckets.
KUBE_SCHEDULERS = {
    "scheduler_schedule_attempts_total": (["result", "profile"], None),
    "scheduler_event_handling_duration_seconds": (["event"], (0.0001, 2, 12)),
    "scheduler_scheduling_attempt_duration_seconds": (["result", "profile"], (0.001, 2, 15)),
    "scheduler_scheduling_algorithm_duration_seconds": ([], (0.001, 2, 15)),
    "scheduler_preemption_victims": ([], (1, 2, 7)),
    "scheduler_preemption_attempts_total": ([], None),
    "scheduler_pending_pods": (["queue"], None),
    "scheduler_inflight_events": (["event"], None),
    "scheduler_pod_scheduling_sli_duration_seconds": (["attempts"], (0.01, 2, 20)),
    "scheduler_pod_scheduling_attempts": ([], (1, 2, 5)),
    "scheduler_framework_extension_point_duration_seconds": (
        ["extension_point", "status", "profile"], (0.0001, 2, 12),
    ),
    "scheduler_queue_incoming_pods_total": (["queue", "event"], None),
    "scheduler_permit_wait_duration_seconds": (["result"], (0.001, 2, 15)),
    "scheduler_cache_size": (["type"], None),
    "scheduler_unschedulable_pods": (["plugin", "profile"], None),
}  # fmt: skip


def families(metrics: SchedulerMetrics) -> dict[str, MetricWrapperBase | TalliedHistogram]:
    found = {}
    for metric in vars(metrics).values():
        if isinstance(metric, (MetricWrapperBase, TalliedHistogram)):
            (family,) = metric.describe()
            found[f"{family.name}_total" if family.type == "counter" else family.name] = metric
    return found


class TestNames:
    def test_kube_schedulers_own(self) -> None:
        found = families(SchedulerMetrics())
        own = {name: metric for name, metric in found.items() if name.startswith("scheduler_")}
        assert own.keys() == KUBE_SCHEDULERS.keys()
        for name, metric in own.items():
            labels, buckets = KUBE_SCHEDULERS[name]
            if buckets is None:
                assert isinstance(metric, MetricWrapperBase), name
                assert list(metric._labelnames) == labels, name
            else:
                assert isinstance(metric, TalliedHistogram), name
                assert list(metric.label_names) == labels, name
                first, factor, count = buckets
                assert metric.buckets == pytest.approx([first * factor**n for n in range(count)]), (
                    name
                )

    def test_the_others_are_moorings_or_everybodys(self) -> None:
        others = families(SchedulerMetrics()).keys() - KUBE_SCHEDULERS.keys()
        assert {name for name in others if not name.startswith("mooring_")} == {
            "leader_election_master_status"
        }

    def test_the_process_is_measured(self) -> None:
        text = SchedulerMetrics().text()
        assert sample(text, "process_resident_memory_bytes") > 1e6
        assert b"python_info" in text

    def test_every_scheduler_has_its_own(self) -> None:
        one, other = SchedulerMetrics(), SchedulerMetrics()
        one.preempted(2)
        assert sample(one.text(), "scheduler_preemption_victims_sum") == 2
        assert sample(other.text(), "scheduler_preemption_victims_sum") == 0


class TestCounting:
    def test_attempts(self) -> None:
        metrics = SchedulerMetrics()
        metrics.attempt("default-scheduler", "scheduled", 0.003)
        metrics.attempt("default-scheduler", "scheduled", 0.001)
        metrics.attempt("other", "error", 3)
        text = metrics.text()
        name = "scheduler_schedule_attempts_total"
        assert sample(text, name, result="scheduled", profile="default-scheduler") == 2
        assert sample(text, name, result="error", profile="other") == 1
        name = "scheduler_scheduling_attempt_duration_seconds"
        assert sample(text, f"{name}_sum", result="scheduled") == pytest.approx(0.004)
        assert sample(text, f"{name}_bucket", result="scheduled", le="0.001") == 1
        assert sample(text, f"{name}_bucket", result="scheduled", le="0.004") == 2

    @pytest.mark.parametrize(
        ("attempts", "label"), [(1, "1"), (15, "15"), (16, "16+"), (400, "16+")]
    )
    def test_bound_pods(self, attempts: int, label: str) -> None:
        metrics = SchedulerMetrics()
        metrics.bound("p", attempts, 0.5)
        text = metrics.text()
        name = "scheduler_pod_scheduling_sli_duration_seconds_count"
        assert sample(text, name, attempts=label) == 1
        assert sample(text, "scheduler_pod_scheduling_attempts_sum") == attempts

    def test_the_rest(self) -> None:
        metrics = SchedulerMetrics()
        metrics.algorithm(0.002)
        metrics.preemption_attempt()
        metrics.extension_point_ran("Filter", "Success", "p", 0.001)
        metrics.permitted("Success", 2)
        metrics.event_handled("Pod", 0.001)
        metrics.foreign_bind("other-scheduler")
        text = metrics.text()
        for name, labels in {
            "scheduler_scheduling_algorithm_duration_seconds_count": {},
            "scheduler_preemption_attempts_total": {},
            "scheduler_framework_extension_point_duration_seconds_count": {
                "extension_point": "Filter", "status": "Success", "profile": "p",
            },
            "scheduler_permit_wait_duration_seconds_count": {"result": "Success"},
            "scheduler_event_handling_duration_seconds_count": {"event": "Pod"},
            "mooring_foreign_binds_total": {"scheduler": "other-scheduler"},
        }.items():  # fmt: skip
            assert sample(text, name, **labels) == 1, name

    def test_reasons_of_kubelets_cannot_fill_the_memory(self) -> None:
        metrics = SchedulerMetrics()
        for number in range(200):
            metrics.kubelet_rejected(f"OutOf{number}")
        metrics.kubelet_rejected("OutOf1")
        text = metrics.text()
        name = "mooring_kubelet_rejections_total"
        assert sample(text, name, reason="OutOf1") == 2
        assert sample(text, name, reason="other") == 150
        assert sample(text, name) == 201

    def test_names_of_schedulers_cannot_fill_the_memory(self) -> None:
        metrics = SchedulerMetrics()
        for number in range(200):
            metrics.foreign_bind(f"scheduler-{number}")
        text = metrics.text()
        name = "mooring_foreign_binds_total"
        assert text.decode().count(name + "{") == 51
        assert sample(text, name, scheduler="scheduler-1") == 1
        assert sample(text, name, scheduler="other") == 150

    def test_the_text_is_well_formed(self) -> None:
        names = {
            one.name for one in text_string_to_metric_families(SchedulerMetrics().text().decode())
        }
        assert "scheduler_schedule_attempts" in names
        assert not any(name.endswith("_created") for name in names)
