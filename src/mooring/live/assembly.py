"""Everything one scheduler process consists of, put together and closed again.

`run` calls `assembled` once; who does what when is decided there.
"""

import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mooring.framework.running_hook import asked_in, where_in
from mooring.kube.client import Client
from mooring.kube.event_body import reporter_here
from mooring.kube.events import EventRecorder
from mooring.kube.informer import Informer
from mooring.kube.leader import LeaderElector
from mooring.kube.sessions.api_request import ClientLimits
from mooring.live.attempt_log import AttemptLog
from mooring.live.change_intake import ChangeIntake
from mooring.live.client import LiveClient, guard_of
from mooring.live.health import Health
from mooring.live.informers import make_informers, watched_kinds
from mooring.live.kubelet_rejections import KubeletRejections
from mooring.live.loop import LiveScheduler
from mooring.live.metrics import SchedulerMetrics
from mooring.live.options import SchedulerSettings
from mooring.live.policy_reload import PolicyReload
from mooring.live.scraped_metrics import ScrapedMetrics
from mooring.live.stopwatch import Stopwatch
from mooring.model.pod import Pod
from mooring.process.deadline import Deadline
from mooring.process.exiting import exit_now
from mooring.scheduler.core_building import CoreOptions, build_core
from mooring.scheduler.queue import QueueSettings
from mooring.seeds import seeded_streams
from mooring.state.cluster import Cluster
from mooring.wording import counted

if TYPE_CHECKING:
    from mooring.extender.client import ExtenderClients

log = logging.getLogger("mooring.live")

#: A plugin that ignores so many interruptions would stop everything for ever.
_MOST_IGNORED: Final = 5
#: Leader election and events have connections of their own, so that bindings do not hold them up.
_ELECTION_LIMITS: Final = ClientLimits(connections=4)
_EVENT_LIMITS: Final = ClientLimits(connections=16)


class SchedulerComponents(NamedTuple):
    """A scheduler that is ready to start.

    Attributes:
        settings: what is configured.
        client: the API server.
        live: schedules.
        intake: where changes go.
        informers: by resource, not running yet.
        kubelet_rejections: counts what kubelets reject, not running yet.
        recorder: writes Kubernetes events.
        elector: takes part in leader election; None without.
        health: whether all is well.
        metrics: what is counted.
        attempt_log: what is logged of pods.
        policy_reload: takes another policy.
        scraped_metrics: makes the text of ``/metrics``.
    """

    settings: SchedulerSettings
    client: LiveClient
    live: LiveScheduler
    intake: ChangeIntake
    informers: dict[str, Informer[Any]]
    kubelet_rejections: KubeletRejections
    recorder: EventRecorder
    elector: LeaderElector | None
    health: Health
    metrics: SchedulerMetrics
    attempt_log: AttemptLog
    policy_reload: PolicyReload
    scraped_metrics: ScrapedMetrics


@asynccontextmanager
async def assembled(
    settings: SchedulerSettings, exit_now: Callable[[int], object] = exit_now
) -> AsyncIterator[SchedulerComponents]:
    """Put a scheduler together for the length of a block.

    Args:
        settings: what is configured.
        exit_now: ends the process at once, for a plugin that ignores every interruption.

    Raises:
        InputError: a plugin cannot be made, or an extender's TLS settings cannot be used.
    """
    async with AsyncExitStack() as stack:
        elector = None
        if settings.lease is not None:
            own = await stack.enter_async_context(
                Client(
                    settings.cluster, limits=_ELECTION_LIMITS, user_agent="mooring/leader-election"
                )
            )
            elector = LeaderElector(own, settings.lease)
        may_write = (lambda: True) if elector is None else lambda: elector.leading
        client = await stack.enter_async_context(
            LiveClient(settings.cluster, rate=settings.rate, may_write=may_write)
        )
        events = await stack.enter_async_context(
            Client(
                settings.cluster,
                limits=_EVENT_LIMITS,
                user_agent="mooring/events",
                guard=guard_of(may_write),
            )
        )
        recorder = await stack.enter_async_context(
            EventRecorder(events, *reporter_here(next(iter(settings.profiles))))
        )
        extenders = await _extenders(settings, stack)
        deadline = stack.enter_context(
            Deadline(
                settings.hook_limits.decision_seconds,
                ignored=lambda times, frame: _stubborn(times, frame, exit_now),
            )
        )
        yield _components(settings, client, recorder, extenders, elector, deadline)


async def _extenders(
    settings: SchedulerSettings, stack: AsyncExitStack
) -> "ExtenderClients | None":
    """What asks the configuration's extenders; None if there are none."""
    if not settings.configuration.extenders:
        return None
    # With aiohttp, a tenth of a second of the start.
    from mooring.extender.client import ExtenderClients, open_session  # noqa: PLC0415

    http = await stack.enter_async_context(open_session())
    return ExtenderClients(settings.configuration.extenders, http)


def _components(
    settings: SchedulerSettings,
    client: LiveClient,
    recorder: EventRecorder,
    extenders: "ExtenderClients | None",
    elector: LeaderElector | None,
    deadline: Deadline,
) -> SchedulerComponents:
    clock = time.monotonic
    metrics = SchedulerMetrics()
    cluster = Cluster()
    configuration = settings.configuration
    attempt_log = AttemptLog(clock)
    decided = attempt_log.decided if attempt_log.detailed else None
    options = CoreOptions(
        QueueSettings(
            initial_backoff=configuration.pod_initial_backoff_seconds,
            max_backoff=configuration.pod_max_backoff_seconds,
        ),
        _extended(extenders),
        {name: Stopwatch(name, metrics, decided=decided) for name in settings.profiles},
    )
    core = build_core(
        settings.profiles, settings.registry, cluster, time.time_ns, _choose(settings.seed), options
    )
    live = LiveScheduler(
        core,
        client,
        recorder,
        core.runtimes,
        metrics=metrics,
        extenders=extenders,
        clock=clock,
        deadline=deadline,
        binding_seconds=settings.hook_limits.binding_seconds,
        attempt_log=attempt_log,
    )
    intake = ChangeIntake(core, clock, deadline, metrics)
    informers = make_informers(
        client,
        watched_kinds(core.runtimes.values(), settings.policies),
        intake.on_changes,
        whole_objects=settings.whole_objects,
        whole_victims=settings.whole_victims,
    )
    scraped_metrics = ScrapedMetrics(metrics, core, informers, recorder.counters)
    health = Health(informers, clock)
    if elector is not None:
        scraped_metrics.show_leader(elector.settings.name, lambda: elector.leading)
        health.expect_election()
    return SchedulerComponents(
        settings=settings,
        client=client,
        live=live,
        intake=intake,
        informers=informers,
        kubelet_rejections=KubeletRejections(client, settings.profiles, metrics.kubelet_rejected),
        recorder=recorder,
        elector=elector,
        health=health,
        metrics=metrics,
        attempt_log=attempt_log,
        policy_reload=PolicyReload(settings, core, informers.keys(), deadline, clock),
        scraped_metrics=scraped_metrics,
    )


def _choose(seed: int | None) -> Callable[[int], int]:
    """How ties are broken: at random, or in the same way every time."""
    return random.randrange if seed is None else seeded_streams(seed)("ties").randrange


def _stubborn(times: int, frame: FrameType | None, exit_now: Callable[[int], object]) -> None:
    """A plugin catches every interruption: nothing goes on as long as it does.

    Args:
        times: how many it has caught.
        frame: the innermost one, in which it is now.
        exit_now: ends the process at once.
    """
    who, where = asked_in(frame), where_in(frame)
    often = counted(times, "interruption")
    if times < _MOST_IGNORED:
        log.error("%s ignored %s and is still running at %s", who, often, where)
        return
    log.critical(
        ("%s ignored %s and is still running at %s: no pod can be scheduled meanwhile, so the "
        "process exits; this will happen again as long as the plugin and the pod exist"),
        who, often, where,
    )  # fmt: skip
    exit_now(1)


def _extended(extenders: "ExtenderClients | None") -> Callable[[Pod], bool] | None:
    """Whether extenders take part in decisions; which of them care for a pod, they know."""
    if extenders is None:
        return None
    decide = extenders.has_filters or extenders.has_scores or extenders.has_preempts
    return (lambda _: True) if decide else None
