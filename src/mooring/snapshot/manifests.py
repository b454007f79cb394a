"""Objects from texts as kubectl takes and prints them: YAML or JSON, documents and lists.

`mooring.testing.cluster` reads what a test applies with it, ``moor cluster`` reads snapshots. Knows
no kinds: whether an object is right, the API server says.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from mooring.errors import InputError
from mooring.model.kinds import BY_LIST_NAME

_LIST: Final = "List"
_BOM: Final = "\ufeff"


def read_objects(text: str | bytes, source: str = "the manifest") -> list[dict[str, Any]]:
    """The objects in a text, lists taken apart.

    Args:
        text: YAML or JSON, one document or several.
        source: what to call it in messages, such as the file's name.

    Raises:
        InputError: it is not YAML, or something in it is no Kubernetes object.
    """
    found: list[dict[str, Any]] = []
    for document in _documents(text, source):
        found += objects_in(document, source)
    return found


def objects_in(data: object, source: str = "the manifest") -> Iterator[dict[str, Any]]:
    """The objects in parsed data: one object, or a list of them in one of the usual forms.

    Raises:
        InputError: something in it is no Kubernetes object.
    """
    if data is None:
        return
    if isinstance(data, list | tuple):
        for item in data:
            yield from objects_in(item, source)
        return
    if not isinstance(data, Mapping):
        raise InputError(f"something in {source} is not an object; a Kubernetes object has a kind")
    kind = data.get("kind")
    if isinstance(kind, str) and kind.endswith(_LIST) and isinstance(data.get("items"), list):
        yield from _items(data, kind.removesuffix(_LIST), source)
    elif "kind" not in data and data.keys() & BY_LIST_NAME.keys():
        yield from _by_name(data, source)
    elif isinstance(kind, str) and kind and isinstance(data.get("apiVersion"), str):
        yield dict(data)
    else:
        lacks = "kind" if not kind or not isinstance(kind, str) else "apiVersion"
        raise InputError(f"an object in {source} has no {lacks}{_named(data)}")


def _items(data: Mapping[str, Any], kind: str, source: str) -> Iterator[dict[str, Any]]:
    """The items of a list; those of a typed list have no kind of their own."""
    for item in data["items"]:
        if kind and isinstance(item, Mapping) and not item.get("kind"):
            item = {"apiVersion": data.get("apiVersion"), "kind": kind, **item}
        yield from objects_in(item, source)


def _by_name(data: Mapping[str, Any], source: str) -> Iterator[dict[str, Any]]:
    """Lists of objects by name, as `mooring.explain` takes them."""
    for name, items in data.items():
        kind = BY_LIST_NAME.get(name)
        if kind is None:
            raise InputError(f"{source} has a list {name!r} of an unknown kind")
        version = f"{kind.group}/v1" if kind.group else "v1"
        for item in items or ():
            if isinstance(item, Mapping):
                item = {"apiVersion": version, "kind": kind.name, **item}
            yield from objects_in(item, source)


def _documents(text: str | bytes, source: str) -> Iterator[object]:
    try:
        whole = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix(_BOM)
    except UnicodeDecodeError:
        raise InputError(f"{source} is neither YAML nor JSON: it is not valid UTF-8") from None
    if whole.lstrip()[:1] in ("{", "["):
        yield from _json_documents(whole, source)
        return
    from mooring import yaml_text  # noqa: PLC0415 - slow to import

    for number, (line, document) in enumerate(yaml_text.documents(whole), 1):
        place = f"{source}, document {number}" if number > 1 else source
        try:
            yield yaml_text.parse(document, line)
        except yaml_text.YamlProblem as problem:
            raise InputError(f"{place} is not valid YAML: {problem}") from problem


def _json_documents(text: str, source: str) -> Iterator[object]:
    try:
        yield msgspec.json.decode(text)
    except msgspec.DecodeError as problem:
        if "trailing" not in str(problem):
            yield _flow_yaml(text, source, problem)
            return
    else:
        return
    decoder, place = json.JSONDecoder(), 0
    try:
        while place < len(text):
            found, place = decoder.raw_decode(text, place)
            place += len(text[place:]) - len(text[place:].lstrip())
            yield found
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not valid JSON: {error}") from error


def _flow_yaml(text: str, source: str, problem: Exception) -> object:
    """A text that begins as JSON does and is none: YAML may, too."""
    from mooring import yaml_text  # noqa: PLC0415 - slow to import

    try:
        return yaml_text.parse(text)
    except yaml_text.YamlProblem:
        raise InputError(f"{source} is not valid JSON: {problem}") from problem


def _named(data: Mapping[str, Any]) -> str:
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f" (metadata.name is {name!r})" if isinstance(name, str) else ""
