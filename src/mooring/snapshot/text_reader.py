"""Reading Kubernetes objects from texts, JSON or YAML, into a `Snapshot`.

Understands what ``kubectl get -o json|yaml`` prints, also several documents one after the other.
JSON goes straight into typed objects: the items of a list are cut out as bytes and each is read
once, which makes a dump of 100 MB a matter of a second. Files are opened by the caller.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from mooring.errors import InputError
from mooring.model.kinds import BY_LIST_NAME, Kind, find_kind
from mooring.snapshot.object_reader import LIST, ObjectReader
from mooring.snapshot.snapshot import Snapshot

_Bytes = bytes | memoryview
#: Where kubectl and the API server have these two fields: in front.
_HEAD: Final = re.compile(
    rb'\s*\{\s*"apiVersion"\s*:\s*"([^"\\]*)"\s*,\s*"kind"\s*:\s*"([^"\\]*)"\s*,'
)


class _Head(msgspec.Struct):
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")


class _List(_Head):
    items: list[msgspec.Raw] | None = None


_read_head: Final = msgspec.json.Decoder(_Head).decode
_read_list: Final = msgspec.json.Decoder(_List).decode
_read_array: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_lists: Final = msgspec.json.Decoder(dict[str, Any]).decode


class TextReader(ObjectReader):
    """Reads texts into a snapshot.

    Args:
        snapshot: gets the objects, and what could not be read.
        keep_source: keep the bytes of objects, so that their `raw` has every field.
    """

    def __init__(self, snapshot: Snapshot, *, keep_source: bool = False) -> None:
        super().__init__(snapshot)
        self._keep_source = keep_source

    def read_text(self, data: bytes, source: str) -> None:
        """Read a text, JSON or YAML.

        Args:
            data: the text.
            source: what to call it in messages, such as the file's name.

        Raises:
            InputError: something cannot be read, and the snapshot is strict.
        """
        start = data[:100].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if start in (b"{", b"["):
            self._json_text(data, source)
        else:
            self._yaml_text(data, source)

    def _json_text(self, data: bytes, source: str) -> None:
        data = data.removeprefix(b"\xef\xbb\xbf")
        try:
            if data.lstrip()[:1] == b"[":
                self._json_items(_read_array(data), "", "", source)
            else:
                # Reads to the end, so that a second document is noticed.
                whole = _read_list(data)
                if whole.kind.endswith(LIST):
                    self._json_list(whole, source)
                else:
                    self._json(data, "", "", source)
        except msgspec.ValidationError:
            self.read_data(msgspec.json.decode(data), source)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if "trailing" in str(error):
                self._json_documents(data, source)
            else:
                self._snapshot.skip(source, f"{source} is not valid JSON: {error}")

    def _json_documents(self, data: bytes, source: str) -> None:
        """Several JSON documents, one after the other."""
        decoder = json.JSONDecoder()
        try:
            text, place = data.decode("utf-8-sig"), 0
            while (place := _after_space(text, place)) < len(text):
                found, place = decoder.raw_decode(text, place)
                self.read_data(found, source)
        except (ValueError, RecursionError) as error:
            self._snapshot.skip(source, f"{source} is not valid JSON: {error}")

    def _json(self, data: _Bytes, version: str, name: str, source: str) -> None:
        """One JSON value that is an object, a list of objects, or no object at all.

        Args:
            data: the value.
            version: the API version, if it has none of its own.
            name: its kind, if it has none of its own.
            source: what to call the text in messages.
        """
        head = _HEAD.match(data)
        if head is not None:
            version, name = head[1].decode(), head[2].decode()
        else:
            try:
                found = _read_head(data)
            except msgspec.ValidationError:
                self.read_data(msgspec.json.decode(data), source)
                return
            if not found.kind and not name:
                self._json_lists(data, source)
                return
            version, name = found.api_version or version, found.kind or name
        kind = find_kind(name, version)
        if kind is not None:
            self._json_object(kind, data, source)
        elif name.endswith(LIST):
            try:
                self._json_list(_read_list(data), source)
            except msgspec.ValidationError:
                self.read_data(msgspec.json.decode(data), source)
        else:
            self._snapshot.ignored[name] += 1

    def _json_list(self, whole: _List, source: str) -> None:
        # The items of a typed list as the API server sends it have no kind of their own.
        name = whole.kind.removesuffix(LIST)
        self._json_items(whole.items or (), whole.api_version if name else "", name, source)

    def _json_items(
        self, items: Iterable[msgspec.Raw], version: str, name: str, source: str
    ) -> None:
        for item in items:
            self._json(memoryview(item), version, name, source)

    def _json_object(self, kind: Kind, data: _Bytes, source: str) -> None:
        try:
            thing = kind.type.from_json(data, keep_source=self._keep_source)
        except InputError as error:
            self._snapshot.skip(source, str(error))
        else:
            self._snapshot.add(thing)

    def _json_lists(self, data: _Bytes, source: str) -> None:
        """An object without a kind: lists of objects by name, or nothing we know."""
        found = _read_lists(data)
        if _is_lists(found):
            self.read_lists(found)
        else:
            self.read_data(found, source)

    def _yaml_text(self, data: bytes, source: str) -> None:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self._snapshot.skip(source, f"{source} is neither YAML nor JSON: it is not valid UTF-8")
            return
        from mooring import yaml_text  # noqa: PLC0415 - slow to import

        for number, (line, document) in enumerate(yaml_text.documents(text), 1):
            place = f"{source}, document {number}" if number > 1 else source
            try:
                found = yaml_text.parse(document, line)
            except yaml_text.YamlProblem as problem:
                self._snapshot.skip(place, f"{place} is not valid YAML: {problem}")
                continue
            if _is_lists(found):
                self.read_lists(found)
            elif found is not None:
                self.read_data(found, place)


def _is_lists(data: object) -> bool:
    """Whether this is a mapping of lists of objects by name."""
    return isinstance(data, dict) and "kind" not in data and bool(data.keys() & BY_LIST_NAME.keys())


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place
