"""Finds for a claim, on every node at once, the volume it would get there.

Owns the volumes by storage class, kept up to date from the state and from what is assumed here.
Called by VolumeBinding alone. It looks only at volumes that exist; whether one could be
made is the business of `provisioning`.
"""

import weakref
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.framework.arrays import Mask
from mooring.model.storage import (
    AVAILABLE,
    FILESYSTEM,
    PersistentVolume,
    PersistentVolumeClaim,
)
from mooring.plugins.volumes.reachable_nodes import mask_of, reach_of_volume
from mooring.state.aspects import Aspect
from mooring.state.changes.change_tracking import CatalogChanges
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.table import Table

Places = npt.NDArray[np.intp]
#: Stands for "no volume".
NONE: Final = -1
#: For so many kinds of claims it is remembered which volumes fit, and so many bytes.
_MOST_KINDS: Final = 256
_MOST_KIND_BYTES: Final = 8 << 20
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class MatchingVolumes(msgspec.Struct, frozen=True):
    """What a claim gets on every node.

    Attributes:
        claim: the claim.
        choice: (n,) for each node the place of the volume in `volumes`; `NONE` if there is none.
        volumes: the volumes that `choice` refers to.
    """

    claim: PersistentVolumeClaim
    choice: Places
    volumes: Sequence[PersistentVolume]

    def volume_at(self, row: int) -> PersistentVolume | None:
        """The volume the claim gets on a node."""
        place = int(self.choice[row])
        return None if place == NONE else self.volumes[place]


class _ClassVolumes:
    """The volumes of one storage class.

    Free volumes are held by ascending size, so that the first that fits is the smallest.
    """

    def __init__(self, table: Table) -> None:
        self.free: dict[str, PersistentVolume] = {}
        #: The volumes that are meant for a claim, by the claim's key.
        self.meant: dict[str, dict[str, PersistentVolume]] = {}
        self._sorted: list[PersistentVolume] = []
        self._sizes: list[int] = []
        self._place: dict[str, int] = {}
        self._there: Mask = np.zeros(0, np.bool_)
        self._stale = False
        self._fits: LruCache[Hashable, Mask] = table.new_lru_cache(_MOST_KINDS, _MOST_KIND_BYTES)
        self._pairs: tuple[Columns, int, Places, Places, Places] | None = None

    def put(self, volume: PersistentVolume) -> None:
        """Add a volume."""
        reference = volume.spec.claim_ref
        if reference is not None:
            key = f"{reference.namespace}/{reference.name}"
            self.meant.setdefault(key, {})[volume.name] = volume
            return
        self.free[volume.name] = volume
        place = self._place.get(volume.name)
        if place is not None and self._sorted[place] is volume:
            self._there[place] = True
        else:
            self._stale = True

    def remove(self, volume: PersistentVolume) -> None:
        """Take a volume out."""
        reference = volume.spec.claim_ref
        if reference is not None:
            key = f"{reference.namespace}/{reference.name}"
            self.meant[key].pop(volume.name)
            if not self.meant[key]:
                del self.meant[key]
            return
        del self.free[volume.name]
        place = self._place.get(volume.name)
        if place is not None:
            self._there[place] = False

    def __bool__(self) -> bool:
        return bool(self.free or self.meant)

    def sorted_volumes(self) -> list[PersistentVolume]:
        """The free volumes by ascending size, some that were taken since among them."""
        if self._stale:
            self._stale = False
            self._sorted = sorted(self.free.values(), key=lambda one: one.capacity.nano)
            self._sizes = [one.capacity.nano for one in self._sorted]
            self._place = {one.name: place for place, one in enumerate(self._sorted)}
            self._there = np.ones(len(self._sorted), np.bool_)
            self._fits.clear()
            self._pairs = None
        return self._sorted

    def fitting(self, claim: PersistentVolumeClaim) -> Mask:
        """(m,) which of the sorted volumes the claim could have, wherever they are."""
        spec = claim.spec
        modes = frozenset(spec.access_modes or ())
        kind = (
            modes, spec.volume_mode, spec.volume_attributes_class_name, _encode(spec.selector)
        )  # fmt: skip
        fits = self._fits.get(kind)
        if fits is None:
            fits = np.fromiter(
                (_fits(claim, modes, one) for one in self._sorted), np.bool_, len(self._sorted)
            )
            self._fits.put(kind, fits, size_of(kind) + fits.nbytes)
        fits = fits & self._there
        fits[: bisect_left(self._sizes, claim.request.nano if claim.request else 0)] = False
        return fits

    def pairs(self, columns: Columns) -> tuple[Places, Places, Places]:
        """Volumes and the rows they can be reached from, largest volume first; and the places of
        the volumes that can be reached from all rows."""
        known, version = self._pairs, columns.version(Aspect.LABELS)
        if known is None or known[0] is not columns or known[1] != version:
            places, rows, everywhere = [], [], []
            for place in range(len(self._sorted) - 1, -1, -1):
                reach = reach_of_volume(columns, self._sorted[place].node_selector)
                if reach is None:
                    everywhere.append(place)
                else:
                    rows.append(reach)
                    places.append(np.full(len(reach), place, np.intp))
            none = np.zeros(0, np.intp)
            known = self._pairs = (
                columns,
                version,
                np.concatenate([none, *places]),
                np.concatenate([none, *rows]),
                np.array(everywhere[::-1], np.intp),
            )
        return known[2:]


class VolumeFinder:
    """The volumes of a cluster by storage class, with what was assumed about them."""

    def __init__(self, cluster: Cluster) -> None:
        self._assumed = cluster.assume_cache
        self._changes = CatalogChanges(cluster.catalog, PersistentVolume)
        self._table = cluster.columns.table
        self._classes: dict[str, _ClassVolumes] = {}
        self._indexed: dict[str, PersistentVolume] = {}

    def assume(self, things: Sequence[PersistentVolume | PersistentVolumeClaim]) -> str:
        """Let the next decision see changed objects; says why that is not possible, else nothing.

        If it is not possible for one, it is done for none.
        """
        # parity v1.36.4: volumebinding/binder.go AssumePodVolumes
        for number, thing in enumerate(things):
            problem = self._assumed.assume(thing)
            if problem:
                self.restore(things[:number])
                return problem
            self._follow(thing)
        return ""

    def restore(self, things: Sequence[PersistentVolume | PersistentVolumeClaim]) -> None:
        """Take back what `assume` did; harmless if it was taken back already."""
        for thing in things:
            self._assumed.restore(thing)
            self._follow(thing)

    def _follow(self, thing: PersistentVolume | PersistentVolumeClaim) -> None:
        if isinstance(thing, PersistentVolume):
            self._update(thing.name)

    def refresh(self) -> None:
        """Take over what changed in the state."""
        for name, _, _ in self._changes.pop_changes():
            self._update(name)

    def find(
        self, columns: Columns, claim: PersistentVolumeClaim, before: Sequence[MatchingVolumes]
    ) -> MatchingVolumes:
        """The volume a claim gets on every node.

        Args:
            columns: the nodes.
            claim: an unbound claim.
            before: what other claims of the same pod get; their volumes are not free there.
        """
        # parity v1.36.4: component-helpers/storage/volume/pv_helpers.go FindMatchingVolume
        volumes_of_class = self._classes.get(claim.class_name)
        if volumes_of_class is None:
            return MatchingVolumes(claim, np.full(len(columns), NONE, np.intp), ())
        volumes = volumes_of_class.sorted_volumes()
        taken = [one.choice for one in before if one.claim.class_name == claim.class_name]
        choice = _smallest(volumes_of_class, columns, claim, taken)
        meant = [
            one for one in volumes_of_class.meant.get(claim.key, {}).values() if _meets(claim, one)
        ]
        if not meant:
            return MatchingVolumes(claim, choice, volumes)
        # A volume that is meant for the claim is taken, or nothing: no other is looked at.
        twins = [one.choice for one in before if one.claim.key == claim.key]
        undecided = np.ones(len(columns), np.bool_)
        for place, volume in enumerate(meant, len(volumes)):
            decided = undecided.copy()
            for other in twins:
                decided &= other != place
            reach = mask_of(columns, reach_of_volume(columns, volume.node_selector))
            choice[decided] = NONE
            choice[decided & reach] = place
            undecided &= ~decided
        return MatchingVolumes(claim, choice, [*volumes, *meant])

    def _update(self, name: str) -> None:
        old = self._indexed.pop(name, None)
        if old is not None:
            volumes_of_class = self._classes[old.class_name]
            volumes_of_class.remove(old)
            if not volumes_of_class:
                del self._classes[old.class_name]
        volume = self._assumed.get(PersistentVolume, name)
        if volume is not None:
            self._indexed[name] = volume
            self._volumes_of_class(volume.class_name).put(volume)

    def _volumes_of_class(self, class_name: str) -> _ClassVolumes:
        found = self._classes.get(class_name)
        if found is None:
            found = self._classes[class_name] = _ClassVolumes(self._table)
        return found


def _smallest(
    volumes_of_class: _ClassVolumes,
    columns: Columns,
    claim: PersistentVolumeClaim,
    taken: Sequence[Places],
) -> Places:
    """(n,) the place of the smallest free volume for the claim that each node can reach."""
    fits = volumes_of_class.fitting(claim)
    choice = np.full(len(columns), NONE, np.intp)
    if not fits.any():
        return choice
    places, rows, everywhere = volumes_of_class.pairs(columns)
    usable = fits[places]
    for other in taken:
        usable &= other[rows] != places
    # Where one row is written several times, the last and smallest volume stays.
    choice[rows[usable]] = places[usable]
    # A row rejects only volumes that were taken there before, so few of these are looked at.
    for place in everywhere[fits[everywhere]][: len(taken) + 1].tolist():
        free = (choice == NONE) | (choice > place)
        for other in taken:
            free &= other != place
        choice[free] = place
    return choice


def _meets(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether a volume meant for the claim can be its volume, wherever it is."""
    return (
        volume.is_meant_for(claim)
        and (claim.request is None or volume.capacity >= claim.request)
        and _alike(claim, volume)
    )


def _alike(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    return (
        (claim.spec.volume_mode or FILESYSTEM) == (volume.spec.volume_mode or FILESYSTEM)
        and (claim.spec.volume_attributes_class_name or "")
        == (volume.spec.volume_attributes_class_name or "")
        and not volume.deleting
    )


def _fits(claim: PersistentVolumeClaim, modes: frozenset[str], volume: PersistentVolume) -> bool:
    """Whether the claim could have a free volume, size and node aside."""
    selector = claim.spec.selector
    return (
        _alike(claim, volume)
        and volume.status.phase == AVAILABLE
        and (selector is None or selector.matches(volume.labels))
        and modes.issubset(volume.spec.access_modes or ())
    )


_finders: "weakref.WeakKeyDictionary[Cluster, VolumeFinder]" = weakref.WeakKeyDictionary()


def finder_of(cluster: Cluster) -> VolumeFinder:
    """The volumes of a cluster; all profiles of a scheduler share them and what they assume."""
    found = _finders.get(cluster)
    if found is None:
        found = _finders[cluster] = VolumeFinder(cluster)
    found.refresh()
    return found
