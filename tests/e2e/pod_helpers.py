"""What end-to-end tests share: nodes and pods that are removed, events, conditions, policies."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mooring.testing.moor_serve import MoorServe
from mooring.testing.real_kubernetes import BaseControlPlane, KubeScheduler


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
def nodes(plane: BaseControlPlane, **by_name: Mapping[str, Any]) -> Iterator[None]:
    """Nodes that exist for the time of the block; the names' underscores become dashes."""
    names = {name.replace("_", "-"): options for name, options in by_name.items()}
    try:
        for name, options in names.items():
            plane.create_node(name, **options)
        yield
    finally:
        plane.delete_all("Node")


def node_of(plane: BaseControlPlane, name: str, namespace: str) -> str:
    """The node a pod is on, waiting until it is bound."""

    def bound() -> str | None:
        where: str | None = plane.get("Pod", name, namespace)["spec"].get("nodeName")
        return where

    return plane.wait_for(bound, f"pod {name} to be bound")


def event_of(plane: BaseControlPlane, name: str, namespace: str, reason: str) -> dict[str, Any]:
    """The newest event of a pod with a reason, waiting for it."""

    def found() -> dict[str, Any] | None:
        events = [
            event
            for event in plane.list_objects("Event", namespace)
            if event["reason"] == reason and event["involvedObject"]["name"] == name
        ]
        return events[-1] if events else None

    return plane.wait_for(found, f"event {reason} of pod {name}")


def scheduled_message(plane: BaseControlPlane, name: str, namespace: str, scheduler: str) -> str:
    """The text of a pod's Scheduled event, which must come from the scheduler."""
    event = event_of(plane, name, namespace, "Scheduled")
    assert scheduler in (event.get("reportingComponent"), event.get("source", {}).get("component"))
    message: str = event["message"]
    return message


def schedule(plane: BaseControlPlane, manifest: dict[str, Any]) -> dict[str, Any]:
    """Create a pod and wait until its scheduler has bound it or said why not; the pod then."""
    created = plane.create(manifest)["metadata"]
    name, namespace = created["name"], created["namespace"]

    def settled() -> dict[str, Any] | None:
        found = plane.get("Pod", name, namespace)
        return found if found["spec"].get("nodeName") or scheduled_condition(found) else None

    return plane.wait_for(settled, f"pod {name} to be scheduled or not", 60)


def scheduled_condition(manifest: dict[str, Any]) -> dict[str, Any]:
    """A pod's condition PodScheduled; empty if it has none."""
    for condition in manifest["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled":
            return dict(condition)
    return {}


def unschedulable(plane: BaseControlPlane, name: str, namespace: str, part: str) -> str:
    """The message of a pod's condition PodScheduled, waiting until it has this part."""

    def told() -> str | None:
        condition = scheduled_condition(plane.get("Pod", name, namespace))
        message: str = condition.get("message", "")
        return message if condition.get("status") == "False" and part in message else None

    return plane.wait_for(told, f"pod {name} to be rejected with {part!r}", 60)


def events_of(plane: BaseControlPlane, name: str, namespace: str) -> list[dict[str, Any]]:
    """The events about a pod, in the form of events.k8s.io/v1, the oldest first."""
    found = [
        event
        for event in plane.list_objects("Event", namespace, api_version="events.k8s.io/v1")
        if event["regarding"]["name"] == name
    ]
    return sorted(found, key=lambda event: (event["eventTime"] or "", event["metadata"]["name"]))


def note_of(plane: BaseControlPlane, name: str, namespace: str, reason: str, part: str = "") -> str:
    """The text of an event about a pod, waiting for one with this reason and part."""

    def told() -> str | None:
        for event in events_of(plane, name, namespace):
            if event["reason"] == reason and part in event["note"]:
                note: str = event["note"]
                return note
        return None

    return plane.wait_for(told, f"event {reason} of pod {name} with {part!r}", 60)


def described(plane: BaseControlPlane, name: str, namespace: str) -> str:
    """What ``kubectl describe pod`` prints, without what differs from one time to the next."""
    text = plane.kubectl("describe", "pod", name, f"--namespace={namespace}")
    text = text.replace(namespace, "NAMESPACE")
    text = re.sub(r"(?<=\s)(\d+m)?\d+s(\s+\(x\d+ over (\d+m)?\d+s\))?(?=\s)", "AGE", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


__all__ = [
    "KubeScheduler",
    "described",
    "event_of",
    "events_of",
    "extender_config",
    "node_of",
    "nodes",
    "note_of",
    "pod",
    "schedule",
    "scheduled_condition",
    "scheduled_message",
    "unschedulable",
    "write_policy",
]
