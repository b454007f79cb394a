"""The library of named formats such as ``format.dns1123Label()``.

Called through the declarations. The sizes are those by which Kubernetes counts costs.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import ClassVar, Final

from mooring.cel.libraries.urls import parse_request_uri
from mooring.cel.overloads import Functions, function, method
from mooring.cel.types import FORMAT, STRING, list_of, optional_of
from mooring.cel.values import NONE, Optional

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_DNS1123: Final = re.compile(_LABEL)
_DNS1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_LABEL_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253

_Check = Callable[[str], list[str]]


class NamedFormat:
    """A format that strings may have.

    Attributes:
        name: its name.
        check: what is wrong with a string.
        regex_size: the length of a pattern for it, which decides what checking costs.
    """

    __slots__ = ("check", "name", "regex_size")
    type_name: ClassVar[str] = "kubernetes.NamedFormat"
    #: In Kubernetes the value holds a function, so it cannot be looked up in a set or map.
    unhashable: ClassVar[bool] = True

    def __init__(self, name: str, check: _Check, regex_size: int) -> None:
        self.name = name
        self.check = check
        self.regex_size = regex_size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _dns(pattern: re.Pattern[str], length: int, *, prefix: bool = False) -> _Check:
    def check(text: str) -> list[str]:
        if prefix and len(text) > 1 and text.endswith("-"):
            text = f"{text[:-2]}a"
        problems = [] if _bytes(text) <= length else [f"must be no more than {length} bytes"]
        if not pattern.fullmatch(text):
            problems.append(f"must match {pattern.pattern}")
        return problems

    return check


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:
        return ["a qualified name must consist of a name and an optional prefix"]
    problems: list[str] = []
    if len(parts) > 1:
        if not parts[0]:
            problems.append("prefix part must be non-empty")
        else:
            problems += _dns(_SUBDOMAIN, _SUBDOMAIN_LENGTH)(parts[0])
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif _bytes(name) > _LABEL_LENGTH:
        problems.append("name part must be no more than 63 bytes")
    if not _QUALIFIED.fullmatch(name):
        problems.append("name part must consist of alphanumeric characters, '-', '_' or '.'")
    return problems


def _label_value(text: str) -> list[str]:
    problems = [] if _bytes(text) <= _LABEL_LENGTH else ["must be no more than 63 bytes"]
    if text and not _QUALIFIED.fullmatch(text):
        problems.append("a valid label must be an empty string or consist of alphanumerics")
    return problems


def _tested(problem: str, test: Callable[[str], bool]) -> _Check:
    return lambda text: [] if test(text) else [problem]


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    year, month, day = map(int, text.split("-"))
    try:
        date(year or 400, month, day)  # year 0 is a leap year, like 400
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not _is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


_FORMATS: Final = {
    name: NamedFormat(name, check, size)
    for name, check, size in (
        ("dns1123Label", _dns(_DNS1123, _LABEL_LENGTH), 30),
        ("dns1123Subdomain", _dns(_SUBDOMAIN, _SUBDOMAIN_LENGTH), 60),
        ("dns1035Label", _dns(_DNS1035, _LABEL_LENGTH), 30),
        ("qualifiedName", _qualified_name, 60),
        ("dns1123LabelPrefix", _dns(_DNS1123, _LABEL_LENGTH, prefix=True), 30),
        ("dns1123SubdomainPrefix", _dns(_SUBDOMAIN, _SUBDOMAIN_LENGTH, prefix=True), 60),
        ("dns1035LabelPrefix", _dns(_DNS1035, _LABEL_LENGTH, prefix=True), 30),
        ("labelValue", _label_value, 40),
        ("uri", _uri, 1103),
        ("uuid", _tested("does not match the UUID format", lambda t: bool(_UUID.fullmatch(t))), 70),
        ("byte", _tested("invalid base64", lambda t: bool(_BASE64.fullmatch(t))), 84),
        ("date", _tested("invalid date", _is_date), 71),
        ("datetime", _tested("invalid datetime", _is_datetime), 71),
    )
}


def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else NONE


def _validate(format_: NamedFormat, text: str) -> Optional:
    problems = format_.check(text)
    return Optional(problems) if problems else NONE


def _always(format_: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: format_


FUNCTIONS: Final[Functions] = {
    "validate": [
        method("format-validate", [FORMAT, STRING], optional_of(list_of(STRING)), _validate)
    ],
    "format.named": [function("format-named", [STRING], optional_of(FORMAT), _named)],
    **{
        f"format.{name}": [function(f"format.{name}", [], FORMAT, _always(format_))]
        for name, format_ in _FORMATS.items()
    },
}
