"""The semver library, and the versions that devices have as attributes.

Called through the declarations and by `device_selector`.
"""

import re
from typing import ClassVar, Final

from mooring.cel.errors import CelValueError
from mooring.cel.overloads import Functions, function, method
from mooring.cel.types import BOOL, INT, SEMVER, STRING

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_PART: Final = r"(?:[0-9]*[A-Za-z-][0-9A-Za-z-]*|0|[1-9][0-9]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PART}(?:\.{_PART})*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_MAX: Final = 2**64
_MAX_DIGITS: Final = 20


class Version:
    """A semantic version.

    Attributes:
        text: as it was written.
        key: what versions are ordered by; build metadata is not in it.
    """

    __slots__ = ("key", "text")
    type_name: ClassVar[str] = "kubernetes.Semver"
    #: In Kubernetes the value holds slices, so it cannot be looked up in a set or map.
    unhashable: ClassVar[bool] = True

    def __init__(self, text: str) -> None:
        """Read a version.

        Raises:
            ValueError: the text is no semantic version.
        """
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a semantic version such as 1.2.3")
        numbers = tuple(_number(part) for part in match.groups()[:3])
        before = tuple(_identifier(part) for part in match[4].split(".")) if match[4] else ()
        self.text = text
        self.key = (*numbers, not before, before)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Version({self.text!r})"


def _number(text: str) -> int:
    if len(text) > _MAX_DIGITS or int(text) >= _MAX:
        raise ValueError(f"{text[:30]} is too large in a version")
    return int(text)


def _identifier(text: str) -> tuple[bool, int, str]:
    """Numbers come before words."""
    return (False, _number(text), "") if text.isdigit() else (True, 0, text)


def _normalized(text: str) -> Version:
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            if not stripped or stripped[0] not in "0123456789":
                stripped = f"0{stripped}"
            parts[i] = stripped
    if len(parts) < 3:
        if re.search(r"[+-]", parts[-1]):
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return Version(".".join(parts))


def _semver(text: str, normalize: bool = False) -> Version:
    try:
        return _normalized(text) if normalize else Version(text)
    except ValueError as error:
        raise CelValueError(str(error)) from error


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except CelValueError:
        return False
    return True


def _order(first: Version, second: Version) -> int:
    return (first.key > second.key) - (first.key < second.key)


def _wrapped(number: int) -> int:
    """The number as 64 bits with a sign."""
    return number - 2**64 if number >= 2**63 else number


_TWO: Final = [SEMVER, SEMVER]
FUNCTIONS: Final[Functions] = {
    "semver": [
        function("string_to_semver", [STRING], SEMVER, _semver),
        function("string_bool_to_semver", [STRING, BOOL], SEMVER, _semver),
    ],
    "isSemver": [
        function("is_semver_string", [STRING], BOOL, _is_semver),
        function("is_semver_string_bool", [STRING, BOOL], BOOL, _is_semver),
    ],
    "isGreaterThan": [method("semver_is_greater_than", _TWO, BOOL, lambda a, b: a.key > b.key)],
    "isLessThan": [method("semver_is_less_than", _TWO, BOOL, lambda a, b: a.key < b.key)],
    "compareTo": [method("semver_compare_to", _TWO, INT, _order)],
    "major": [method("semver_major", [SEMVER], INT, lambda v: _wrapped(v.key[0]))],
    "minor": [method("semver_minor", [SEMVER], INT, lambda v: _wrapped(v.key[1]))],
    "patch": [method("semver_patch", [SEMVER], INT, lambda v: _wrapped(v.key[2]))],
}
