"""Writes locks/: the packages of constraints.txt with the hashes of their files.

Run as ``python -m tools.lock`` (``make lock``) after a change of constraints.txt, in an environment
that has those versions installed. Hashes come from the package index that pip is configured for,
asked by name; they are those of all wheels of a version, for every platform, and of its source
distribution. Nothing else of the index is written down.

    locks/runtime.txt  what ``moor`` needs to run
    locks/build.txt    what builds the package: pip, the build backend
    locks/dev.txt      everything in constraints.txt
"""

import argparse
import importlib.metadata
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version
from pip._internal.commands import create_command
from pip._internal.index.collector import parse_links
from pip._internal.models.link import Link

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "locks"
CONSTRAINTS: Final = ROOT / "constraints.txt"
_HEAD: Final = (
    "# Made from constraints.txt by `make lock`: do not edit. All files of each version.\n"
)
_BUILD: Final = ("pip", "hatchling")
#: The environments that count when a dependency says when it is needed.
_ENVIRONMENTS: Final = tuple(
    {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system,
     "platform_system": name, "os_name": "posix", "extra": "",
     "implementation_name": "cpython", "platform_python_implementation": "CPython"}
    for python in ("3.11", "3.12", "3.13")
    for system, name in (("linux", "Linux"), ("darwin", "Darwin"))
)  # fmt: skip


def read_constraints(text: str) -> dict[str, str]:
    """The pinned versions by canonical name."""
    found = {}
    for line in text.splitlines():
        pinned = line.partition("#")[0].strip()
        if pinned:
            name, version = pinned.split("==")
            found[str(canonicalize_name(name))] = version
    return found


def read_lock(text: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of each package of a lock, by canonical name."""
    found: dict[str, tuple[str, list[str]]] = {}
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        pinned, *hashes = line.split()
        name, version = pinned.split("==")
        found[name] = version, [one.removeprefix("--hash=sha256:") for one in hashes]
    return found


def write_lock(pins: Mapping[str, str], hashes: Mapping[str, Iterable[str]]) -> str:
    """A lock as text: packages and hashes in order, the same for the same."""
    parts = [_HEAD]
    for name, version in sorted(pins.items()):
        lines = [f"    --hash=sha256:{one}" for one in sorted(hashes[name])]
        parts.append(" \\\n".join([f"{name}=={version}", *lines]) + "\n")
    return "".join(parts)


def sets(pins: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The packages of each lock, by its name."""
    return {
        "runtime": closure(("mooring",), pins),
        "build": closure(_BUILD, pins),
        "dev": dict(pins),
    }


def closure(roots: Iterable[str], pins: Mapping[str, str]) -> dict[str, str]:
    """The pinned packages that some packages need, with themselves if they are pinned.

    Reads what is installed; the versions must be the pinned ones.
    """
    seen: set[str] = set()
    waiting = [str(canonicalize_name(root)) for root in roots]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        installed = importlib.metadata.distribution(name)
        if name in pins and installed.version != pins[name]:
            sys.exit(f"{name} {installed.version} is installed, not {pins[name]}: make clean setup")
        waiting += (needed for needed in _needs(installed) if needed not in seen)
    left_out = seen - pins.keys() - {"mooring"}
    if left_out:
        sys.exit(f"constraints.txt lacks {', '.join(sorted(left_out))}")
    return {name: pins[name] for name in seen if name in pins}


def _needs(installed: importlib.metadata.Distribution) -> Iterator[str]:
    for text in installed.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or _ever(requirement.marker):
            yield str(canonicalize_name(requirement.name))


def _ever(marker: Marker) -> bool:
    return any(marker.evaluate(dict(environment)) for environment in _ENVIRONMENTS)


def ask_index(pins: Mapping[str, str]) -> dict[str, set[str]]:
    """The hashes of all files of the pinned versions, from the index that pip uses."""
    # pip knows the index, its certificates and its credentials; no public interface tells hashes.
    command: Any = create_command("download")
    options, _ = command.parse_args([])
    found: dict[str, set[str]] = {name: set() for name in pins}
    with command.main_context():
        session = command._build_session(options)  # noqa: SLF001
        finder = command._build_package_finder(options, session)  # noqa: SLF001
        collector = finder._link_collector  # noqa: SLF001
        for name, version in pins.items():
            for place in collector.search_scope.get_index_urls_locations(name):
                answer = collector.fetch_response(Link(place))
                for link in parse_links(answer) if answer is not None else ():
                    digest = link.hash if link.hash_name == "sha256" else None
                    if digest is not None and _is_of(link.filename, name, version):
                        found[name].add(digest)
            if not found[name]:
                sys.exit(f"the package index has no files of {name} {version}")
    return found


def _is_of(filename: str, name: str, version: str) -> bool:
    """Whether a file is a wheel or the source distribution of a version."""
    try:
        if filename.endswith(".whl"):
            its_name, its_version, *_ = parse_wheel_filename(filename)
        else:
            its_name, its_version = parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return False
    return its_name == name and its_version == Version(version)


def main() -> None:
    """Write all locks anew."""
    argparse.ArgumentParser(
        prog="python -m tools.lock",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    pins = read_constraints(CONSTRAINTS.read_text())
    hashes = ask_index(pins)
    FOLDER.mkdir(exist_ok=True)
    for name, packages in sets(pins).items():
        (FOLDER / f"{name}.txt").write_text(write_lock(packages, hashes))
        print(f"locks/{name}.txt: {len(packages)} packages")


if __name__ == "__main__":
    main()
