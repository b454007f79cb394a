"""Writes deploy/monitoring/dashboard.json, the Grafana dashboard for `moor run` and `moor serve`.

`make docs` calls it. Panels are listed here as data; the file is what Grafana imports.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parents[1] / "deploy" / "monitoring" / "dashboard.json"
_WIDTH, _HEIGHT = 8, 7
_IN_A_ROW: Final = 24 // _WIDTH
#: One metric that every `moor run` has, and one that every `moor serve` has.
_OURS: Final = '{__name__=~"mooring_state_differences|mooring_extender_connections"}'
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class Panel:
    """A graph: a query for each line or group of lines, with its legend."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    help: str = ""


def _quantiles(histogram: str, selector: str = "", by: str = "") -> tuple[tuple[str, str], ...]:
    inside = f'job=~"$job"{selector}'
    grouped = f"le, {by}" if by else "le"
    legend = f"{{{{{by}}}}} " if by else ""
    buckets = f"sum by ({grouped}) (rate({histogram}_bucket{{{inside}}}[$__rate_interval]))"
    return tuple(
        (f"histogram_quantile({quantile}, {buckets})", f"{legend}p{quantile * 100:g}")
        for quantile in (0.5, 0.99)
    )


def _rate(counter: str, by: str, selector: str = "") -> str:
    inside = f'job=~"$job"{selector}'
    return f"sum by ({by}) (rate({counter}{{{inside}}}[$__rate_interval]))"


SCHEDULER: Final = (
    Panel(
        "Scheduling attempts", "ops",
        ((_rate("scheduler_schedule_attempts_total", "result"), "{{result}}"),),
        "unschedulable: plugins rejected every node. error: something failed, see the log.",
    ),
    Panel(
        "Pending pods", "short",
        (('sum by (queue) (scheduler_pending_pods{job=~"$job"})', "{{queue}}"),),
        "By sub-queue of the scheduling queue.",
    ),
    Panel(
        "Pods by the plugin that rejected them", "short",
        (
            ('sum by (plugin, profile) (scheduler_unschedulable_pods{job=~"$job"})',
             "{{plugin}} ({{profile}})"),
        ),
        "A pod that several plugins rejected counts for each of them.",
    ),
    Panel(
        "Time from first attempt to binding", "s",
        _quantiles("scheduler_pod_scheduling_sli_duration_seconds"),
    ),
    Panel(
        "Scheduling attempt duration", "s",
        _quantiles("scheduler_scheduling_attempt_duration_seconds", ', result="scheduled"'),
        "Deciding and binding, of attempts that bound the pod.",
    ),
    Panel(
        "Time by extension point (p99)", "s",
        _quantiles(
            "scheduler_framework_extension_point_duration_seconds", by="extension_point"
        )[1:],
        "Measured for one decision in ten.",
    ),
    Panel(
        "Preemption", "short",
        (
            (_rate("scheduler_preemption_attempts_total", "job"), "attempts/s"),
            (_rate("scheduler_preemption_victims_sum", "job"), "victims/s"),
        ),
    ),
    Panel(
        "Leader", "short",
        (('leader_election_master_status{job=~"$job"}', "{{instance}} {{name}}"),),
        "1 for the replica that holds the Lease.",
    ),
    Panel(
        "Informers: seconds without a watch", "s",
        (('mooring_informer_stale_seconds{job=~"$job"}', "{{instance}} {{resource}}"),),
    ),
    Panel(
        "Nodes and pods in the cache", "short",
        (('max by (type) (scheduler_cache_size{job=~"$job"})', "{{type}}"),),
    ),
    Panel(
        "Other schedulers and kubelets", "ops",
        (
            (_rate("mooring_foreign_binds_total", "scheduler"), "bound by {{scheduler}}"),
            (_rate("mooring_kubelet_rejections_total", "reason"), "kubelet: {{reason}}"),
        ),
        "Two schedulers on the same nodes can place more pods than fit; kubelets then reject them.",
    ),
    Panel(
        "Kubernetes events", "ops",
        ((_rate("mooring_events_total", "result"), "{{result}}"),),
    ),
)  # fmt: skip

EXTENDER: Final = (
    Panel(
        "Requests", "ops",
        ((_rate("mooring_extender_requests_total", "verb, code"), "{{verb}} {{code}}"),),
    ),
    Panel(
        "Request duration", "s",
        _quantiles("mooring_extender_request_duration_seconds", by="verb"),
    ),
    Panel(
        "Requests without an answer of the policy", "ops",
        (
            (_rate("mooring_extender_errors_total", "verb, kind"), "{{verb}} {{kind}}"),
            (_rate("mooring_extender_slow_requests_total", "verb"), "{{verb}} slow"),
        ),
    ),
    Panel(
        "Policy functions (p99)", "s",
        _quantiles("mooring_policy_function_duration_seconds", by="function")[1:],
    ),
    Panel(
        "Policy functions: errors and hangs", "ops",
        (
            (_rate("mooring_policy_function_errors_total", "function"), "{{function}} errors"),
            (_rate("mooring_policy_function_hangs_total", "function"), "{{function}} hangs"),
        ),
    ),
    Panel(
        "Rejected nodes by reason", "ops",
        (
            (_rate("mooring_policy_rejections_total", "function, reason"),
             "{{function}}: {{reason}}"),
        ),
    ),
    Panel(
        "Node cache", "short",
        (
            ('mooring_node_cache_nodes{job=~"$job"}', "{{instance}} nodes"),
            ('mooring_node_cache_pods{job=~"$job"}', "{{instance}} pods"),
            ('mooring_node_cache_synced{job=~"$job"}', "{{instance}} synced"),
        ),
    ),
    Panel(
        "Waiting requests and connections", "short",
        (
            ('mooring_extender_waiting_requests{job=~"$job"}', "{{instance}} waiting"),
            ('mooring_extender_connections{job=~"$job"}', "{{instance}} connections"),
        ),
    ),
    Panel(
        "Bytes", "Bps",
        (
            (_rate("mooring_extender_request_bytes_total", "verb"), "{{verb}} received"),
            (_rate("mooring_extender_reply_bytes_total", "verb"), "{{verb}} sent"),
        ),
    ),
)  # fmt: skip

PROCESS: Final = (
    Panel(
        "CPU", "percentunit",
        (('rate(process_cpu_seconds_total{job=~"$job"}[$__rate_interval])', "{{instance}}"),),
    ),
    Panel(
        "Memory", "bytes",
        (('process_resident_memory_bytes{job=~"$job"}', "{{instance}}"),),
    ),
)  # fmt: skip

ROWS: Final = {
    "Scheduler (moor run)": SCHEDULER,
    "Extender (moor serve)": EXTENDER,
    "Process": PROCESS,
}


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "uid": "mooring",
        "title": "Mooring",
        "description": "moor run and moor serve; see docs/guide/monitoring.md.",
        "tags": ["kubernetes", "mooring"],
        "schemaVersion": 39,
        "editable": True,
        "timezone": "browser",
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus"},
            {
                "name": "job", "type": "query", "datasource": _SOURCE, "refresh": 2,
                "query": f"label_values({_OURS}, job)",
                "includeAll": True, "multi": True, "current": {"text": "All", "value": "$__all"},
            },
        ]},
        "panels": list(_panels()),
    }  # fmt: skip


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 1, 0
    for title, panels in ROWS.items():
        yield {
            "id": number, "type": "row", "title": title, "collapsed": False, "panels": [],
            "gridPos": {"x": 0, "y": top, "w": 24, "h": 1},
        }  # fmt: skip
        number, top = number + 1, top + 1
        for position, panel in enumerate(panels):
            row, column = divmod(position, _IN_A_ROW)
            place = {
                "x": column * _WIDTH, "y": top + row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT,
            }  # fmt: skip
            yield _panel(number, panel, place)
            number += 1
        top += -(-len(panels) // _IN_A_ROW) * _HEIGHT


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": _SOURCE,
            "expr": query,
            "legendFormat": legend,
        }
        for index, (query, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number, "type": "timeseries", "title": panel.title, "description": panel.help,
        "datasource": _SOURCE, "gridPos": place, "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
    }  # fmt: skip


def text() -> str:
    """The file's text."""
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
