"""Events as components write them: repeated ones are counted, floods are cut off.

Called by `controller_client`. Owns the memory of what was recorded lately. An event that cannot be
written is lost; that is never a reason to stop.
"""

import logging
from collections import OrderedDict
from typing import Final

import msgspec

from mooring.embedded.api import WriteOptions
from mooring.embedded.controllers.controller_api import ControllerApi
from mooring.embedded.resources import CORE_EVENTS, Obj
from mooring.embedded.status_errors import StatusError
from mooring.kube.timestamps import second_time

log: Final = logging.getLogger(__name__)

# parity v1.36.4: client-go/tools/record/events_cache.go: so many events about one object at once,
# one more every five minutes
_BURST: Final = 25.0
_REFILL_SECONDS: Final = 300.0
_REMEMBERED: Final = 4096


class _RecordedEvent(msgspec.Struct):
    """An event that may be counted up."""

    namespace: str
    name: str


class _Bucket(msgspec.Struct):
    """How many more events about an object may be written."""

    tokens: float
    since: float


class EventRecorder:
    """Records events of one component.

    Args:
        api: where.
        write: on whose behalf.
        component: the source of the events.
    """

    def __init__(self, api: ControllerApi, write: WriteOptions, component: str) -> None:
        self._api = api
        self._write = write
        self._component = component
        self._recorded: OrderedDict[tuple[str, ...], _RecordedEvent] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._count = 0

    def record(self, obj: Obj, kind: str, reason: str, message: str, now: float, host: str) -> None:
        """Write an event about an object, or count an earlier one up."""
        uid = obj["metadata"].get("uid", "")
        if not self._allowed(uid, now):
            return
        same = (uid, kind, reason, message)
        recorded = self._recorded.get(same)
        try:
            if recorded is not None and self._count_up(recorded, now):
                self._recorded.move_to_end(same)
                return
            self._recorded[same] = self._new(obj, kind, reason, message, now, host)
        except StatusError as error:
            log.debug("%s: an event was rejected: %s", self._component, error)
        if len(self._recorded) > _REMEMBERED:
            self._recorded.popitem(last=False)

    def _new(
        self, obj: Obj, kind: str, reason: str, message: str, now: float, host: str
    ) -> _RecordedEvent:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        time = second_time(int(now * 1e9))
        # Names must differ though several events are of the same moment.
        self._count += 1
        name = f"{metadata['name'][:200]}.{int(now * 1e6) * 1000 + self._count % 1000:x}"
        source = {"component": self._component, **({"host": host} if host else {})}
        involved = {
            "kind": obj["kind"],
            "apiVersion": obj["apiVersion"],
            "name": metadata["name"],
            "uid": metadata.get("uid", ""),
            "resourceVersion": metadata.get("resourceVersion", ""),
        }
        if metadata.get("namespace"):
            involved["namespace"] = metadata["namespace"]
        event: Obj = {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
            "type": kind,
            "reportingComponent": self._component,
            "reportingInstance": host,
        }
        self._api.create(CORE_EVENTS, event, namespace, self._write)
        return _RecordedEvent(namespace, name)

    def _count_up(self, recorded: _RecordedEvent, now: float) -> bool:
        item = self._api.store.get(CORE_EVENTS, recorded.namespace, recorded.name)
        if item is None:
            return False
        event = item.obj
        event["count"] = (event.get("count") or 1) + 1
        event["lastTimestamp"] = second_time(int(now * 1e9))
        self._api.update(CORE_EVENTS, event, recorded.namespace, recorded.name, write=self._write)
        return True

    def _allowed(self, uid: str, now: float) -> bool:
        bucket = self._buckets.get(uid)
        if bucket is None:
            bucket = self._buckets[uid] = _Bucket(_BURST, now)
            if len(self._buckets) > _REMEMBERED:
                self._buckets.popitem(last=False)
        gained = max(now - bucket.since, 0.0) / _REFILL_SECONDS
        bucket.tokens = min(bucket.tokens + gained, _BURST)
        bucket.since = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True
