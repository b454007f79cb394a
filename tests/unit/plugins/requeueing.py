"""Asking a plugin whether a change requeues a pod that it rejected."""

from typing import Any

from mooring.config.plugin_entry import describe_plugin
from mooring.framework.cluster_events import event_between, hints_of, matches
from mooring.framework.hook import Hook
from mooring.framework.runtime import Runtime
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster


def plugin_on(kind: type[Hook], *things: KubeObject, **args: Any) -> Hook:
    """A plugin on a cluster of these objects."""
    cluster = Cluster()
    for thing in things:
        cluster.put(thing)
    return describe_plugin(kind).make(args, Runtime(cluster), "args")


def requeues(plugin: Hook, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool | None:
    """Whether a change requeues the pod; None if the plugin did not register for it."""
    event = event_between(old, new)
    if event is None:
        return None
    answers = [
        hint.helps is None or hint.helps(pod, event.old, event.new)
        for hint in hints_of(plugin)
        if matches(hint, event.kind, event.actions)
    ]
    return any(answers) if answers else None
