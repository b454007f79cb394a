"""Reading snapshots and configurations from files, folders and standard input."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.model.pod import Pod
    from mooring.snapshot.snapshot import Snapshot

#: No configuration comes near.
MOST_MAPPING = 4 << 20
_SUFFIXES = (".json", ".yaml", ".yml")
_HINT = "create one with: kubectl get nodes,pods,pv,pvc,sc,pdb,ns,svc,rs,sts -A -o json > FILE"


def read_snapshot(place: str, *, keep_source: bool = False) -> "Snapshot":
    """Read a snapshot, leaving out what cannot be used.

    Args:
        place: a file, a folder with files, or ``-`` for standard input.
        keep_source: keep every field of the objects, for policies that read `raw`.

    Raises:
        InputError: there is nothing to read, or nothing in it can be used.
    """
    from mooring.snapshot.snapshot import Snapshot
    from mooring.snapshot.text_reader import TextReader

    snapshot = Snapshot(strict=False)
    reader = TextReader(snapshot, keep_source=keep_source)
    for name, data in _texts(place):
        reader.read_text(data, name)
    if not len(snapshot):
        if snapshot.skipped:
            more = len(snapshot.skipped) - 1
            others = f" (and {more} more problems)" if more else ""
            raise InputError(f"{snapshot.skipped[0].problem}{others}")
        what = "standard input" if place == "-" else place
        raise InputError(f"{what} has no Kubernetes objects; {_HINT}")
    return snapshot


def read_pod(file: Path) -> "Pod":
    """Read one pod from a manifest.

    Raises:
        InputError: the file cannot be read, or does not hold exactly one pod.
    """
    from mooring.model.pod import Pod
    from mooring.snapshot.snapshot import Snapshot
    from mooring.snapshot.text_reader import TextReader

    snapshot = Snapshot()
    TextReader(snapshot, keep_source=True).read_text(_read(file), str(file))
    pods = snapshot.all(Pod)
    if len(pods) != 1:
        raise InputError(f"{file} contains {len(pods)} pods; specify a file with exactly one")
    return pods[0]


def read_mapping(file: Path) -> dict[str, Any]:
    """Read one YAML or JSON object, such as a configuration.

    Raises:
        InputError: the file cannot be read or holds no object.
    """
    from mooring import yaml_text

    try:
        raw = _read(file, "a file", MOST_MAPPING + 1)
        if len(raw) > MOST_MAPPING:
            most = f"{MOST_MAPPING >> 20} MiB"
            raise InputError(f"{file} has more than {most}; give a smaller file")
        found = yaml_text.parse(raw.decode("utf-8-sig"))
    except (yaml_text.YamlProblem, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not valid YAML: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{file} does not contain a YAML mapping")
    return found


def _texts(place: str) -> list[tuple[str, bytes]]:
    if place == "-":
        return [("standard input", sys.stdin.buffer.read())]
    path = Path(place)
    if not path.is_dir():
        return [(place, _read(path))]
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix in _SUFFIXES and file.is_file() and not file.name.startswith(".")
    )
    if not files:
        raise InputError(f"{place} has no .json, .yaml or .yml files; {_HINT}")
    return [(str(file), _read(file)) for file in files]


def _read(file: Path, wanted: str = "a file, a directory or -", most: int = -1) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(most)
    except FileNotFoundError:
        raise InputError(f"{file} does not exist; specify {wanted}") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
