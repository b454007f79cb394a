"""Asking a plugin whether a change wakes a pod that it refused."""

from typing import Any

from mooring.framework.happenings import happening_of, tells, wakes_of
from mooring.framework.hook import Hook
from mooring.framework.plugin_entry import describe
from mooring.framework.runtime import Runtime
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster


def plugin_on(kind: type[Hook], *things: KubeObject, **args: Any) -> Hook:
    """A plugin on a cluster of these objects."""
    cluster = Cluster()
    for thing in things:
        cluster.put(thing)
    return describe(kind).make(args, Runtime(cluster), "args")


def wakes(plugin: Hook, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool | None:
    """Whether a change wakes the pod; None if the plugin does not want to be told of it."""
    happening = happening_of(old, new)
    if happening is None:
        return None
    answers = [
        wake.helps is None or wake.helps(pod, happening.old, happening.new)
        for wake in wakes_of(plugin)
        if tells(wake, happening.kind, happening.actions)
    ]
    return any(answers) if answers else None
