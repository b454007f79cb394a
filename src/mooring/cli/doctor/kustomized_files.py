"""The files of a folder that kustomize reads: what its kustomization.yaml names.

Called by ``moor doctor`` for a folder that has one. Other files beside them, such as a workflow or
sample data, are no manifests.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from mooring import yaml_text
from mooring.cli.deploy.given_files import SUFFIXES
from mooring.errors import InputError

_NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
#: Longer ones are read, and rejected, by whoever reads all files.
_MOST_BYTES: Final = 1 << 20
#: Folders that name folders are followed so deep.
_MOST_DEEP: Final = 8


def kustomized_files(places: Iterable[Path]) -> Iterator[Path]:
    """The same places, but for each folder with a kustomization the files that it names.

    Raises:
        InputError: a kustomization cannot be read.
    """
    seen: set[Path] = set()
    for place in places:
        yield from _files(place, _MOST_DEEP, seen)


def _files(place: Path, deep: int, seen: set[Path]) -> Iterator[Path]:
    """The files of a place; a folder that was seen has none any more."""
    file = next((place / name for name in _NAMES if _is_file(place / name)), None)
    if file is None or not deep:
        yield place
        return
    root = place.resolve()
    if root in seen:
        return
    seen.add(root)
    yield file
    kustomization = _read(file)
    for named in _texts(kustomization.get("resources")):
        one = place / named
        # What is not there is elsewhere: an address. kustomize reads no other file from outside.
        if _is_file(one) and one.resolve().is_relative_to(root):
            yield one
        elif _is_folder(one):
            yield from _files(one, deep - 1, seen)
    generators = kustomization.get("configMapGenerator")
    for generator in generators if isinstance(generators, list) else ():
        files = generator.get("files") if isinstance(generator, dict) else None
        for named in _texts(files):
            one = place / named.rpartition("=")[2]
            if one.suffix in SUFFIXES and _is_file(one) and one.resolve().is_relative_to(root):
                yield one


def _is_file(path: Path) -> bool:
    with contextlib.suppress(OSError):  # a name that is too long, or a folder that is not ours
        return path.is_file()
    return False


def _is_folder(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.is_dir()
    return False


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_BYTES).decode()
        data = yaml_text.parse(text)
    except (OSError, ValueError, yaml_text.YamlProblem) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    return data if isinstance(data, dict) else {}


def _texts(listed: object) -> list[str]:
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
