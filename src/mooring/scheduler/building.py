"""Putting a core together: the profiles' runtimes, and a queue that knows their plugins.

Called by every shell that schedules.
"""

import logging
import math
from collections.abc import Callable, Mapping

from mooring.errors import MooringError
from mooring.framework import foreign, hook
from mooring.framework.building import build_runtime
from mooring.framework.happenings import wakes_of
from mooring.framework.profiles import Profile
from mooring.framework.registry import Registry
from mooring.framework.runtime import Runtime
from mooring.model.pod import Pod
from mooring.scheduler.core import Core
from mooring.scheduler.heap import Place
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.schedule import Choose
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.scheduler")

#: The points at which a plugin may refuse a pod, so that changes matter to it.
_REFUSING = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "permit")


def build_runtimes(
    profiles: Mapping[str, Profile],
    registry: Registry,
    cluster: Cluster,
    now_ns: Callable[[], int],
    choose: Choose,
) -> dict[str, Runtime]:
    """The runtimes of all profiles on one cluster, by scheduler name.

    Raises:
        InputError: a plugin cannot be made.
    """
    return {
        name: build_runtime(profile, registry, cluster, now_ns, choose)
        for name, profile in profiles.items()
    }


def build_core(
    runtimes: Mapping[str, Runtime],
    cluster: Cluster,
    choose: Choose,
    settings: QueueSettings | None = None,
    extended: Callable[[Pod], bool] | None = None,
) -> Core:
    """A core with its queue.

    Args:
        runtimes: the plugins by scheduler name.
        cluster: the state they decide on.
        choose: picks one of so many equals.
        settings: how long pods wait.
        extended: whether extenders take part for a pod.
    """
    queue = Queue(
        _order(runtimes),
        {name: _wakes(runtime) for name, runtime in runtimes.items()},
        _gate(runtimes),
        settings or QueueSettings(),
        lambda plugin, error: log.warning("a requeue hint of plugin %s failed: %s", plugin, error),
    )
    return Core(runtimes, cluster, queue, choose, extended)


def _wakes(runtime: Runtime) -> dict[str, tuple[hook.Wake, ...]]:
    plugins = {
        placed.name: placed.plugin
        for point in _REFUSING
        for placed in runtime.points.get(point, ())
    }
    return {name: tuple(wakes_of(plugin)) for name, plugin in plugins.items()}


def _order(runtimes: Mapping[str, Runtime]) -> Callable[[Pod, float], Place]:
    sorts = {
        name: next(
            one.plugin
            for one in runtime.points["queueSort"]
            if isinstance(one.plugin, hook.QueueSort)
        )
        for name, runtime in runtimes.items()
    }

    def order(pod: Pod, since: float) -> Place:
        try:
            return _numbers(foreign.call(sorts[pod.scheduler_name].sort_key, pod, since))
        except Exception:
            log.exception("the order of pod %s in the queue could not be found", pod.key)
            return (-float(pod.priority), since)

    return order


def _numbers(key: tuple[float, ...]) -> Place:
    """A plugin's key, made sure that any two can be compared."""
    numbers = tuple(map(float, key))
    if any(map(math.isnan, numbers)):
        raise ValueError(f"{key!r} has a part that is no number")
    return numbers


def _gate(runtimes: Mapping[str, Runtime]) -> Callable[[Pod], str | None]:
    def gate(pod: Pod) -> str | None:
        try:
            answers = runtimes[pod.scheduler_name].pre_enqueue(pod)
        except MooringError as error:
            log.error("%s", error)  # noqa: TRY400 - a sentence for the user, no traceback
            return getattr(error, "plugin", "") or "PreEnqueue"
        return next((name for name, verdict in answers.items() if not verdict.accepted), None)

    return gate
