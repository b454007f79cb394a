"""The part of a selector that rejects a device, and the values of what that part reads.

Of ``a && b && c``, usually one part rejects a device, and people want to know which, and why. Asked
by `device_survey`; compiled parts are forgotten with the object.
"""

from collections.abc import Iterator
from typing import Final

from mooring.cel.ast import AstNode, Call, Ident, Literal, Select, children
from mooring.cel.lexer import LexError, tokenize
from mooring.cel.parser import ParseError, parse
from mooring.errors import MooringError
from mooring.plugins.devices.cel_selectors import compile_device_selector
from mooring.plugins.devices.pooled_device import PooledDevice
from mooring.plugins.devices.selectors import Matches

_OPENING: Final = ("(", "[", "{")
_CLOSING: Final = (")", "]", "}")
_ATTRIBUTES: Final = "attributes"
_CAPACITY: Final = "capacity"
#: So many values are told for one part.
_VALUES: Final = 3
#: A part is cut in the middle if it is longer.
_LONGEST: Final = 120
#: What a part reads of a device: attributes or capacity, the domain, and the name.
_Field = tuple[str, str, str]


class SelectorParts:
    """Finds the parts of selectors that reject devices."""

    def __init__(self) -> None:
        self._parts: dict[str, list[tuple[str, Matches]]] = {}
        self._fields: dict[str, list[_Field]] = {}

    def rejecting(self, expression: str, device: PooledDevice) -> str:
        """The part of an expression that is false for a device; all of it if none is by itself."""
        found = self._parts.get(expression)
        if found is None:
            found = self._parts[expression] = list(_compiled(conjuncts(expression)))
        for part, matches in found:
            try:
                if not matches(device):
                    return part
            except MooringError:
                continue  # false && error is false
        return expression

    def values(self, part: str, device: PooledDevice) -> str:
        """What a part reads of a device, such as ``memory 40Gi``; empty if that is not obvious."""
        fields = self._fields.get(part)
        if fields is None:
            fields = self._fields[part] = _fields(part)
        return " and ".join(_shown(field, device) for field in fields[:_VALUES])


def conjuncts(expression: str) -> list[str]:
    """The parts that are joined by ``&&``; the whole if it is anything else."""
    try:
        tokens = tokenize(expression)
    except LexError:
        return [expression]
    cuts, depth = [0], 0
    for before, token in zip((None, *tokens), tokens, strict=False):
        kind = token.kind
        depth += (kind in _OPENING) - (kind in _CLOSING)
        optional = kind == "?" and before is not None and before.kind == "."
        if depth == 0 and (kind == "||" or (kind == "?" and not optional)):
            return [expression]
        if depth == 0 and kind == "&&":
            cuts += [token.pos, token.pos + len(token.text)]
    cuts.append(len(expression))
    return [expression[start:end].strip() for start, end in zip(cuts[::2], cuts[1::2], strict=True)]


def short(part: str) -> str:
    """A part in one line, cut in the middle if it is long."""
    text = " ".join(part.split()) if "\n" in part else part
    if len(text) <= _LONGEST:
        return text
    half = (_LONGEST - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def _compiled(parts: list[str]) -> Iterator[tuple[str, Matches]]:
    for part in parts:
        try:
            yield part, compile_device_selector(part)
        except MooringError:
            continue


def _fields(part: str) -> list[_Field]:
    try:
        return list(dict.fromkeys(_read(parse(part))))
    except (ParseError, RecursionError):
        return []


def _read(root: AstNode) -> Iterator[_Field]:
    """The fields of the device that an expression reads, in its order."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        field = _field(node)
        if field is None:
            nodes += reversed(children(node))
        else:
            yield field


def _field(node: AstNode) -> _Field | None:
    if isinstance(node, Select):
        if isinstance(node.operand, Ident) and node.operand.name == "device":
            return None if node.field in (_ATTRIBUTES, _CAPACITY) else ("", "", node.field)
        return _of_domain(node.operand, node.field)
    if not isinstance(node, Call):
        return None
    parts = node.operands
    if node.function == "@in":
        parts = parts[::-1]
    elif node.function not in ("_[_]", "_[?_]", "_?._"):
        return None
    if len(parts) != 2 or not isinstance(parts[1], Literal) or type(parts[1].value) is not str:
        return None
    return _of_domain(parts[0], parts[1].value)


def _of_domain(operand: AstNode, name: str) -> _Field | None:
    """A field of ``device.attributes["domain"]`` or of its capacity."""
    if not isinstance(operand, Call) or operand.function not in ("_[_]", "_[?_]"):
        return None
    of, domain = operand.operands
    if not isinstance(of, Select) or not isinstance(of.operand, Ident):
        return None
    if of.operand.name != "device" or of.field not in (_ATTRIBUTES, _CAPACITY):
        return None
    if not isinstance(domain, Literal) or type(domain.value) is not str:
        return None
    return of.field, domain.value, name


def _shown(field: _Field, device: PooledDevice) -> str:
    kind, domain, name = field
    if not kind:
        value = device.driver if name == "driver" else str(device.shareable).lower()
        return f"{name} {value}"
    shown = name if domain == device.driver else f"{domain}/{name}"
    if kind == _ATTRIBUTES:
        attribute = device.attribute(f"{domain}/{name}")
        return f"no {shown}" if attribute is None else f"{shown} {value_text(attribute[1])}"
    capacity = device.device.capacity or {}
    found = capacity.get(f"{domain}/{name}")
    if found is None and domain == device.driver:
        found = capacity.get(name)
    return f"no {shown}" if found is None else f"{shown} {found.value}"


def value_text(value: str | int | bool) -> str:
    """The value of an attribute as people write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
