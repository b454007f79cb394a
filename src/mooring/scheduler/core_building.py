"""Putting a core together: the profiles' runtimes, and a queue that knows their plugins.

Called by every shell that schedules.
"""

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from mooring.config.profiles import Profile
from mooring.config.registry import Registry
from mooring.config.runtimes import build_runtime
from mooring.framework import foreign
from mooring.framework.decisions.observer import Observer
from mooring.framework.handle import Ongoing
from mooring.framework.runtime import Runtime
from mooring.log_kinds import failure_of, once
from mooring.model.pod import Pod
from mooring.scheduler.core import Core
from mooring.scheduler.decider import Choose, Decider
from mooring.scheduler.heap import Place
from mooring.scheduler.preemptions_in_progress import PreemptionsInProgress
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.requeue_hints import rejectors_hints
from mooring.scheduler.sub_queues import Patience
from mooring.scheduler.waiting_pods import WaitingPods
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.scheduler")


class CoreOptions(NamedTuple):
    """What a core need not have.

    Attributes:
        queue: how long pods wait.
        extended: whether extenders take part for a pod; None if there are none.
        observers: who watches the decisions of a profile, by scheduler name.
    """

    queue: QueueSettings = QueueSettings()
    extended: Callable[[Pod], bool] | None = None
    observers: Mapping[str, Observer] = {}


_NO_OPTIONS: Final = CoreOptions()


def build_core(
    profiles: Mapping[str, Profile],
    registry: Registry,
    cluster: Cluster,
    now_ns: Callable[[], int],
    choose: Choose,
    options: CoreOptions = _NO_OPTIONS,
) -> Core:
    """A core with its queue and the runtimes of all profiles.

    Args:
        profiles: the plugins by scheduler name.
        registry: makes the plugins.
        cluster: the state they decide on.
        now_ns: the clock of plugins, nanoseconds since 1970.
        choose: picks one of so many equals.
        options: what else there is.

    Raises:
        InputError: a plugin cannot be made.
    """
    waiting, preemptions = WaitingPods(), PreemptionsInProgress()
    ongoing = Ongoing(waiting, preemptions)
    runtimes = {
        name: build_runtime(profile, registry, cluster, now_ns, choose, ongoing)
        for name, profile in profiles.items()
    }
    patience = Patience()
    queue = Queue(
        _order(runtimes, patience),
        {name: rejectors_hints(runtime.points) for name, runtime in runtimes.items()},
        _gate(runtimes, patience),
        options.queue,
        functools.partial(_hint_failed, patience),
        patience,
    )
    decider = Decider(runtimes, choose, options.extended, options.observers)
    return Core(decider, cluster, queue, waiting, preemptions)


def _note_interruption(patience: Patience, error: Exception) -> None:
    if foreign.interruption_in(error) is not None:
        patience.lost = True


def _hint_failed(patience: Patience, plugin: str, error: Exception) -> None:
    _note_interruption(patience, error)
    text, told = foreign.tell(error)
    log.warning(
        "a requeue hint of plugin %s failed: %s", plugin, text, exc_info=told, extra=once(plugin)
    )


def _order(runtimes: Mapping[str, Runtime], patience: Patience) -> Callable[[Pod, float], Place]:
    def order(pod: Pod, since: float) -> Place:
        sort_key = runtimes[pod.scheduler_name].sort_key
        assert sort_key is not None  # noqa: S101 - every configuration has exactly one
        try:
            return sort_key(pod, since)
        except Exception as error:
            _note_interruption(patience, error)
            told = foreign.tell(error).error
            log.exception(
                "the queue order of pod %s could not be determined", pod.key, exc_info=told,
                extra=once(pod.scheduler_name),
            )  # fmt: skip
            return (-float(pod.priority), since)

    return order


def _gate(runtimes: Mapping[str, Runtime], patience: Patience) -> Callable[[Pod], str | None]:
    def gate(pod: Pod) -> str | None:
        try:
            return runtimes[pod.scheduler_name].gate(pod)
        except Exception as error:
            _note_interruption(patience, error)
            log.error("%s", error, exc_info=error.__cause__, extra=failure_of(error))  # noqa: TRY400
            return getattr(error, "plugin", "") or "PreEnqueue"

    return gate
