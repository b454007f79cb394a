"""``"%s has %d".format([a, b])``.

Called by the string library when an expression runs, and by the validators, which check a literal
format against the types of its arguments. Numbers look as in the locale en-US.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from mooring.cel.errors import CelValueError
from mooring.cel.libraries.conversions import string_to_double, to_string
from mooring.cel.limits import Effort, check_length
from mooring.cel.values import MISSING, Value, type_name

_DEFAULT_PRECISION: Final = 6
_MAX_PRECISION: Final = 100_000
#: So many elements and entries one value may consist of.
_MAX_MEMBERS: Final = 500_000
_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SPECIAL_DOUBLES: Final = frozenset({"NaN", "Infinity", "-Infinity"})


class Clause(NamedTuple):
    """One ``%`` of a format: its letter and its precision."""

    letter: str
    precision: int


class FormatError(ValueError):
    """A format is wrong; the message says how."""


def format_string(text: str, args: list[Value]) -> str:
    """The text with its clauses replaced by the arguments.

    Raises:
        CelValueError: the format is wrong, or does not fit the arguments.
    """

    def one(clause: Clause, index: int) -> str:
        return format_clause(clause, args[index])

    try:
        return walk(text, len(args), one)
    except FormatError as error:
        raise CelValueError(str(error)) from error


def walk(text: str, n_args: int, one: Callable[[Clause, int], str]) -> str:
    """Replace each clause by what `one` says for it and the index of its argument.

    Raises:
        FormatError: the format is wrong.
    """
    out: list[str] = []
    pos = index = length = 0
    while (percent := text.find("%", pos)) >= 0:
        out.append(text[pos:percent])
        if text.startswith("%%", percent):
            out.append("%")
            pos = percent + 2
            continue
        if index >= n_args:
            raise FormatError(f"index {index} out of range")
        clause, pos = _clause(text, percent + 1)
        out.append(one(clause, index))
        length += len(out[-1])
        check_length(length)
        index += 1
    return "".join([*out, text[pos:]])


def _clause(text: str, pos: int) -> tuple[Clause, int]:
    if pos >= len(text):
        raise FormatError("unexpected end of string")
    precision = _DEFAULT_PRECISION
    if text[pos] == ".":
        start = pos = pos + 1
        while pos < len(text) and text[pos] in "0123456789":
            pos += 1
        if pos >= len(text):
            raise FormatError("could not find end of precision specifier")
        digits = text[start:pos]
        if not digits or len(digits) > 18:
            raise FormatError("error while converting precision to integer")
        precision = int(digits)
    letter = text[pos]
    if letter not in "sdfebxXo":
        raise FormatError(
            f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
        )
    return Clause(letter, precision), pos + 1


def format_clause(clause: Clause, value: Value) -> str:
    """The text of one value.

    Raises:
        CelValueError: the clause is not for values of this type.
    """
    letter, kind = clause.letter, type_name(value)
    if letter == "s":
        return _text(value, Effort(_MAX_MEMBERS))
    if kind not in ALLOWED[letter] or (letter in "fe" and not _is_double(value)):
        raise CelValueError(f"error during formatting: {rejection(letter, kind)}")
    if letter == "d":
        return str(value)
    if letter in "fe":
        double = string_to_double(value) if type(value) is str else value
        return _double(clause, double)
    if letter in "xX" and kind in ("string", "bytes"):
        data = value.encode("utf-8", "surrogatepass") if type(value) is str else value
        return str(data.hex() if letter == "x" else data.hex().upper())
    return format(int(value), letter)


#: Names of the types that each letter accepts.
ALLOWED: Final = {
    "d": ("int", "uint"),
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": ("int", "uint", "bool"),
    "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
    "o": ("int", "uint"),
    "s": (
        "list", "map", "int", "uint", "double", "bool", "string", "google.protobuf.Timestamp",
        "bytes", "google.protobuf.Duration", "type", "null_type",
    ),
}  # fmt: skip
_REJECTIONS: Final = {
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps",
}


def rejection(letter: str, kind: str) -> str:
    """What to say of a value that a letter is not for."""
    return f"{_REJECTIONS[letter.lower()]}, was given {kind}"


def _is_double(value: Value) -> bool:
    return type(value) is float or value in _SPECIAL_DOUBLES


def _double(clause: Clause, number: float) -> str:
    if clause.precision > _MAX_PRECISION:
        check_length(clause.precision * 100)
    number = number or 0.0  # without a sign
    if number != number:
        text = "NaN"
    elif number in (float("inf"), float("-inf")):
        text = "∞" if number > 0 else "-∞"
    elif clause.letter == "f":
        text = f"{number:,.{clause.precision}f}"
    else:
        mantissa, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
        power = f"{int(exponent):03d}" if exponent.startswith("-") else f"{int(exponent):02d}"
        text = f"{mantissa}×10{power.translate(_SUPERSCRIPTS)}"
    # parity v1.36.4: cel-go/ext/formatting.go takes the precision of "e" for the width
    return text.rjust(clause.precision) if clause.letter == "e" else text


def _text(value: Value, effort: Effort) -> str:
    kind = type_name(value)
    if kind == "list":
        effort.spend(len(value))
        text = f"[{', '.join([_member(one, effort) for one in value])}]"
        check_length(len(text))
        return text
    if kind == "map":
        effort.spend(len(value.entries))
        pairs = sorted((_key(key), _member(value.find(key), effort)) for key in value.key_values())
        text = "{" + ", ".join(f"{key}:{member}" for key, member in pairs) + "}"
        check_length(len(text))
        return text
    if value is None:
        return "null"
    if kind not in ALLOWED["s"]:
        raise CelValueError(f"error during formatting: {rejection('s', kind)}")
    return to_string(value)


def _key(key: Value) -> str:
    kind = type_name(key)
    if kind not in ("string", "bool", "int", "uint"):
        raise CelValueError(f"no formatting function for map key of type {kind}")
    return _quoted(key) if kind == "string" else to_string(key)


def _member(value: Value, effort: Effort) -> str:
    kind = type_name(value)
    if kind == "string":
        return _quoted(value)
    if kind == "bytes":
        return f"b{_quoted(to_string(value))}"
    if kind == "double":
        text = f"{value:.{_DEFAULT_PRECISION}f}"
        if text in ("inf", "-inf", "nan"):
            return {"inf": '"+Inf"', "-inf": '"-Inf"', "nan": '"NaN"'}[text]
        return text
    if kind in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        return f'{kind.rpartition(".")[2].lower()}("{to_string(value)}")'
    if kind not in ALLOWED["s"]:
        raise CelValueError(f"no formatting function for {kind}")
    return _text(value, effort)


_GO_QUOTED: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def _quoted(text: str) -> str:
    out: list[str] = []
    for char in text:
        quoted = _GO_QUOTED.get(char, MISSING)
        if isinstance(quoted, str):
            out.append(quoted)
        elif char.isprintable():
            out.append(char)
        else:
            code = ord(char)
            out.append(
                f"\\x{code:02x}" if code < 0x80 else
                f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
            )  # fmt: skip
    return f'"{"".join(out)}"'
