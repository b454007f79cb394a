"""Alerts and dashboard ask for metrics that exist, and each alert is tested and explained.

`make release-check` has promtool and a real Prometheus read the same files.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import Histogram, MetricWrapperBase

from mooring.extender.metrics import ExtenderMetrics
from mooring.live.metrics import SchedulerMetrics
from mooring.process.tallied_histogram import TalliedHistogram
from tools import dashboard

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "monitoring"
GUIDE = (ROOT / "docs" / "guide" / "monitoring.md").read_text()
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
TESTS = yaml.safe_load((FOLDER / "alerts_test.yaml").read_text())["tests"]
QUERIES = [
    target["expr"]
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    for target in panel.get("targets", ())
]
#: Prometheus adds these when it scrapes.
TARGET_LABELS = {"job", "instance"}


def exported() -> dict[str, set[str]]:
    """The names of all series with their labels."""
    series: dict[str, set[str]] = {
        "process_cpu_seconds_total": set(), "process_resident_memory_bytes": set(),
    }  # fmt: skip
    for owner in (ExtenderMetrics(), SchedulerMetrics()):
        for metric in vars(owner).values():
            if isinstance(metric, MetricWrapperBase):
                labels = set(metric._labelnames)
            elif isinstance(metric, TalliedHistogram):
                labels = set(metric.label_names)
            else:
                continue
            (family,) = metric.describe()
            if isinstance(metric, (Histogram, TalliedHistogram)):
                series[f"{family.name}_bucket"] = {*labels, "le"}
                series |= {f"{family.name}_{part}": labels for part in ("sum", "count")}
            else:
                series[family.name + "_total" * (family.type == "counter")] = labels
    return series


EXPORTED = exported()


def unknown(query: str) -> Iterator[str]:
    """What a query asks for that nobody exports.

    Every label in a selector must be one of its metric, and every label to group by one of some
    metric in the query.
    """
    names = set(re.findall(r"\b(?:mooring|scheduler|leader_election|process)_\w+", query))
    yield from names - set(EXPORTED)
    for name, selector in re.findall(r"(\w+)\{([^}]*)\}", query):
        asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))
        yield from asked - EXPORTED.get(name, set()) - TARGET_LABELS
    known = set().union(*(EXPORTED.get(name, set()) for name in names)) | TARGET_LABELS
    for grouped in re.findall(r"(?:by|on) \(([^)]*)\)", query):
        yield from {label.strip() for label in grouped.split(",")} - known


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_what_exists(rule: dict[str, Any]) -> None:
    assert list(unknown(rule["expr"])) == []
    used = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    assert used <= TARGET_LABELS | set().union(*EXPORTED.values())


@pytest.mark.parametrize("query", QUERIES)
def test_a_panel_asks_for_what_exists(query: str) -> None:
    assert list(unknown(query)) == []
    assert '{job=~"$job"' in query


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("mooring_no_such_metric > 0", ["mooring_no_such_metric"]),
        ('rate(mooring_events_total{what="x"}[5m])', ["what"]),
        ("sum by (verb) (mooring_state_differences)", ["verb"]),
    ],
)
def test_what_does_not_exist_is_found(query: str, wrong: list[str]) -> None:
    assert list(unknown(query)) == wrong


def test_the_dashboard_is_up_to_date() -> None:
    assert (FOLDER / "dashboard.json").read_text() == dashboard.text(), "run `make docs`"


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard.dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_every_alert_is_seen_firing_in_its_tests() -> None:
    fires = {
        case["alertname"]
        for test in TESTS
        for case in test["alert_rule_test"]
        if case["exp_alerts"]
    }
    assert fires == {rule["alert"] for rule in RULES}


def test_the_guide_says_what_to_do_about_every_alert() -> None:
    assert re.findall(r"^### (Mooring\w+)$", GUIDE, re.MULTILINE) == [r["alert"] for r in RULES]
