"""Objects that the API server wrote for us, until informers show them.

An answer to a write is newer than what informers have shown, and two things must not happen: that a
decision sees the object as it was before (its devices would be free for a moment), and that an
event from before the write takes the answer back.

    stored ──answer to a write──> written ──an event of that version or later, or gone──> stored
                                     │  ^
                                     └──┘ earlier events are ignored

Owned by `Core`, for objects of every kind but nodes and pods, which are assumed by `Cluster`. An
answer about an object that no informer has shown yet is not taken: it may be gone by now.
"""

# parity v1.36.4: scheduler/util/assumecache/assume_cache.go Assume, onUpdate

from mooring.model.meta import KubeObject
from mooring.state.catalog import Catalog

_Place = tuple[type[KubeObject], str]


class WrittenObjects:
    """The versions that were written and are not seen yet.

    Args:
        catalog: the stored objects.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        #: Unique id and version, by kind and key.
        self._written: dict[_Place, tuple[str, int]] = {}

    def take(self, thing: KubeObject) -> bool:
        """Whether an answer of the API server is news; then it counts until it is seen."""
        stored = self._catalog.get(type(thing), thing.key)
        if stored is None or stored.uid != thing.uid:
            return False
        version, known = _version(thing), _version(stored)
        if version is None or known is None or version <= known:
            return False
        self._written[type(thing), thing.key] = (thing.uid, version)
        return True

    def is_outdated(self, thing: KubeObject, *, put: bool) -> bool:
        """Whether an informer shows an object as it was before it was written."""
        if not self._written:
            return False
        place = (type(thing), thing.key)
        written = self._written.get(place)
        if written is None:
            return False
        uid, least = written
        version = _version(thing)
        if put and thing.uid == uid and version is not None and version < least:
            return True
        del self._written[place]
        return False

    def __len__(self) -> int:
        return len(self._written)


def _version(thing: KubeObject) -> int | None:
    """The number of a version; Kubernetes' own kinds can be compared since KEP-5504."""
    text = thing.resource_version
    return int(text) if text.isascii() and text.isdigit() else None
