"""Objects in the form in which the API server writes them, whatever form a client chose.

The API server reads an object into Go's types and writes it again. What is empty and optional
disappears (``nodeName: ""``), what is no pointer always appears (``resources: {}``), amounts and
times get their one written form. Owns the table of that, `stored_form.json`, which
`python -m tools.stored_form` makes from Go's struct tags. `defaults` and `strategy` call it. It
must never give a field a meaning: defaults are not its business.

The codes of the table are a mode and a type. Modes: ``-`` left out when empty, ``?`` a pointer,
left out when null, ``!`` always there, ``*`` a pointer that is always there. Types: ``s`` text,
``b`` boolean, ``i`` and ``f`` numbers, ``n`` number or text, ``x`` anything, ``t`` and ``u`` times,
``q`` an amount, ``l`` amounts of resources, a name is another type; ``[`` before it a list, ``{`` a
map.
"""

import functools
import importlib.resources
from collections.abc import Callable
from typing import Any, Final

import msgspec

from mooring.embedded.resources import CORE_EVENTS, EVENTS, Obj, Resource
from mooring.embedded.schema.canonical_values import (
    canonical,
    canonical_micro_time,
    canonical_resource,
    canonical_time,
)

_ZEROS: Final = {"s": "", "b": False, "i": 0, "f": 0, "n": 0, "q": "0"}
_WRITERS: Final[dict[str, Callable[[Any], Any]]] = {
    "t": canonical_time,
    "u": canonical_micro_time,
    "q": canonical,
}
# Written by the server itself, in this form already.
_OURS: Final = ("managedFields",)


class StoredForm:
    """How one Go type is written.

    Attributes:
        writers: for fields whose values have to be looked at, what makes the written form of one.
        optional: fields that disappear when they are empty.
        always: fields that are always there, with the value they have when nobody gave one, and
            what makes a fresh value if that is an object.
    """

    __slots__ = ("always", "optional", "writers")

    def __init__(self) -> None:
        self.writers: dict[str, Callable[[Any], Any]] = {}
        self.optional: set[str] = set()
        self.always: list[tuple[str, object, Callable[[Obj], Obj] | None]] = []

    def write(self, obj: Obj) -> Obj:
        """Bring an object of this type into its written form, in place, and return it."""
        writers = self.writers
        gone = None
        for name, value in obj.items():
            writer = writers.get(name)
            if not value:
                if value is None or name in self.optional:
                    gone = [name] if gone is None else [*gone, name]
                    continue
                if value is False:
                    continue
            if writer is not None:
                obj[name] = writer(value)
        if gone is not None:
            for name in gone:
                del obj[name]
        for name, value, make in self.always:
            if name not in obj:
                obj[name] = value if make is None else make({})
        return obj


def stored_form_of(resource: Resource) -> StoredForm:
    """The form of a resource's objects."""
    return _form_of(CORE_EVENTS if resource is EVENTS else resource)


def empty(resource: Resource, field: str) -> Obj:
    """The value of a field that is an object, such as ``status``, when nothing is said in it."""
    for name, _, make in stored_form_of(resource).always:
        if name == field and make is not None:
            return make({})
    return {}


@functools.cache
def _form_of(resource: Resource) -> StoredForm:
    package = (resource.group or "core").split(".")[0]
    return _form(f"{package}.{resource.kind}")


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    file = importlib.resources.files("mooring.embedded.schema") / "stored_form.json"
    return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, str]])


_forms: Final[dict[str, StoredForm]] = {}


def _form(name: str) -> StoredForm:
    known = _forms.get(name)
    if known is not None:
        return known
    form = _forms[name] = StoredForm()
    for field, code in _table()[name].items():
        if field not in _OURS:
            _add(form, field, code[0], code[1:])
    return form


def _add(form: StoredForm, field: str, mode: str, kind: str) -> None:
    writer = _writer(kind)
    if writer is not None:
        form.writers[field] = writer
    if mode == "-":
        form.optional.add(field)
    elif mode == "*":
        form.always.append((field, None, None))
    elif mode == "!":
        if kind[0] in "[{":
            form.optional.add(field)  # an empty one is written as null
        make = _form(kind).write if "." in kind and kind[0] not in "[{" else None
        form.always.append((field, _ZEROS.get(kind), make))


def _writer(kind: str) -> Callable[[Any], Any] | None:
    if kind == "l":
        return functools.partial(_write_values, canonical_resource)
    if kind[0] not in "[{":
        return _form(kind).write if "." in kind else _WRITERS.get(kind)
    inner = _writer(kind[1:])
    if inner is None:
        return None
    return functools.partial(_write_list if kind[0] == "[" else _write_values, inner)


def _write_list(writer: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    for number, value in enumerate(values):
        values[number] = writer(value)
    return values


def _write_values(writer: Callable[[Any], Any], values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        values[name] = writer(value)
    return values
