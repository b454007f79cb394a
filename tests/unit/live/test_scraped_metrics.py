"""Metrics that are looked up: they say what is, also when it changes back."""

import asyncio
from typing import Any

from mooring.kube.events import EventCounters
from mooring.kube.watch_protocol import ReflectorCounters
from mooring.live.metrics import SchedulerMetrics
from mooring.live.scraped_metrics import ScrapedMetrics
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import sample
from tests.unit.scheduler.world import World


class FakeInformer:
    """An informer that is told how it is."""

    def __init__(self) -> None:
        self.synced = asyncio.Event()
        self.connected = False
        self.stale_seconds = 0.0
        self.known = {"/a": 1, "/b": 2}
        self.counters = ReflectorCounters(
            lists=1, watches=2, events=3, errors=4, skipped=5, replayed=6
        )


class Setting:
    """A scrape with everything it looks at."""

    def __init__(self, *objects: Any) -> None:
        self.world = World(*objects)
        self.informer: Any = FakeInformer()
        self.events = EventCounters()
        informers: dict[str, Any] = {"nodes": self.informer}
        self.scraped_metrics = ScrapedMetrics(
            SchedulerMetrics(), self.world.core, informers, self.events
        )

    def value(self, metric: str, **labels: str) -> float:
        return sample(self.scraped_metrics.text(), metric, **labels)


def test_the_queue() -> None:
    gated = make_pod("gated", spec={"schedulingGates": [{"name": "g"}]})
    big = make_pod("big", requests={"cpu": "100"})
    setting = Setting(make_node("a"), make_pod("p"), gated, big)
    assert setting.value("scheduler_pending_pods", queue="active") == 2
    assert setting.value("scheduler_pending_pods", queue="gated") == 1
    assert setting.value("scheduler_queue_incoming_pods_total", queue="active") == 2
    setting.world.run()
    assert setting.value("scheduler_pending_pods", queue="active") == 0
    assert setting.value("scheduler_pending_pods", queue="unschedulable") == 1
    rejected = {"plugin": "NodeResourcesFit", "profile": "default-scheduler"}
    assert setting.value("scheduler_unschedulable_pods", **rejected) == 1
    setting.world.delete(big)
    assert setting.value("scheduler_unschedulable_pods", **rejected) == 0


def test_counters_count_once() -> None:
    setting = Setting(make_pod("p"))
    name = "scheduler_queue_incoming_pods_total"
    assert [setting.value(name, queue="active") for _ in range(3)] == [1, 1, 1]
    setting.world.put(make_pod("q"))
    assert setting.value(name, queue="active", event="UnschedulablePodAdd") == 2


def test_the_state() -> None:
    setting = Setting(make_node("a"), make_node("b"), make_pod("p"), make_pod("q", node="a"))
    setting.world.prompt = False
    setting.world.run()
    sizes = {
        kind: setting.value("scheduler_cache_size", type=kind)
        for kind in ("nodes", "pods", "assumed_pods")
    }
    assert sizes == {"nodes": 2, "pods": 2, "assumed_pods": 1}


def test_informers() -> None:
    setting = Setting()
    assert setting.value("mooring_informer_synced", resource="nodes") == 0
    assert setting.value("mooring_informer_objects", resource="nodes") == 2
    setting.informer.synced.set()
    setting.informer.connected = True
    assert setting.value("mooring_informer_synced", resource="nodes") == 1
    assert setting.value("mooring_informer_connected", resource="nodes") == 1
    name = "mooring_informer_events_total"
    told = {
        what: setting.value(name, resource="nodes", what=what)
        for what in ("lists", "watches", "events", "errors", "skipped", "replayed")
    }
    assert told == {"lists": 1, "watches": 2, "events": 3, "errors": 4, "skipped": 5, "replayed": 6}


def test_events() -> None:
    setting = Setting()
    assert b'mooring_events_total{result="dropped"} 0.0' in setting.scraped_metrics.text()
    setting.events.dropped = 3
    assert setting.value("mooring_events_total", result="dropped") == 3


def test_who_leads() -> None:
    setting = Setting()
    assert b"leader_election_master_status{" not in setting.scraped_metrics.text()
    leads = True
    setting.scraped_metrics.show_leader("kube-scheduler", lambda: leads)
    line = b'leader_election_master_status{name="kube-scheduler"} %d.0'
    assert line % 1 in setting.scraped_metrics.text()
    leads = False
    assert line % 0 in setting.scraped_metrics.text()
