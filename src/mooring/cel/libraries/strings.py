"""The string library, in the version that Kubernetes enables (2), and `find`/`findAll`.

Called through the declarations. Positions count characters.
"""

from typing import Final

from mooring.cel.errors import CelValueError
from mooring.cel.libraries.formatting import format_string
from mooring.cel.limits import check_length, check_size
from mooring.cel.overloads import Functions, function, method
from mooring.cel.types import DYN, INT, STRING, list_of
from mooring.cel.values import Value

_SPACE: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_QUOTED: Final = str.maketrans({
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
})  # fmt: skip


def _out_of_range(index: int) -> CelValueError:
    return CelValueError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if not part:
        return len(text) if offset is None else offset
    if offset is None:
        if len(text.encode("utf-8", "replace")) < len(part.encode("utf-8", "replace")):
            return -1
        offset = len(text) - 1
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = len(text) + 1 if not old else text.count(old)
    if limit >= 0:
        count = min(count, limit)
    check_length(len(text) + count * max(0, len(new) - len(old)))
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        parts = text.split(separator, limit - 1 if limit > 0 else -1)
    elif 0 < limit < len(text):
        parts = [*text[: limit - 1], text[limit - 1 :]]
    else:
        parts = list(text)
    check_size(len(parts))
    return parts


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelValueError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if index is not None and not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _join(parts: list[Value], separator: str = "") -> str:
    length = 0
    for part in parts:
        if type(part) is not str:
            raise CelValueError("join: invalid input")
        length += len(part) + len(separator)
    check_length(length)
    return separator.join(parts)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


def _compiled(*_args: Value) -> Value:
    """Stands for what the compiler does itself."""
    raise CelValueError("no such overload")


_STRINGS: Final = list_of(STRING)
FUNCTIONS: Final[Functions] = {
    "charAt": [method("string_char_at_int", [STRING, INT], STRING, _char_at)],
    "indexOf": [
        method("string_index_of_string", [STRING, STRING], INT, _index_of),
        method("string_index_of_string_int", [STRING, STRING, INT], INT, _index_of),
    ],
    "lastIndexOf": [
        method("string_last_index_of_string", [STRING, STRING], INT, _last_index_of),
        method("string_last_index_of_string_int", [STRING, STRING, INT], INT, _last_index_of),
    ],
    "lowerAscii": [
        method("string_lower_ascii", [STRING], STRING, lambda text: text.translate(_LOWER))
    ],
    "upperAscii": [
        method("string_upper_ascii", [STRING], STRING, lambda text: text.translate(_UPPER))
    ],
    "replace": [
        method("string_replace_string_string", [STRING] * 3, STRING, _replace),
        method("string_replace_string_string_int", [STRING] * 3 + [INT], STRING, _replace),
    ],
    "split": [
        method("string_split_string", [STRING, STRING], _STRINGS, _split),
        method("string_split_string_int", [STRING, STRING, INT], _STRINGS, _split),
    ],
    "substring": [
        method("string_substring_int", [STRING, INT], STRING, _substring),
        method("string_substring_int_int", [STRING, INT, INT], STRING, _substring),
    ],
    "trim": [method("string_trim", [STRING], STRING, lambda text: text.strip(_SPACE))],
    "format": [method("string_format", [STRING, list_of(DYN)], STRING, format_string)],
    "strings.quote": [function("strings_quote", [STRING], STRING, _quote)],
    "join": [
        method("list_join", [_STRINGS], STRING, _join),
        method("list_join_string", [_STRINGS, STRING], STRING, _join),
    ],
    "find": [method("string_find_string", [STRING, STRING], STRING, _compiled)],
    "findAll": [
        method("string_find_all_string", [STRING, STRING], _STRINGS, _compiled),
        method("string_find_all_string_int", [STRING, STRING, INT], _STRINGS, _compiled),
    ],
}  # fmt: skip
