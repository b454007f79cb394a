"""Putting a core together: the profiles' runtimes, and a queue that knows their plugins.

Called by every shell that schedules.
"""

import functools
import logging
from collections.abc import Callable, Mapping

from mooring.config.profiles import Profile
from mooring.config.registry import Registry
from mooring.config.runtimes import build_runtime
from mooring.framework import foreign, hook
from mooring.framework.cluster_events import hints_of
from mooring.framework.hook_answers import legal_sort_key
from mooring.framework.runtime import Runtime
from mooring.log_kinds import alike, failure_of
from mooring.model.pod import Pod
from mooring.scheduler.core import Core
from mooring.scheduler.heap import Place
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.scheduling_cycle import Choose
from mooring.scheduler.sub_queues import Patience
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.scheduler")

#: The points at which a plugin may reject a pod, so that changes matter to it.
_REJECTING = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "permit")


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
    patience = Patience()
    queue = Queue(
        _order(runtimes, patience),
        {name: _hints(runtime) for name, runtime in runtimes.items()},
        _gate(runtimes, patience),
        settings or QueueSettings(),
        functools.partial(_hint_failed, patience),
        patience,
    )
    return Core(runtimes, cluster, queue, choose, extended)


def _note_interruption(patience: Patience, error: Exception) -> None:
    if foreign.interruption_in(error) is not None:
        patience.lost = True


def _hint_failed(patience: Patience, plugin: str, error: Exception) -> None:
    _note_interruption(patience, error)
    text = foreign.text_of(error)
    log.warning("a requeue hint of plugin %s failed: %s", plugin, text, extra=alike(plugin))


def _hints(runtime: Runtime) -> dict[str, tuple[hook.RequeueHint, ...]]:
    plugins = {
        placed.name: placed.plugin
        for point in _REJECTING
        for placed in runtime.points.get(point, ())
    }
    return {name: tuple(hints_of(plugin)) for name, plugin in plugins.items()}


def _order(runtimes: Mapping[str, Runtime], patience: Patience) -> Callable[[Pod, float], Place]:
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
            key = foreign.call(sorts[pod.scheduler_name].sort_key, pod, since)
            return foreign.call(legal_sort_key, key)
        except Exception as error:
            _note_interruption(patience, error)
            told = foreign.tell(error).error
            log.exception("the order of pod %s could not be found", pod.key, exc_info=told)
            return (-float(pod.priority), since)

    return order


def _gate(runtimes: Mapping[str, Runtime], patience: Patience) -> Callable[[Pod], str | None]:
    def gate(pod: Pod) -> str | None:
        try:
            answers = runtimes[pod.scheduler_name].pre_enqueue(pod)
        except Exception as error:  # noqa: BLE001 - the pod waits, whatever it is
            _note_interruption(patience, error)
            # A sentence for the user, no traceback.
            log.error("%s", error, extra=failure_of(error))  # noqa: TRY400
            return getattr(error, "plugin", "") or "PreEnqueue"
        return next((name for name, verdict in answers.items() if not verdict.accepted), None)

    return gate
