"""Reads regular expressions in the syntax of RE2, as Go does.

Called by `regex`. What Go rejects is rejected: references, look-around, possessive and doubled
repetitions, repetitions of more than 1000.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from mooring.cel.errors import CelValueError
from mooring.cel.regex_classes import (
    PERL,
    POSIX,
    CharSet,
    Ranges,
    negated_part,
    property_part,
)

_MAX_REPEAT: Final = 1000
_MAX_HEIGHT: Final = 1000
_REPEAT: Final = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_GROUP_NAME: Final = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:(-)([imsU]+))?([:)])")
_ESCAPES: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    set: CharSet


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition on a position: begin, end, line_begin, line_end, boundary or no_boundary."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts after each other."""

    parts: list["Part"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several parts; the first that leads to a match wins."""

    parts: list["Part"]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part several times; at most `high`, if that is not None."""

    part: "Part"
    low: int
    high: int | None
    lazy: bool


Part: TypeAlias = Chars | Assertion | Sequence | Alternatives | Repeat


@dataclass(frozen=True, slots=True)
class _Flags:
    i: bool = False
    m: bool = False
    s: bool = False
    U: bool = False


def parse_regex(pattern: str) -> Part:
    """The parts of a regular expression.

    Raises:
        CelValueError: Go would not accept it.
    """
    try:
        return _Parser(pattern).parse()
    except RecursionError as error:
        raise _error("expression nests too deeply", pattern[:40]) from error


def _error(problem: str, shown: str) -> CelValueError:
    return CelValueError(f"error parsing regexp: {problem}: `{shown}`")


@dataclass(slots=True)
class _Open:
    """A group that is not closed yet."""

    flags: _Flags
    alternatives: list[Sequence]
    current: Sequence


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._pos = 0
        self._flags = _Flags()
        self._groups = [_Open(self._flags, [], Sequence())]
        self._repeated = False

    def parse(self) -> Part:
        pattern = self._pattern
        while self._pos < len(pattern):
            char = pattern[self._pos]
            if char in "*+?{" and self._repetition(char):
                continue
            self._repeated = False
            handler = self._HANDLERS.get(char)
            if handler is not None:
                handler(self)
            else:
                self._pos += 1
                self._add(self._literal(char))
        if len(self._groups) > 1:
            raise _error("missing closing )", pattern)
        part = self._closed(self._groups[0])
        _check_repeats(part)
        return part

    # Parts

    def _add(self, part: Part) -> None:
        self._groups[-1].current.parts.append(part)

    def _literal(self, char: str) -> Chars:
        return Chars(CharSet(((char, char),), fold=self._flags.i))

    @staticmethod
    def _closed(group: _Open) -> Part:
        if not group.alternatives:
            return group.current
        return Alternatives([*group.alternatives, group.current])

    def _dot(self) -> None:
        self._pos += 1
        excluded: Ranges = () if self._flags.s else (("\n", "\n"),)
        self._add(Chars(CharSet(excluded, negated=True)))

    def _begin(self) -> None:
        self._pos += 1
        self._add(Assertion("line_begin" if self._flags.m else "begin"))

    def _end(self) -> None:
        self._pos += 1
        self._add(Assertion("line_end" if self._flags.m else "end"))

    def _or(self) -> None:
        self._pos += 1
        group = self._groups[-1]
        group.alternatives.append(group.current)
        group.current = Sequence()

    def _open(self) -> None:
        pattern, pos = self._pattern, self._pos
        if len(self._groups) > _MAX_HEIGHT:
            raise _error("expression nests too deeply", pattern[:40])
        outer = self._flags
        if pattern.startswith("(?", pos):
            if name := _GROUP_NAME.match(pattern, pos):
                self._pos = name.end()
            elif flags := _FLAGS.match(pattern, pos):
                if not flags[1] and not flags[2] and flags[4] == ")":
                    raise _error("missing argument to repetition operator", "?")
                for letter in flags[1]:
                    self._flags = replace(self._flags, **{letter: True})
                for letter in flags[3] or "":
                    self._flags = replace(self._flags, **{letter: False})
                self._pos = flags.end()
                if flags[4] == ")":
                    return
            else:
                raise _error("invalid or unsupported Perl syntax", pattern[pos : pos + 4])
        else:
            self._pos += 1
        self._groups.append(_Open(outer, [], Sequence()))

    def _close(self) -> None:
        self._pos += 1
        if len(self._groups) == 1:
            raise _error("unexpected )", self._pattern)
        group = self._groups.pop()
        self._flags = group.flags
        self._add(self._closed(group))

    # Repetitions

    def _repetition(self, char: str) -> bool:
        pattern, start = self._pattern, self._pos
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(char, (0, None))
        end = start + 1
        if char == "{":
            match = _REPEAT.match(pattern, start)
            if match is None or _badly_written(match):
                return False
            low = _bound(match[1])
            high = low if not match[2] else _bound(match[3]) if match[3] else None
            end = match.end()
            if low > _MAX_REPEAT or (high is not None and not low <= high <= _MAX_REPEAT):
                raise _error("invalid repeat count", match[0])
        lazy = self._flags.U
        if pattern.startswith("?", end):
            lazy = not lazy
            end += 1
        parts = self._groups[-1].current.parts
        if self._repeated:
            raise _error("invalid nested repetition operator", pattern[start - 1 : end])
        if not parts:
            raise _error("missing argument to repetition operator", pattern[start:end])
        parts[-1] = Repeat(parts[-1], low, high, lazy)
        self._repeated = True
        self._pos = end
        return True

    # Sets and escapes

    def _escape(self) -> None:
        pattern, pos = self._pattern, self._pos
        following = pattern[pos + 1 : pos + 2]
        if following == "Q":
            end = pattern.find("\\E", pos + 2)
            quoted = pattern[pos + 2 : end if end >= 0 else len(pattern)]
            self._pos = end + 2 if end >= 0 else len(pattern)
            for char in quoted:
                self._add(self._literal(char))
            return
        assertion = {"A": "begin", "z": "end", "b": "boundary", "B": "no_boundary"}.get(following)
        if assertion is not None:
            self._pos += 2
            self._add(Assertion(assertion))
            return
        parsed = self._class_escape()
        if parsed is None:
            self._add(self._literal(self._escaped_char()))
            return
        ranges, parts = parsed
        self._add(Chars(CharSet(ranges, parts, fold=self._flags.i)))

    def _class_escape(self) -> tuple[Ranges, tuple[Callable[[str], bool], ...]] | None:
        """``\\d``, ``\\W``, ``\\pL``, ``\\P{Greek}``: ranges, and tests of characters."""
        pattern, pos = self._pattern, self._pos
        letter = pattern[pos + 1 : pos + 2]
        if letter and letter in "dswDSW":
            self._pos += 2
            ranges = PERL[letter.lower()]
            return (ranges, ()) if letter.islower() else ((), (negated_part(ranges),))
        if not letter or letter not in "pP":
            return None
        if pattern.startswith("{", pos + 2):
            end = pattern.find("}", pos)
            name = pattern[pos + 3 : end]
            if end < 0:
                raise _error("invalid character class range", pattern[pos:])
            self._pos = end + 1
        else:
            name = pattern[pos + 2 : pos + 3]
            self._pos = pos + 3
        negated = letter == "P"
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        part = property_part(name, negated=negated)
        if part is None:
            raise _error("invalid character class range", pattern[pos : self._pos])
        return (), (part,)

    def _escaped_char(self) -> str:
        pattern, pos = self._pattern, self._pos
        char = pattern[pos + 1 : pos + 2]
        if not char:
            raise _error("trailing backslash at end of expression", "")
        octal = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}").match(pattern, pos + 1)
        if octal:
            self._pos = octal.end()
            return chr(int(octal[0], 8))
        hexadecimal = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})").match(
            pattern, pos + 1
        )
        if hexadecimal:
            digits = (hexadecimal[1] or hexadecimal[2]).lstrip("0") or "0"
            if len(digits) <= 6 and int(digits, 16) <= 0x10FFFF:
                self._pos = hexadecimal.end()
                return chr(int(digits, 16))
        self._pos += 2
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isascii() and not char.isalnum():
            return char
        raise _error("invalid escape sequence", pattern[pos : pos + 2])

    def _bracket(self) -> None:
        pattern, start = self._pattern, self._pos
        self._pos += 1
        negated = pattern.startswith("^", self._pos)
        self._pos += negated
        ranges: list[tuple[str, str]] = []
        parts: list[Callable[[str], bool]] = []
        if negated and not self._newlines_in_classes():
            ranges.append(("\n", "\n"))
        first = True
        while first or not pattern.startswith("]", self._pos):
            if self._pos >= len(pattern):
                raise _error("missing closing ]", pattern[start:])
            if self._dangling_minus(first=first):
                raise _error("invalid character class range", pattern[self._pos :][:3])
            first = False
            if (posix := self._posix()) is not None:
                ranges += posix[0]
                parts += posix[1]
                continue
            if pattern.startswith("\\", self._pos) and (known := self._class_escape()):
                ranges += known[0]
                parts += known[1]
                continue
            ranges.append(self._class_range())
        self._pos += 1
        self._add(Chars(CharSet(tuple(ranges), tuple(parts), negated, self._flags.i)))

    @staticmethod
    def _newlines_in_classes() -> bool:
        return True  # Go's flag ClassNL is part of its Perl syntax

    def _dangling_minus(self, *, first: bool) -> bool:
        """Go's Perl syntax (flag PerlX) allows a minus anywhere."""
        del first
        return False

    def _posix(self) -> tuple[Ranges, tuple[Callable[[str], bool], ...]] | None:
        pattern = self._pattern
        if not pattern.startswith("[:", self._pos):
            return None
        end = pattern.find(":]", self._pos + 2)
        if end < 0:
            return None
        name = pattern[self._pos + 2 : end]
        ranges = POSIX.get(name.removeprefix("^"))
        if ranges is None:
            raise _error("invalid character class range", pattern[self._pos : end + 2])
        self._pos = end + 2
        return ((), (negated_part(ranges),)) if name.startswith("^") else (ranges, ())

    def _class_range(self) -> tuple[str, str]:
        pattern, start = self._pattern, self._pos
        low = high = self._class_char()
        if pattern.startswith("-", self._pos) and pattern[self._pos + 1 : self._pos + 2] not in (
            "", "]",
        ):  # fmt: skip
            self._pos += 1
            high = self._class_char()
            if high < low:
                raise _error("invalid character class range", pattern[start : self._pos])
        return low, high

    def _class_char(self) -> str:
        char = self._pattern[self._pos : self._pos + 1]
        if not char:
            raise _error("missing closing ]", self._pattern)
        if char == "\\":
            return self._escaped_char()
        self._pos += 1
        return char

    _HANDLERS: Final[dict[str, Callable[["_Parser"], None]]] = {
        ".": _dot, "^": _begin, "$": _end, "|": _or, "(": _open, ")": _close, "[": _bracket,
        "\\": _escape,
    }  # fmt: skip


def _badly_written(match: re.Match[str]) -> bool:
    """Whether the numbers have leading zeros, which makes them no repetition."""
    return any(len(part) > 1 and part[0] == "0" for part in (match[1], match[3] or ""))


def _bound(text: str) -> int:
    return int(text) if len(text) < 8 else _MAX_REPEAT + 1


def _check_repeats(part: Part) -> None:
    """Nested repetitions may not multiply to more than 1000."""
    stack: list[tuple[Part, int]] = [(part, _MAX_REPEAT)]
    while stack:
        part, room = stack.pop()
        if isinstance(part, Repeat):
            count = part.low if part.high is None else part.high
            if part.high == 0:
                continue
            if count > room:
                raise _error("invalid repeat count", f"{{{count}}}")
            if count > 1:
                room //= count
            stack.append((part.part, room))
        elif isinstance(part, Sequence | Alternatives):
            stack.extend((inner, room) for inner in part.parts)
