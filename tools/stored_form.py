"""Write embedded/schema/stored_form.json: how Go writes the types of the Kubernetes API.

`python -m tools.stored_form [--modules ~/go/pkg/mod]` reads the Go sources of k8s.io/api in the
version that `tools/kube/go.mod` names. OpenAPI does not say which fields Go leaves out when they
are empty and which it always writes; the struct tags do. Only names and types are taken over.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mooring.embedded.resources import RESOURCES

ROOT: Final = Path(__file__).resolve().parents[1]
TARGET: Final = ROOT / "src/mooring/embedded/schema/stored_form.json"

_IMPORT: Final = re.compile(r'^\s*(?:import\s+)?(\w+)?\s*"([\w./-]+)"', re.MULTILINE)
_TYPE: Final = re.compile(
    r"^type (\w+) (=\s*)?(struct \{.*?^\}|struct\{\}|[^\n{]+)", re.MULTILINE | re.DOTALL
)
_FIELD: Final = re.compile(r"^\s*(?:\w+\s+)?(\S+)\s+`json:\"([^\"]*)\"")
_PACKAGES: Final = {
    f"k8s.io/api/{name}/v1": name
    for name in (
        "apps", "batch", "coordination", "core", "events", "networking", "node", "policy", "rbac",
        "resource", "scheduling", "storage",
    )
} | {"k8s.io/apimachinery/pkg/apis/meta/v1": "meta"}  # fmt: skip
# Types with a written form of their own.
_KNOWN: Final = {
    "string": "s", "bool": "b", "int": "i", "int32": "i", "int64": "i", "uint32": "i",
    "float64": "f", "[]byte": "s", "types.UID": "s", "types.NodeName": "s",
    "meta.Time": "t", "meta.MicroTime": "u", "meta.Duration": "s", "meta.FieldsV1": "x",
    "resource.Quantity": "q", "core.ResourceList": "l", "intstr.IntOrString": "n",
    "runtime.RawExtension": "x",
}  # fmt: skip


class Source:
    """The types of the packages, by names such as ``core.PodSpec``."""

    def __init__(self, modules: Path, version: str) -> None:
        self.types: dict[str, str] = {}
        self.imports: dict[str, dict[str, str]] = {}
        for path, name in _PACKAGES.items():
            module, _, rest = path.removeprefix("k8s.io/").partition("/")
            text = (modules / "k8s.io" / f"{module}@{version}" / rest / "types.go").read_text()
            head = text[: text.index("\ntype ")]
            self.imports[name] = {
                alias or (rest_path.split("/")[-1]): _PACKAGES.get(
                    rest_path, rest_path.split("/")[-1]
                )
                for alias, rest_path in _IMPORT.findall(head)
            }
            for match in _TYPE.finditer(text):
                self.types[f"{name}.{match[1]}"] = match[3].strip()

    def full(self, package: str, text: str) -> str:
        """The name of a type as a field has it, with the package it is in."""
        if text in _KNOWN:
            return text
        if "." in text:
            alias, name = text.split(".")
            return f"{self.imports[package].get(alias, alias)}.{name}"
        return f"{package}.{text}"

    def kind(self, package: str, text: str) -> str:
        """The code of a type: a letter, a type's name, or these after ``[`` or ``{``."""
        if text in _KNOWN:
            return _KNOWN[text]
        if text.startswith("[]"):
            return f"[{self.kind(package, text[2:])}"
        if text.startswith("map["):
            return f"{{{self.kind(package, text[text.index(']') + 1 :])}"
        name = self.full(package, text)
        if name in _KNOWN:
            return _KNOWN[name]
        body = self.types[name]
        return name if body.startswith("struct") else self.kind(name.split(".")[0], body)

    def fields(self, name: str) -> Iterator[tuple[str, str]]:
        """The fields of a struct, those of embedded ones included, with their codes."""
        package = name.split(".", maxsplit=1)[0]
        for line in self.types[name].splitlines():
            if line.lstrip().startswith("//"):
                continue
            found = _FIELD.match(line)
            if found is None:
                continue
            text, tag = found.groups()
            json_name, *options = tag.split(",")
            if not json_name:
                if not text.endswith("TypeMeta"):
                    yield from self.fields(self.full(package, text.lstrip("*")))
                elif name not in ROOTS:
                    yield from (("kind", "-s"), ("apiVersion", "-s"))
                continue
            yield (
                json_name,
                self._mode(package, text, options) + self.kind(package, text.lstrip("*")),
            )

    def _mode(self, package: str, text: str, options: list[str]) -> str:
        if text.startswith("*"):
            return "?" if "omitempty" in options else "*"
        if "omitzero" in options:
            return "-"
        kind = self.kind(package, text)
        # A struct that is no pointer is never empty for Go.
        whole = ("." in kind and kind[0] not in "[{") or kind in ("t", "u", "q", "n", "x")
        return "-" if "omitempty" in options and not whole else "!"


ROOTS: Final = {f"{(one.group or 'core').split('.')[0]}.{one.kind}": one for one in RESOURCES}


def collect(source: Source) -> dict[str, dict[str, str]]:
    """All types that objects of our resources are made of."""
    found: dict[str, dict[str, str]] = {}
    waiting = sorted(ROOTS)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = dict(source.fields(name))
        waiting += [code[1:].lstrip("[{") for code in found[name].values() if "." in code]
    return {name: found[name] for name in sorted(found)}


def default_modules() -> Path:
    """Where Go keeps the sources of modules."""
    path = os.environ.get("GOMODCACHE")
    gopath = os.environ.get("GOPATH")
    return Path(path) if path else Path(gopath or Path.home() / "go") / "pkg/mod"


def document(modules: Path) -> str:
    """The text of the file.

    Raises:
        FileNotFoundError: the sources are not there.
    """
    needed = re.search(r"k8s\.io/kubernetes v1\.(\S+)", (ROOT / "tools/kube/go.mod").read_text())
    if needed is None:
        raise SystemExit("tools/kube/go.mod names no version of k8s.io/kubernetes")
    table = collect(Source(modules, f"v0.{needed[1]}"))
    lines = [f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in table.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    """Write the file."""
    reader = argparse.ArgumentParser(description="Write the table of Go's written forms.")
    reader.add_argument("--modules", type=Path, default=default_modules())
    TARGET.write_text(document(reader.parse_args().modules))
    return 0


if __name__ == "__main__":
    sys.exit(main())
