"""Volumes and claims as the next decision sees them.

A pod's claims are bound to volumes only after its node is chosen, and the API server shows that
later still. `AssumedVolumes` holds what was decided meanwhile:

    stored ──assume──> assumed ──restore──> stored
                          │
                          └──a newer object arrives──> stored

Called by VolumeBinding, the only plugin to which assumed objects are visible.
"""

from collections.abc import Callable
from typing import TypeVar

from mooring.model.storage import PersistentVolume, PersistentVolumeClaim
from mooring.state.catalog import Catalog

Stored = TypeVar("Stored", PersistentVolume, PersistentVolumeClaim)


class AssumedVolumes:
    """Volumes and claims, with what was decided about them and is not in the API server yet.

    Args:
        catalog: the stored objects.
        on_volume: called with the name of every volume that is assumed or restored.
    """

    def __init__(self, catalog: Catalog, on_volume: Callable[[str], None]) -> None:
        self._catalog = catalog
        self._on_volume = on_volume
        self._volumes: dict[str, PersistentVolume] = {}
        self._claims: dict[str, PersistentVolumeClaim] = {}

    def volume(self, name: str) -> PersistentVolume | None:
        """A volume by name."""
        return _latest(self._volumes, name, self._catalog.get(PersistentVolume, name))

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """A claim by ``namespace/name``."""
        return _latest(self._claims, key, self._catalog.get(PersistentVolumeClaim, key))

    def assume(self, thing: PersistentVolume | PersistentVolumeClaim) -> str:
        """Let a changed object stand for the stored one until a newer one arrives.

        Returns:
            Why that is not possible; empty if it was done.
        """
        # parity v1.36.4: volumebinding/passive_assume_cache.go Assume
        stored = self._catalog.get(type(thing), thing.key)
        if stored is None:
            resource = f"{type(thing).kind_name.lower()}s"
            return f'{resource} "{thing.key}" not found'
        if stored.resource_version != thing.resource_version:
            return (
                f'"{thing.key}" is out of sync '
                f"(stored: {stored.resource_version}, assume: {thing.resource_version})"
            )
        if isinstance(thing, PersistentVolume):
            self._volumes[thing.key] = thing
            self._on_volume(thing.key)
        else:
            self._claims[thing.key] = thing
        return ""

    def restore(self, thing: PersistentVolume | PersistentVolumeClaim) -> None:
        """Let the stored object stand again; nothing happens if it does already."""
        if isinstance(thing, PersistentVolume):
            _drop(self._volumes, thing)
            self._on_volume(thing.key)
        else:
            _drop(self._claims, thing)


def _latest(assumed: dict[str, Stored], key: str, stored: Stored | None) -> Stored | None:
    found = assumed.get(key)
    if found is None:
        return stored
    if stored is not None and stored.resource_version == found.resource_version:
        return found
    del assumed[key]
    return stored


def _drop(assumed: dict[str, Stored], thing: Stored) -> None:
    found = assumed.get(thing.key)
    if found is not None and found.resource_version == thing.resource_version:
        del assumed[thing.key]
