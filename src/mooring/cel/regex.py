"""Regular expressions with the syntax of RE2, in time linear in the text.

Called by the operators and the string library. All possible positions in the pattern are followed
at once, so no pattern makes matching explode; the steps of one search are counted and bounded.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from mooring.cel.errors import CelCostError, CelValueError
from mooring.cel.limits import COST_EXCEEDED
from mooring.cel.regex_classes import CharSet
from mooring.cel.regex_syntax import (
    Alternatives,
    Assertion,
    Chars,
    Part,
    Repeat,
    Sequence,
    parse_regex,
)
from mooring.cel.values import Value

_MAX_PROGRAM: Final = 50_000
_MAX_STEPS: Final = 2_000_000
_MAX_CACHED: Final = 2_000


class _Instruction(NamedTuple):
    """What to do at a place of a program.

    `chars`: the next character must belong to the set; `assertion`: the position must fulfil it;
    `next`: where to go on, the preferred place first. Without any of them it is a match.
    """

    chars: CharSet | None = None
    assertion: str = ""
    next: tuple[int, ...] = ()


class _Position(NamedTuple):
    """What assertions ask about a position."""

    begin: bool
    end: bool
    line_begin: bool
    line_end: bool
    boundary: bool

    def fulfils(self, assertion: str) -> bool:
        """Whether an assertion holds here."""
        if assertion == "no_boundary":
            return not self.boundary
        return bool(getattr(self, assertion))


_WORD: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


def _position(text: str, at: int) -> _Position:
    before = text[at - 1] if at else ""
    after = text[at] if at < len(text) else ""
    return _Position(
        not before, not after, before in ("", "\n"), after in ("", "\n"),
        (before in _WORD) != (after in _WORD),
    )  # fmt: skip


class Regex:
    """A compiled pattern; `steps` is how much work it has done."""

    __slots__ = ("_asserts", "_closures", "_member", "_program", "_transitions", "steps")

    def __init__(self, pattern: str) -> None:
        """Compile a pattern.

        Raises:
            CelValueError: Go would not accept it.
        """
        self.steps = len(pattern)
        self._program = _compiled(parse_regex(pattern))
        self._asserts = any(instruction.assertion for instruction in self._program)
        self._member: dict[tuple[int, str], bool] = {}
        self._closures: dict[tuple[tuple[int, ...], _Position], tuple[tuple[int, ...], bool]] = {}
        self._transitions: dict[tuple[tuple[int, ...], str], tuple[int, ...]] = {}

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere."""
        pending: tuple[int, ...] = ()
        for at in range(len(text) + 1):
            position = _position(text, at) if self._asserts else _ANYWHERE
            threads, matched = self._closed((*pending, 0), position)
            if matched:
                return True
            if at < len(text):
                pending = self._stepped(threads, text[at])
        return False

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Where the leftmost match begins and ends; the preferred one of those that begin there."""
        found: tuple[int, int] | None = None
        pending: list[tuple[int, int]] = []
        for at in range(start, len(text) + 1):
            if found is None:
                pending.append((0, at))
            elif not pending:
                break
            threads: list[tuple[int, int]] = []
            seen: set[int] = set()
            position = _position(text, at)
            for place, began in pending:
                into: list[int] = []
                if self._expand(place, position, seen, into):
                    threads += [(thread, began) for thread in into]
                    found = (began, at)
                    break
                threads += [(thread, began) for thread in into]
            if at == len(text):
                break
            pending = [
                (self._program[place].next[0], began)
                for place, began in threads
                if self._accepts(place, text[at])
            ]
        return found

    def find_all(self, text: str, limit: int) -> list[str]:
        """All matches that do not overlap, at most `limit` of them, if that is not negative."""
        found: list[str] = []
        at, last_end = 0, -1
        while at <= len(text) and (limit < 0 or len(found) < limit):
            match = self.find(text, at)
            if match is None:
                break
            begin, end = match
            if end == at:
                accepted = begin != last_end
                at += 1
            else:
                accepted = True
                at = end
            last_end = end
            if accepted:
                found.append(text[begin:end])
        return found

    # Sets of places

    def _work(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _MAX_STEPS:
            raise CelCostError(COST_EXCEEDED)

    def _accepts(self, place: int, char: str) -> bool:
        key = (place, char)
        known = self._member.get(key)
        if known is None:
            chars = self._program[place].chars
            known = chars is not None and chars.has(char)
            if len(self._member) < _MAX_CACHED * 10:
                self._member[key] = known
        return known

    def _closed(
        self, pending: tuple[int, ...], position: _Position
    ) -> tuple[tuple[int, ...], bool]:
        """The places that wait for a character, and whether there is a match."""
        key = (pending, position)
        known = self._closures.get(key)
        if known is None:
            threads: list[int] = []
            seen: set[int] = set()
            matched = any(self._expand(p, position, seen, threads) for p in pending)
            known = (tuple(sorted(threads)), matched)
            if len(self._closures) > _MAX_CACHED:
                self._closures.clear()
            self._closures[key] = known
        self.steps += 1
        return known

    def _stepped(self, threads: tuple[int, ...], char: str) -> tuple[int, ...]:
        key = (threads, char)
        known = self._transitions.get(key)
        if known is None:
            self._work(len(threads))
            known = tuple(self._program[t].next[0] for t in threads if self._accepts(t, char))
            if len(self._transitions) > _MAX_CACHED:
                self._transitions.clear()
            self._transitions[key] = known
        return known

    def _expand(self, place: int, position: _Position, seen: set[int], into: list[int]) -> bool:
        """Follow a place, in order of preference, until characters are needed; whether one matches.

        What comes after a match is dropped, because the match is preferred.
        """
        stack = [place]
        program = self._program
        while stack:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            instruction = program[place]
            if instruction.chars is not None:
                into.append(place)
            elif instruction.assertion:
                if position.fulfils(instruction.assertion):
                    stack.append(instruction.next[0])
            elif instruction.next:
                stack.extend(reversed(instruction.next))
            else:
                self._work(len(seen))
                return True
        self._work(len(seen))
        return False


_ANYWHERE: Final = _Position(False, False, False, False, False)


def _compiled(part: Part) -> list[_Instruction]:
    program: list[_Instruction] = []
    try:
        _emit(part, program)
    except RecursionError as error:
        raise CelValueError("error parsing regexp: expression nests too deeply") from error
    program.append(_Instruction())
    return program


def _emit(part: Part, program: list[_Instruction]) -> None:
    """Append the instructions of a part; each goes on at the place after them."""
    if len(program) > _MAX_PROGRAM:
        raise CelValueError("error parsing regexp: expression too large")
    if isinstance(part, Chars):
        program.append(_Instruction(chars=part.set, next=(len(program) + 1,)))
    elif isinstance(part, Assertion):
        program.append(_Instruction(assertion=part.kind, next=(len(program) + 1,)))
    elif isinstance(part, Sequence):
        for inner in part.parts:
            _emit(inner, program)
    elif isinstance(part, Alternatives):
        _emit_alternatives(part.parts, program)
    else:
        for _ in range(part.low):
            _emit(part.part, program)
        if part.high is None:
            _emit_loop(part, program)
        else:
            _emit_optional(part, part.high - part.low, program)


def _emit_alternatives(parts: Iterable[Part], program: list[_Instruction]) -> None:
    split = len(program)
    program.append(_Instruction())
    starts: list[int] = []
    jumps: list[int] = []
    for inner in parts:
        starts.append(len(program))
        _emit(inner, program)
        jumps.append(len(program))
        program.append(_Instruction())
    program[split] = _Instruction(next=tuple(starts))
    for jump in jumps:
        program[jump] = _Instruction(next=(len(program),))


def _choice(inside: int, after: int, *, lazy: bool) -> _Instruction:
    return _Instruction(next=(after, inside) if lazy else (inside, after))


def _emit_loop(part: Repeat, program: list[_Instruction]) -> None:
    split = len(program)
    program.append(_Instruction())
    _emit(part.part, program)
    program.append(_Instruction(next=(split,)))
    program[split] = _choice(split + 1, len(program), lazy=part.lazy)


def _emit_optional(part: Repeat, times: int, program: list[_Instruction]) -> None:
    splits: list[int] = []
    for _ in range(times):
        splits.append(len(program))
        program.append(_Instruction())
        _emit(part.part, program)
    for split in splits:
        program[split] = _choice(split + 1, len(program), lazy=part.lazy)


def _search(regex: Regex, text: str) -> bool:
    regex.steps = 0
    return regex.search(text)


def _find(regex: Regex, text: str) -> str:
    regex.steps = 0
    match = regex.find(text)
    return text[match[0] : match[1]] if match else ""


def _find_all(regex: Regex, text: str, limit: int = -1) -> list[str]:
    regex.steps = 0
    return regex.find_all(text, limit)


#: The functions that take a pattern, by name; they count the steps of each call from zero.
PATTERN_CALLS: Final[dict[str, Callable[..., Value]]] = {
    "matches": _search,
    "find": _find,
    "findAll": _find_all,
}
