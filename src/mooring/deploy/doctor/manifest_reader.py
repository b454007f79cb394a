"""Objects and configurations from the texts of files, with the lines they are in.

`gathering` calls it with what it read. A document that cannot be read is noted and the others are
still looked at. No I/O.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from mooring import yaml_text
from mooring.config.types import KIND, Extender
from mooring.deploy.doctor.evidence import (
    BrokenFile,
    FoundConfiguration,
    FoundExtender,
    FoundObject,
    mapping,
    sequence,
)
from mooring.deploy.doctor.located_yaml import EditableDocument
from mooring.deploy.static_pods import is_static_folder
from mooring.errors import InputError
from mooring.model.duration import Duration

POLICY: Final = "Policy"
#: Kinds that are files for a program, not objects for the API server.
_CONFIGURATIONS: Final = (KIND, POLICY)
#: What kustomize and kubectl read without sending it to an API server.
_KUSTOMIZATION: Final = "Kustomization"
_NOT_APPLIED: Final = (_KUSTOMIZATION, "Config", "Component")
_FIELDS: Final = {one.encode_name: one for one in msgspec.structs.fields(Extender)}


@dataclass(slots=True)
class ReadFiles:
    """What files contain; `add` puts one in.

    Attributes:
        objects: Kubernetes objects.
        configurations: configurations of schedulers, also those in ConfigMaps.
        broken: what cannot be read.
        static: files that the kubelet reads.
        files: all of them.
    """

    objects: list[FoundObject] = field(default_factory=list)
    configurations: list[FoundConfiguration] = field(default_factory=list)
    broken: list[BrokenFile] = field(default_factory=list)
    static: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)

    def add(self, file: str, text: str, *, is_configuration: bool = False) -> None:
        """Read a manifest or a configuration.

        Args:
            file: its name.
            text: what is in it; lone surrogates stand for bytes that are not UTF-8.
            is_configuration: an object without a kind is a scheduler's configuration.
        """
        self.files.append(file)
        if is_static_folder(file):
            self.static.add(file)
        lines = text.splitlines()
        try:
            yaml_text.check_utf8(text)
        except yaml_text.YamlProblem as problem:
            self.broken.append(BrokenFile(file, _line_of(problem, 0), str(problem)))
            return
        documents = list(yaml_text.documents(text)) if _is_yaml(text) else [(0, text)]
        for first_line, part in documents:
            if not part.strip():
                continue
            try:
                document = EditableDocument(file, lines, part, first_line)
            except yaml_text.YamlProblem as problem:
                self.broken.append(BrokenFile(file, _line_of(problem, first_line), str(problem)))
                continue
            self._add_document(document, len(documents), is_configuration)

    def _add_document(
        self, document: EditableDocument, documents: int, is_configuration: bool
    ) -> None:
        data = document.data
        if data is None:
            return
        if not isinstance(data, Mapping):
            what = "it holds no object with named fields"
            self.broken.append(BrokenFile(document.file, document.first_line, what, is_yaml=True))
            return
        kind = data.get("kind")
        if kind is None and Path(document.file).stem.lower() == "kustomization":
            kind = _KUSTOMIZATION  # kustomize needs no kind there
        if kind in _CONFIGURATIONS or (kind is None and is_configuration):
            self.configurations.append(
                FoundConfiguration(data=data, document=document, source=document.file)
            )
        elif kind == _KUSTOMIZATION:
            self.objects += _generated_config_maps(data)
        elif not isinstance(kind, str) or not isinstance(data.get("apiVersion"), str):
            lacks = "kind" if not isinstance(kind, str) else "apiVersion"
            what = f"an object has no {lacks}"
            self.broken.append(BrokenFile(document.file, document.first_line, what, is_yaml=True))
        elif kind not in _NOT_APPLIED:
            found = FoundObject(data=data, document=document, documents=documents)
            self.objects.append(found)
            self.configurations += configurations_in(found)


def _generated_config_maps(kustomization: Mapping[str, Any]) -> Iterator[FoundObject]:
    """The ConfigMaps that kustomize makes; their names get a suffix where they are used, too."""
    for one in map(mapping, sequence(kustomization.get("configMapGenerator"))):
        files = [str(file) for file in sequence(one.get("files"))]
        literals = [str(literal) for literal in sequence(one.get("literals"))]
        keys = [file.partition("=")[0].rpartition("/")[2] for file in files]
        keys += [literal.partition("=")[0] for literal in literals]
        namespace = kustomization.get("namespace") or one.get("namespace")
        metadata = {"name": one.get("name"), "namespace": namespace}
        yield FoundObject(
            data={"kind": "ConfigMap", "metadata": metadata, "data": dict.fromkeys(keys, "")}
        )


def configurations_in(found: FoundObject) -> Iterator[FoundConfiguration]:
    """The configurations in the values of a ConfigMap."""
    if found.kind != "ConfigMap":
        return
    for key, value in mapping(found.data.get("data")).items():
        if not isinstance(value, str) or not any(kind in value for kind in _CONFIGURATIONS):
            continue
        try:
            inner = found.document.nested(("data", key)) if found.document is not None else None
            data = inner.data if inner is not None else yaml_text.parse(value)
        except yaml_text.YamlProblem:
            continue
        if isinstance(data, Mapping) and data.get("kind") in _CONFIGURATIONS:
            yield FoundConfiguration(
                data=data, document=inner, source=found.title, owner=found, key=str(key)
            )


def extenders_of(configuration: FoundConfiguration) -> Iterator[FoundExtender]:
    """The extenders of a configuration of any version, as far as they can be understood."""
    for index, entry in enumerate(sequence(configuration.data.get("extenders"))):
        if isinstance(entry, Mapping):
            yield FoundExtender(_settings(entry), configuration, index)


def _settings(entry: Mapping[str, Any]) -> Extender:
    """An extender, field by field: one that is wrong does not hide the others."""
    found: dict[str, Any] = {}
    for name, value in entry.items():
        info = _FIELDS.get("enableHTTPS" if name == "enableHttps" else str(name))
        if info is None or value is None:
            continue
        if info.type is Duration and isinstance(value, int):
            found[info.name] = Duration(value)  # nanoseconds, as in a Policy
            continue
        try:
            found[info.name] = msgspec.convert(value, info.type, strict=False, dec_hook=_duration)
        except (msgspec.ValidationError, InputError, ValueError):
            continue
    return Extender(**found)


def _duration(kind: type[Any], value: object) -> Any:
    if kind is Duration and isinstance(value, str):
        return Duration.parse(value)
    raise ValueError(f"{value!r} is not a duration")


def _is_yaml(text: str) -> bool:
    return text.lstrip()[:1] not in ("{", "[")


def _line_of(problem: Exception, first_line: int) -> int:
    digits = str(problem).rpartition("in line ")[2]
    return int(digits) if digits.isdigit() else first_line + 1
