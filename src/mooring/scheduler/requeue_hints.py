"""Which cluster events are worth another try for a pod that was rejected.

Owns asking the plugins' `RequeueHint`s. Called by the queue, for unschedulable pods and for pods
that come back from an attempt; it moves nothing.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any, Final

import msgspec

from mooring.errors import EscapeError
from mooring.framework import foreign
from mooring.framework.cluster_events import (
    EVERY_EVENT,
    ClusterEvent,
    actions_of,
    hints_of,
    matches,
)
from mooring.framework.extension_points import Points
from mooring.framework.hook import Action, RequeueHint
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.scheduler.queued_pod import QueuedPod, RejectorPlugin

#: The points at which a plugin may reject a pod, so that changes matter to it.
_REJECTING: Final = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "permit")
#: Asks a plugin whether an event helps a pod: with the pod, the object before and after.
_Ask = Callable[[Pod, Any, Any], object]
_Asks = dict[RejectorPlugin, tuple[_Ask | None, ...]]
#: Called with a plugin whose `RequeueHint.helps` failed.
HintFailed = Callable[[str, Exception], None]


class RequeueHints:
    """The requeue hints of all plugins.

    Args:
        by_profile: the plugins' hints by scheduler name and plugin name. For one that is not named
            here, such as an extender, every event counts.
        failed: called when a hint raises; the event then counts as one that helps.
    """

    def __init__(
        self,
        by_profile: Mapping[str, Mapping[str, Sequence[RequeueHint]]],
        failed: HintFailed | None = None,
    ) -> None:
        self._by_profile = by_profile
        self._failed = failed
        self._interrupted: tuple[str, ClusterEvent] | None = None
        # Flags are slow and there are few sorts of events, so each is matched once; and one event
        # may concern thousands of pods.
        self._matching: dict[tuple[type[KubeObject], Action], _Asks] = {}
        self._last: tuple[ClusterEvent | None, _Asks] = (None, {})

    def replace(self, by_profile: Mapping[str, Mapping[str, Sequence[RequeueHint]]]) -> None:
        """Other plugins decide from now on."""
        self._by_profile = by_profile
        self._interrupted = None
        self._matching.clear()
        self._last = (None, {})

    def matching(self, rejector: RejectorPlugin, event: ClusterEvent) -> Sequence[_Ask | None]:
        """How to ask the plugin whether such an event helps; empty if it surely does not.

        None stands for a hint by which it helps every pod.
        """
        last, asks = self._last
        if last is not event:
            asks = self._matching.setdefault((event.kind, event.actions), {})
            self._last = event, asks
        found = asks.get(rejector)
        if found is None:
            profile, plugin = rejector
            found = asks[rejector] = tuple(
                _entry(hint.helps)
                for hint in self._by_profile.get(profile, {}).get(plugin, EVERY_EVENT)
                if matches(hint, event.kind, event.actions)
            )
        return found

    def worth_requeuing(self, queued: QueuedPod, event: ClusterEvent) -> bool:
        """Whether the event helps the pod, by the word of the plugins that rejected it."""
        # parity v1.36.4: backend/queue/scheduling_queue.go isPodWorthRequeuing; no plugin there
        # answers "pending", which would end the backoff as well
        rejecting = queued.unschedulable_plugins
        for plugin in rejecting:
            if self._helps(queued, plugin, event):
                return True
        return not rejecting

    def while_in_flight(
        self, queued: QueuedPod, events: Iterable[ClusterEvent], *, helped: bool
    ) -> bool:
        """Whether the events during an attempt help the pod that was rejected in it.

        Args:
            queued: the pod.
            events: the events.
            helped: something that helps is known already.
        """
        # parity v1.36.4: backend/queue/scheduling_queue.go determineSchedulingHintForInFlightPod
        if helped or not queued.unschedulable_plugins:
            return True
        for event in events:  # noqa: SIM110 - mostly there are none
            if self.worth_requeuing(queued, event):
                return True
        return False

    def _hangs(self, plugin: str, event: ClusterEvent) -> bool:
        """Whether a hint was interrupted over this event: it is not asked about it again."""
        known = self._interrupted
        return known is not None and known[0] == plugin and known[1] is event

    def _helps(self, queued: QueuedPod, plugin: str, event: ClusterEvent) -> bool:
        for ask in self.matching((queued.profile, plugin), event):
            if ask is None or (self._interrupted is not None and self._hangs(plugin, event)):
                return True
            try:
                answer = ask(queued.pod, event.old, event.new)
                if answer is True or (answer is not False and foreign.call(bool, answer)):
                    return True
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                if issubclass(type(error), EscapeError):  # it is not asked what it is
                    self._interrupted = (plugin, event)
                if self._failed is not None:
                    self._failed(plugin, error)
                return True
        return False


def _entry(helps: _Ask | None) -> _Ask | None:
    """The way to ask; what is no plain function may be anything, and is not looked at."""
    if helps is None:
        return None
    if type(helps) in (FunctionType, MethodType):
        return foreign.entry(helps)
    return functools.partial(foreign.call, helps)


def rejectors_hints(points: Points) -> dict[str, tuple[RequeueHint, ...]]:
    """The requeue hints of the plugins that may reject a pod, by name.

    Raises:
        InputError: a plugin cannot say.
    """
    plugins = {
        placed.name: placed.plugin for point in _REJECTING for placed in points.get(point, ())
    }
    return {name: tuple(hints_of(plugin)) for name, plugin in plugins.items()}


def own_update(old: Pod, new: Pod) -> ClusterEvent | None:
    """What the change of a pending pod means to itself.

    None if only its status changed: what a scheduler writes there itself must not requeue the pod,
    or one that is rejected by a plugin without hints would never rest. The names of claims that
    were made for it are not the scheduler's.
    """
    # parity v1.36.4: backend/queue/scheduling_queue.go isPodUpdated
    metadata = msgspec.structs.replace(
        old.metadata,
        resource_version=new.metadata.resource_version,
        generation=new.metadata.generation,
    )
    if (
        metadata == new.metadata
        and old.spec == new.spec
        and old.status.resource_claim_statuses == new.status.resource_claim_statuses
    ):
        return None
    actions = actions_of(old, new)
    return ClusterEvent(Pod, actions, old, new) if actions else None
