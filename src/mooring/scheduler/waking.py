"""Which changes are worth another try for a pod that was refused.

Owns asking the plugins' `Wake`s. Called by the queue, for pods that wait and for pods that come
back from an attempt; it moves nothing.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from mooring.errors import EscapeError
from mooring.framework import foreign
from mooring.framework.happenings import EVERY_CHANGE, Happening, actions_of, tells
from mooring.framework.hook import Action, Wake
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.scheduler.queued_pod import QueuedPod

#: A plugin of a profile: scheduler name, plugin name.
Refuser = tuple[str, str]
#: Told about a plugin whose `Wake.helps` failed.
HintFailed = Callable[[str, Exception], None]


class Strategy(enum.IntEnum):
    """What a change means to a pod, the weakest first."""

    #: Nothing: it goes on waiting.
    SKIP = 0
    #: It is tried again when its backoff is over.
    AFTER_BACKOFF = 1
    #: It is tried again now.
    AT_ONCE = 2


class Wakes:
    """What all plugins want to be told.

    Args:
        by_profile: the plugins' wakes by scheduler name and plugin name. A refuser that is not
            named here, such as an extender, is told everything.
        failed: told when a hint raises; the change then counts as one that helps.
    """

    def __init__(
        self,
        by_profile: Mapping[str, Mapping[str, Sequence[Wake]]],
        failed: HintFailed | None = None,
    ) -> None:
        self._by_profile = by_profile
        self._failed = failed
        self._interrupted: tuple[str, Happening] | None = None
        # Flags are slow and there are few sorts of changes, so each is matched once.
        self._told: dict[tuple[Refuser, type[KubeObject], Action], tuple[Wake, ...]] = {}

    def told(self, refuser: Refuser, happening: Happening) -> tuple[Wake, ...]:
        """The plugin's wakes for such a change; empty if it does not want to know of it."""
        wakes = self._told.get((refuser, happening.kind, happening.actions))
        if wakes is None:
            profile, plugin = refuser
            wakes = self._told[refuser, happening.kind, happening.actions] = tuple(
                wake
                for wake in self._by_profile.get(profile, {}).get(plugin, EVERY_CHANGE)
                if tells(wake, happening.kind, happening.actions)
            )
        return wakes

    def strategy(self, queued: QueuedPod, happening: Happening) -> Strategy:
        """What the change means to the pod, by the word of those who refused it."""
        # parity v1.36.4: backend/queue/scheduling_queue.go isPodWorthRequeuing
        for plugin in queued.pending:
            if self._helps(queued, plugin, happening):
                return Strategy.AT_ONCE
        for plugin in queued.plugins:
            if self._helps(queued, plugin, happening):
                return Strategy.AFTER_BACKOFF
        return Strategy.SKIP if queued.refusers else Strategy.AFTER_BACKOFF

    def meanwhile(
        self, queued: QueuedPod, happenings: Iterable[Happening], *, helped: bool
    ) -> Strategy:
        """What all that happened in an attempt means to the pod that was refused in it.

        Args:
            queued: the pod.
            happenings: what happened.
            helped: something that helps is known already.
        """
        # parity v1.36.4: backend/queue/scheduling_queue.go determineSchedulingHintForInFlightPod
        best = Strategy.SKIP if queued.refusers and not helped else Strategy.AFTER_BACKOFF
        most = Strategy.AT_ONCE if queued.pending else Strategy.AFTER_BACKOFF
        for happening in happenings:
            if best is most:
                break
            best = max(best, self.strategy(queued, happening))
        return best

    def _hangs(self, plugin: str, happening: Happening) -> bool:
        """Whether a hint was interrupted over this change: it is not asked about it again."""
        known = self._interrupted
        return known is not None and known[0] == plugin and known[1] is happening

    def _helps(self, queued: QueuedPod, plugin: str, happening: Happening) -> bool:
        for wake in self.told((queued.profile, plugin), happening):
            if wake.helps is None or self._hangs(plugin, happening):
                return True
            try:
                answer = foreign.call(wake.helps, queued.pod, happening.old, happening.new)
                if answer is True or foreign.call(bool, answer):
                    return True
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                if issubclass(type(error), EscapeError):  # it is not asked what it is
                    self._interrupted = (plugin, happening)
                if self._failed is not None:
                    self._failed(plugin, error)
                return True
        return False


def own_change(old: Pod, new: Pod) -> Happening | None:
    """What the change of a waiting pod means to itself.

    None if only its status changed: what a scheduler writes there itself must not wake the pod, or
    one that is refused by a plugin without hints would never rest.
    """
    # parity v1.36.4: backend/queue/scheduling_queue.go isPodUpdated
    metadata = msgspec.structs.replace(
        old.metadata,
        resource_version=new.metadata.resource_version,
        generation=new.metadata.generation,
    )
    if metadata == new.metadata and old.spec == new.spec:
        return None
    actions = actions_of(old, new)
    return Happening(Pod, actions, old, new) if actions else None
