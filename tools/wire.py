"""Writes src/mooring/embedded/schema/wire.json: the numbers that fields have in protobuf.

Run as ``python -m tools.wire`` after ``python -m tools.schema``; needs Go and the sources that
``make kube`` builds from. The struct tags of k8s.io/api have the numbers, and whether a field that
is zero was said to be zero (a pointer) or not said at all.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mooring.embedded.schema.definitions import Definition, definitions

FILE: Final = Path(__file__).parents[1] / "src" / "mooring" / "embedded" / "schema" / "wire.json"
_GO: Final = Path(__file__).parent / "kube"

_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(
    r"^\t(?:\w+ +)?(?P<type>\S+)\s+`(?P<tags>[^`]*protobuf:\"[^`]*)`", re.MULTILINE
)
_JSON: Final = re.compile(r'json:"([^",]*)([^"]*)"')
_NUMBER: Final = re.compile(r'protobuf:"\w+,(\d+),')
_FOLDERS: Final = {
    "io.k8s.api.": "k8s.io/api",
    "io.k8s.apimachinery.pkg.apis.": "k8s.io/apimachinery",
}

#: By number: the name of a field, or the fields of an embedded struct.
Numbers = dict[str, "str | Numbers"]


def main() -> int:
    """Write the file."""
    _options().parse_args()
    FILE.write_text(compose())
    print(f"{FILE}: {FILE.stat().st_size // 1024} KiB")
    return 0


def _options() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="python -m tools.wire",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def compose() -> str:
    """Return the content of the file for the sources of this version.

    Raises:
        FileNotFoundError: there is no Go.
        subprocess.CalledProcessError: Go does not have the sources.
    """
    folders = {module: _folder(module) for module in _FOLDERS.values()}
    structs: dict[Path, dict[str, str]] = {}
    lines = []
    for one in sorted(definitions().values(), key=lambda one: one.name):
        package, name = _package(one, folders)
        if package not in structs:
            structs[package] = _structs(package)
        numbers = _numbers(name, structs[package])
        told = set(_told(numbers)) | {"apiVersion", "kind"}
        if told != set(one.fields) | {"apiVersion", "kind"}:
            raise AssertionError(f"{one.name}: {sorted(told ^ set(one.fields))}")
        lines.append(f"{json.dumps(one.name)}:{json.dumps(numbers, separators=(',', ':'))}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _folder(module: str) -> Path:
    done = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", module],
        cwd=_GO, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return Path(done.stdout.strip())


def _package(one: Definition, folders: dict[str, Path]) -> tuple[Path, str]:
    """The folder of a definition's Go package, and the name of the struct."""
    for prefix, module in _FOLDERS.items():
        if one.name.startswith(prefix):
            *parts, name = one.name.removeprefix(prefix).split(".")
            inner = ["pkg", "apis"] if module == "k8s.io/apimachinery" else []
            return folders[module].joinpath(*inner, *parts), name
    raise AssertionError(one.name)


def _structs(folder: Path) -> dict[str, str]:
    files = [file for file in folder.glob("*.go") if not file.name.endswith("_test.go")]
    return {
        name: body
        for file in sorted(files)
        if "generated" not in file.name
        for name, body in _STRUCT.findall(file.read_text())
    }


def _numbers(struct: str, structs: dict[str, str]) -> Numbers:
    """The numbers of a struct's fields.

    ``*`` before a name is for a pointer, ``!`` for a field that is told in JSON even if it is zero.
    """
    numbers: Numbers = {}
    for field in _FIELD.finditer(structs[struct]):
        number, tag = _NUMBER.search(field["tags"]), _JSON.search(field["tags"])
        if number is None or tag is None:
            raise AssertionError(field[0])
        name, options = tag[1], tag[2]
        if not name:
            numbers[number[1]] = _numbers(field["type"], structs)
        elif field["type"].startswith("*"):
            numbers[number[1]] = f"*{name}"
        else:
            numbers[number[1]] = name if "omit" in options else f"!{name}"
    return dict(sorted(numbers.items(), key=lambda item: int(item[0])))


def _told(numbers: Numbers) -> Iterator[str]:
    for one in numbers.values():
        if isinstance(one, str):
            yield one.lstrip("*!")
        else:
            yield from _told(one)


if __name__ == "__main__":
    sys.exit(main())
