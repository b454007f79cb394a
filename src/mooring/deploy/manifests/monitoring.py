"""How Prometheus finds the metrics. `manifest_set` calls it."""

from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, labels, metadata, selector
from mooring.deploy.manifests.nodes import Noted, more_entries, setting
from mooring.deploy.manifests.workloads import health_port


def monitoring(installation: Installation) -> list[Manifest]:
    """A Service for metrics and a ServiceMonitor for Prometheus' operator."""
    one = installation
    wanted = {**selector(one), "app.kubernetes.io/component": "metrics"}
    head = metadata(one, "-metrics")
    head["labels"] = {**labels(one), "app.kubernetes.io/component": "metrics"}
    metrics_service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": head,
        "spec": {
            "clusterIP": Noted("None", "each pod is scraped"),
            "selector": selector(one),
            "ports": [{"name": "metrics", "port": health_port(one), "targetPort": "health"}],
        },
    }
    monitor_head = metadata(one)
    monitor_head["labels"] = {
        **labels(one),
        "more": more_entries("serviceMonitor.additionalLabels"),
    }
    monitor = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": monitor_head,
        "spec": {
            "selector": {"matchLabels": wanted},
            "endpoints": [
                {
                    "port": "metrics",
                    "path": "/metrics",
                    "interval": setting("serviceMonitor.interval", "30s"),
                }
            ],
        },
    }
    toggle, off = "serviceMonitor.enabled", not one.service_monitor
    comment = "Metrics, for Prometheus' operator."
    return [
        Manifest("monitoring", metrics_service, comment, toggle, off),
        Manifest("monitoring", monitor, "", toggle, off),
    ]
