"""Events as components write them: repeated ones are counted, floods are cut off.

Called by `hand`. Owns the memory of what was told lately. An event that cannot be written is lost;
that is never a reason to stop.
"""

import logging
from collections import OrderedDict
from typing import Final

import msgspec

from mooring.embedded.api import Api, Write
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import CORE_EVENTS, Obj
from mooring.kube.timestamps import second_time

log: Final = logging.getLogger(__name__)

# parity v1.36.4: client-go/tools/record/events_cache.go: so many events about one object at once,
# one more every five minutes
_BURST: Final = 25.0
_REFILL_SECONDS: Final = 300.0
_REMEMBERED: Final = 4096


class _Told(msgspec.Struct):
    """An event that may be counted up."""

    namespace: str
    name: str


class _Bucket(msgspec.Struct):
    """How many more events about an object may be written."""

    tokens: float
    since: float


class Recorder:
    """Writes events of one component.

    Args:
        api: where.
        write: on whose behalf.
        component: the source of the events.
    """

    def __init__(self, api: Api, write: Write, component: str) -> None:
        self._api = api
        self._write = write
        self._component = component
        self._told: OrderedDict[tuple[str, ...], _Told] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._count = 0

    def record(self, obj: Obj, kind: str, reason: str, message: str, now: float, host: str) -> None:
        """Write an event about an object, or count an earlier one up."""
        uid = obj["metadata"].get("uid", "")
        if not self._allowed(uid, now):
            return
        same = (uid, kind, reason, message)
        told = self._told.get(same)
        try:
            if told is not None and self._count_up(told, now):
                self._told.move_to_end(same)
                return
            self._told[same] = self._new(obj, kind, reason, message, now, host)
        except Refused as refused:
            log.debug("%s: an event was refused: %s", self._component, refused)
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)

    def _new(self, obj: Obj, kind: str, reason: str, message: str, now: float, host: str) -> _Told:
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
        return _Told(namespace, name)

    def _count_up(self, told: _Told, now: float) -> bool:
        item = self._api.store.get(CORE_EVENTS, told.namespace, told.name)
        if item is None:
            return False
        event = item.obj
        event["count"] = (event.get("count") or 1) + 1
        event["lastTimestamp"] = second_time(int(now * 1e9))
        self._api.update(CORE_EVENTS, event, told.namespace, told.name, write=self._write)
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
