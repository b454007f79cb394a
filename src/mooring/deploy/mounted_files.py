"""Which volume of a pod a file of a container is in, and which key of which ConfigMap it is.

`migration` and `doctor` follow paths such as that of ``--config`` with it. What people write may be
anything, so parts of another type count as absent. No I/O.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple


class MountedFile(NamedTuple):
    """A file in a volume that a container mounts.

    Attributes:
        volume: which of the pod's volumes it is in, counted from 0.
        config_map: the ConfigMap that it comes from; empty for another kind of volume.
        key: the key of the ConfigMap.
    """

    volume: int
    config_map: str = ""
    key: str = ""


def mounted_file(
    pod_spec: Mapping[str, Any], container: Mapping[str, Any], path: str
) -> MountedFile | None:
    """Where a path in a container leads to; None if no volume is mounted there."""
    found = _mount(container, PurePosixPath(path))
    if found is None:
        return None
    name, file = found
    volumes = pod_spec.get("volumes")
    for place, volume in enumerate(volumes if isinstance(volumes, list) else ()):
        if isinstance(volume, Mapping) and volume.get("name") == name:
            return _source(volume, place, file)
    return None


def _mount(container: Mapping[str, Any], wanted: PurePosixPath) -> tuple[object, str] | None:
    """The name of the volume of the innermost mount, and the path of the file in the volume."""
    best: tuple[int, object, str] | None = None
    for mount in _mappings(container.get("volumeMounts")):
        folder = PurePosixPath(str(mount.get("mountPath") or "/"))
        depth = len(folder.parts)
        if not wanted.is_relative_to(folder) or (best is not None and depth <= best[0]):
            continue
        inside = wanted.relative_to(folder)
        file = PurePosixPath(str(mount.get("subPath") or "")) / inside
        best = (depth, mount.get("name"), str(file) if file.parts else "")
    return best[1:] if best is not None else None


def _source(volume: Mapping[str, Any], place: int, file: str) -> MountedFile:
    """The ConfigMap that makes a file of a volume; of a projected one the first that has it."""
    projected = volume.get("projected")
    parts = projected.get("sources") if isinstance(projected, Mapping) else None
    whole: MountedFile | None = None
    for source in (volume, *_mappings(parts)):
        config_map = source.get("configMap")
        if not isinstance(config_map, Mapping):
            continue
        name = str(config_map.get("name") or "")
        keys = {str(one.get("path")): one.get("key") for one in _mappings(config_map.get("items"))}
        if file in keys:
            return MountedFile(place, name, str(keys[file]))
        if whole is None and (not keys or source is volume):
            whole = MountedFile(place, name, file)
    return whole or MountedFile(place)


def _mappings(given: object) -> Iterator[Mapping[str, Any]]:
    return (
        (one for one in given if isinstance(one, Mapping)) if isinstance(given, list) else iter(())
    )
