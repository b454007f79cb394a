"""What a live cluster knows of a pod besides its decision: its age, and what schedulers said of it.

Called by ``moor explain`` for one pod of a live cluster. Events are for people: a cluster that does
not let us read them is explained without.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Final

import msgspec

from mooring.errors import KubeError
from mooring.wording import counted

if TYPE_CHECKING:
    from mooring.kube.cluster_config import ClusterConfig
    from mooring.model.pod import Pod

#: The reason of a scheduler's events about attempts that failed.
_FAILED: Final = "FailedScheduling"
_SCHEDULED: Final = "PodScheduled"
#: A message is cut after so many characters, if there is no more room.
_SHOWN: Final = 150
#: A scheduler that has said nothing for so many seconds is worth a question.
_QUIET_SECONDS: Final = 30


class EventSeries(msgspec.Struct, frozen=True, rename="camel"):
    """How often an event was repeated, and when last."""

    count: int = 0
    last_observed_time: str | None = None


class PodEvent(msgspec.Struct, frozen=True, rename="camel"):
    """An event about a pod, from whichever version of the API."""

    reason: str | None = None
    message: str | None = None
    count: int | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    series: EventSeries | None = None

    @property
    def number(self) -> int:
        """How often it happened."""
        repeated = self.series.count if self.series is not None else 0
        return max(self.count or 0, repeated, 1)

    @property
    def last(self) -> str:
        """When it happened last; empty if that is not said."""
        repeated = self.series.last_observed_time if self.series is not None else None
        return max(repeated or "", self.last_timestamp or "", self.event_time or "")


class _EventList(msgspec.Struct, frozen=True):
    items: list[PodEvent] | None = None


class PodHistory(msgspec.Struct, frozen=True):
    """What was seen of a pod.

    Attributes:
        age: how long it exists, such as ``3h12m``; empty if that is not known.
        attempts: how many attempts to schedule it failed, as far as events tell.
        event: the last event, with its reason; empty if there is none.
        event_age: how long ago that was.
        silent: it is pending for a while, and no scheduler has reported anything about it.
        rejected: it is pending, and its last event says that a scheduler found no node.
    """

    age: str = ""
    attempts: int = 0
    event: str = ""
    event_age: str = ""
    silent: bool = False
    rejected: bool = False

    def lines(self, *, wide: bool = False) -> list[str]:
        """Its attempts and its last event, for people."""
        told = []
        if self.attempts:
            told.append(f"{counted(self.attempts, 'failed attempt')} to schedule it")
        if self.event:
            event = self.event if wide else _cut(self.event)
            told.append(f"last event {self.event_age} ago: {event}")
        return ["; ".join(told)] if told else []


def read_history(config: "ClusterConfig", pod: "Pod") -> PodHistory:
    """What the cluster knows of a pod; what we may not read is left out."""
    try:
        events = asyncio.run(_events(config, pod))
    except KubeError:
        events = None
    return history_of(pod, events, time.time())


async def _events(config: "ClusterConfig", pod: "Pod") -> list[PodEvent]:
    from mooring.kube.client import Client, api_path

    fields = f"involvedObject.kind=Pod,involvedObject.name={pod.name}"
    if pod.uid:
        fields += f",involvedObject.uid={pod.uid}"
    async with Client(config) as client:
        path = api_path("api", "v1", "namespaces", pod.namespace, "events")
        found = await client.get(path, _EventList, params={"fieldSelector": fields})
    return found.items or []


def history_of(pod: "Pod", events: list[PodEvent] | None, now: float) -> PodHistory:
    """What events and the pod itself say.

    Args:
        pod: the pod.
        events: the events about it; None if they could not be read.
        now: seconds since 1970.
    """
    from mooring.embedded.tables.ages import age, seconds

    created = pod.metadata.creation_timestamp
    last = max(events or (), key=lambda one: one.last, default=None)
    failed = [one for one in events or () if one.reason == _FAILED]
    told = any(one.type == _SCHEDULED for one in pod.status.conditions or ())
    old = created is not None and now - seconds(created) > _QUIET_SECONDS
    return PodHistory(
        age=age(created, now) if created else "",
        attempts=sum(one.number for one in failed),
        event=f"{last.reason}: {last.message}" if last is not None else "",
        event_age=age(last.last, now) if last is not None and last.last else "some time",
        silent=events == [] and old and not told and not pod.node_name,
        rejected=last is not None and last.reason == _FAILED and not pod.node_name,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN].rstrip()}…"
