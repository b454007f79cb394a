"""The rules of list and watch without any I/O: lines, events, resource versions, back-off.

`reflector` drives it. Nothing here reads a clock, draws a random number or talks to anybody.

    start ──> must list ──listed()──> may watch ──event──> may watch, from the event's version
                  ^                      │  │
                  └──── expired() ───────┘  └─ended(), failed()──> may watch, same version

Versions only grow. What is older than something seen before does not move a watch back, and a list
that is older is asked for again; only when the API server insists (etcd was restored from a backup,
or another cluster answers), the older state is the one that counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from mooring.errors import KubeError
from mooring.kube.versions import version_number
from mooring.model.deep_json import decode_deep

T = TypeVar("T")

LINE_BYTES = 64 * 2**20
BACKOFF_FIRST_SECONDS = 0.8
BACKOFF_MOST_SECONDS = 30.0
BRIEF_SECONDS = 1.0  # a watch that ends sooner, with nothing said, was no watch
STEADY_SECONDS = 30.0  # a watch that lasted so long shows that the API server is well

OLDER_LISTS = 4  # a list that is older than what was seen is believed at the fourth time

# 410: the version is compacted away; 504: it is larger than the API server's, as after restoring
# etcd. Only a new list helps.
RELIST_STATUSES = frozenset({410, 504})


class ObjectIdentity(NamedTuple):
    """Which object this is, and which version of it."""

    namespace: str
    name: str
    uid: str
    resource_version: str

    @property
    def key(self) -> str:
        """The name within the cluster: ``namespace/name``, or ``/name`` without a namespace."""
        return f"{self.namespace}/{self.name}"


class ReceivedObject(NamedTuple, Generic[T]):
    """An object as a list or a watch brought it.

    Attributes:
        identity: which one.
        object: what was made of it; None when its bytes could not be understood.
        deleted: it does not exist any more.
    """

    identity: ObjectIdentity
    object: T | None
    deleted: bool = False


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Bare(msgspec.Struct):
    metadata: _Metadata


class _ListMeta(msgspec.Struct):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    continue_: str = msgspec.field(default="", name="continue")
    #: How many there are after this page; None if the API server does not say.
    remaining: int | None = msgspec.field(default=None, name="remainingItemCount")


class ListPage(msgspec.Struct):
    """One page of a list; its items are not decoded yet."""

    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class WatchLine(msgspec.Struct):
    """One line of a watch; its object is not decoded yet."""

    type: str
    object: msgspec.Raw


_PAGE = msgspec.json.Decoder(ListPage)
_LINE = msgspec.json.Decoder(WatchLine)
_BARE = msgspec.json.Decoder(_Bare)


def decode_page(data: bytes) -> ListPage:
    """Decode one page of a list."""
    return decode_deep(_PAGE.decode, data)


def decode_line(data: bytes) -> WatchLine:
    """Decode one line of a watch."""
    return decode_deep(_LINE.decode, data)


def bare_identity(data: bytes | msgspec.Raw) -> ObjectIdentity | None:
    """Who an object is, from its metadata alone; None when it has none."""
    try:
        meta = decode_deep(_BARE.decode, data).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return ObjectIdentity(meta.namespace, meta.name, meta.uid, meta.resource_version)


@dataclass(slots=True)
class ReflectorCounters:
    """What happened so far.

    Attributes:
        lists: complete lists.
        watches: opened watches.
        events: events of watches, bookmarks not counted.
        errors: failed tries, expired versions included.
        skipped: objects that could not be understood.
        replayed: events about the past, which changed nothing.
        stalls: watches that were given up because nothing came any more.
    """

    lists: int = 0
    watches: int = 0
    events: int = 0
    errors: int = 0
    skipped: int = 0
    replayed: int = 0
    stalls: int = 0


class ReflectorSink(Protocol[T]):
    """Where a reflector hands on what it lists and watches; plain functions that return at once."""

    def list_started(self) -> None:
        """A list begins, possibly after an unfinished one."""
        ...

    def page(self, items: list[ReceivedObject[T]]) -> None:
        """Some objects of the list."""
        ...

    def list_done(self, resource_version: str) -> None:
        """The list is complete; it shows this version of the collection."""
        ...

    def watch_opened(self) -> None:
        """The API server accepted a watch."""
        ...

    def events(self, items: list[ReceivedObject[T]]) -> None:
        """Events that came together; none when it was only a bookmark."""
        ...

    def watch_closed(self, *, stalled: bool) -> None:
        """The watch ended, in whatever way; stalled if nothing had come for a long time."""
        ...

    def failed(self, error: KubeError) -> None:
        """A list or a watch failed; it is tried again."""
        ...


class LineSplitter:
    """Cuts a stream of bytes into lines, whatever the pieces it comes in."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete now, without empty ones.

        Raises:
            KubeError: a line is longer than the limit.
        """
        first, *rest = chunk.split(b"\n")
        self._size += len(first)
        self._parts.append(first)
        if not rest:
            self._check(self._size)
            return []
        lines = [b"".join(self._parts), *rest]
        last = lines.pop()
        self._parts = [last]
        self._size = len(last)
        self._check(max(map(len, lines)))
        return [line for line in lines if line and not line.isspace()]

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise KubeError(f"The API server sent a line of more than {self._limit} bytes.")


class WatchState:
    """Where a watch stands, and how long to wait before the next try.

    Attributes:
        resource_version: the version to watch from; empty when a list is needed first.
    """

    def __init__(self, random: Callable[[], float]) -> None:
        self.resource_version = ""
        self._random = random
        self._failures = 0
        self._expiries = 0
        self._newest = 0
        self._older_lists = 0

    @property
    def newest(self) -> int:
        """The newest version that was seen, as a number; 0 when there was none to compare."""
        return self._newest

    def is_older(self, resource_version: str) -> bool:
        """Whether the API server has been further than this version."""
        return 0 < version_number(resource_version) < self._newest

    def may_list(self, resource_version: str) -> bool:
        """Whether a list of this version is taken over, asked when its first page arrives.

        A list that is older than what was seen comes from somebody who is behind, and is asked for
        again. When that goes on, time really was turned back, and so is what was seen.
        """
        if self.is_older(resource_version):
            self._older_lists += 1
            if self._older_lists < OLDER_LISTS:
                return False
        self._older_lists = 0
        self._newest = version_number(resource_version) or self._newest
        return True

    def listed(self, resource_version: str) -> None:
        """A whole list arrived."""
        self.resource_version = resource_version
        self._newest = version_number(resource_version) or self._newest
        # a list alone does not prove that the watch after it will work
        self._failures = self._expiries

    def seen(self, resource_version: str) -> bool:
        """An event or a bookmark arrived: all is well, unless it is old; whether it is not."""
        if self.is_older(resource_version):
            return False
        self._newest = version_number(resource_version) or self._newest
        self.resource_version = resource_version or self.resource_version
        self._failures = self._expiries = 0
        return True

    def must_list(self) -> None:
        """Watching on from the last version makes no sense."""
        self.resource_version = ""

    def ended(self, lasted: float, *, silent: bool) -> float:
        """The watch ended as it should; the seconds to wait, usually none."""
        return self.failed(lasted) if silent and lasted < BRIEF_SECONDS else 0.0

    def expired(self) -> float:
        """The version cannot be watched from any more; the seconds to wait before the list."""
        self.resource_version = ""
        self._expiries += 1
        return self._backoff(self._expiries - 1)

    def failed(self, lasted: float = 0.0) -> float:
        """A list or a watch that lasted so many seconds failed; the seconds to wait."""
        if lasted >= STEADY_SECONDS:
            self._failures = self._expiries = 0
        self._failures += 1
        return self._backoff(self._failures)

    def _backoff(self, failures: int) -> float:
        if failures <= 0:
            return 0.0
        # the exponent stays small: a float overflows after a thousand failures
        full = min(BACKOFF_FIRST_SECONDS * 2.0 ** min(failures - 1, 16), BACKOFF_MOST_SECONDS)
        return full * (0.5 + self._random() / 2)
