"""Which version of an object is the newest, so that nobody goes back to an older one.

`watch_protocol` and `informer` call it. It compares resource versions of one resource, which
Kubernetes allows (KEP-5504), and does nothing else: no I/O, no objects, no clock.

A connection may bring an event twice, late, or after another object's newer one, as behind a proxy
that repeats what it sent. What counts is the newest version of each object, deleted or not:

    listed at 100 ──> what is not newer than 100 is old, whatever it is about
    put at 105    ──> of this object, what is not newer than 105 is old
    gone at 107   ──> of this name, what is not newer than 107 is old
"""

from typing import Final

#: The API server's numbers have 64 bits; something much longer is no version.
_MOST_DIGITS: Final = 40
#: So many deleted objects are remembered by name.
_MOST_GONE: Final = 256


def version_number(resource_version: str) -> int:
    """A resource version as a number, to compare it with others of the same resource.

    0 when it cannot be compared: it is empty, zero or no number as the API server writes it.
    """
    # parity v1.36.4: apimachinery/pkg/util/resourceversion
    text = resource_version
    if not text.isascii() or not text.isdigit() or text[0] == "0" or len(text) > _MOST_DIGITS:
        return 0
    return int(text)


class SeenVersions:
    """Up to which version everything of a resource is known.

    Of objects that exist, the caller knows the version; of those that do not exist any more, some
    are remembered here. When there are too many of them, the oldest are replaced by one number:
    whatever is not newer is old.
    """

    def __init__(self, most_gone: int = _MOST_GONE) -> None:
        self._most_gone = most_gone
        self._floor = 0
        self._gone: dict[str, int] = {}

    def listed(self, resource_version: str) -> None:
        """A complete list was taken over; it may be older than what was known before it."""
        self._floor = version_number(resource_version)
        self._gone.clear()

    def gone(self, key: str, resource_version: str) -> None:
        """An object was deleted."""
        number = version_number(resource_version)
        if not number:
            return
        # at the end, so that those that were deleted first are forgotten first
        self._gone[key] = max(number, self._gone.pop(key, 0))
        if len(self._gone) > self._most_gone:
            oldest = next(iter(self._gone))
            self._floor = max(self._floor, self._gone.pop(oldest))

    def put(self, key: str) -> None:
        """An object is there, perhaps again; its own version counts from now on."""
        self._gone.pop(key, None)

    def is_old(self, key: str, resource_version: str, known: str = "") -> bool:
        """Whether an event is about the past.

        Args:
            key: the name of the object it is about.
            resource_version: the version it has.
            known: the version of the object of this name that is known; empty for none.
        """
        number = version_number(resource_version)
        if not number:
            return False  # nobody can say
        newest = max(self._floor, version_number(known), self._gone.get(key, 0))
        return number <= newest
