"""What the extender's end-to-end tests share: nodes and pods that are removed, events, policies."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mooring.testing.kube import ControlPlane, KubeScheduler
from mooring.testing.serve import MoorServe


def write_policy(folder: Path, body: str) -> Path:
    """A policy file with these lines after ``policy = mr.Policy(...)``."""
    path = folder / "policy.py"
    path.write_text(f"import mooring as mr\n\npolicy = mr.Policy('test')\n{body}")
    return path


def pod(name: str, namespace: str, scheduler: str, **spec: Any) -> dict[str, Any]:
    """A pod with one container that asks for a little."""
    requests = spec.pop("requests", {"cpu": "100m", "memory": "64Mi"})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedulerName": scheduler,
            "containers": [
                {
                    "name": "main",
                    "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": requests},
                }
            ],
            **spec,
        },
    }


def extender_config(
    server: MoorServe, scheduler: str, verbs: Sequence[str], **extra: Any
) -> dict[str, Any]:
    """A KubeSchedulerConfiguration with one extender that has these verbs."""
    names = {"filter": "filterVerb", "prioritize": "prioritizeVerb"}
    names |= {"preempt": "preemptVerb", "bind": "bindVerb"}
    extender = {"urlPrefix": server.url, "weight": 100, "httpTimeout": "10s"}
    return {
        "profiles": [{"schedulerName": scheduler}],
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
        "extenders": [{**extender, **{names[verb]: verb for verb in verbs}, **extra}],
    }


@contextmanager
def nodes(plane: ControlPlane, **by_name: Mapping[str, Any]) -> Iterator[None]:
    """Nodes that exist for the time of the block; the names' underscores become dashes."""
    names = {name.replace("_", "-"): options for name, options in by_name.items()}
    try:
        for name, options in names.items():
            plane.create_node(name, **options)
        yield
    finally:
        plane.delete_all("Node")


def node_of(plane: ControlPlane, name: str, namespace: str) -> str:
    """The node a pod is on, waiting until it is bound."""

    def bound() -> str | None:
        where: str | None = plane.get("Pod", name, namespace)["spec"].get("nodeName")
        return where

    return plane.wait_for(bound, f"pod {name} to be bound")


def event_of(plane: ControlPlane, name: str, namespace: str, reason: str) -> dict[str, Any]:
    """The newest event of a pod with a reason, waiting for it."""

    def found() -> dict[str, Any] | None:
        events = [
            event
            for event in plane.list_objects("Event", namespace)
            if event["reason"] == reason and event["involvedObject"]["name"] == name
        ]
        return events[-1] if events else None

    return plane.wait_for(found, f"event {reason} of pod {name}")


def scheduled_message(plane: ControlPlane, name: str, namespace: str, scheduler: str) -> str:
    """The text of a pod's Scheduled event, which must come from the scheduler."""
    event = event_of(plane, name, namespace, "Scheduled")
    assert scheduler in (event.get("reportingComponent"), event.get("source", {}).get("component"))
    message: str = event["message"]
    return message


__all__ = [
    "KubeScheduler",
    "event_of",
    "extender_config",
    "node_of",
    "nodes",
    "pod",
    "scheduled_message",
    "write_policy",
]
