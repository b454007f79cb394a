"""The syntax of names, labels and the like, and what Kubernetes says about what breaks it.

Each function returns the sentences about a text, none if it is as it should be. Called by the
validation of all kinds; knows nothing of fields. What is asked again and again is remembered.
"""

import functools
import re
from collections.abc import Callable
from typing import Final

#: What is wrong with a text; nothing when empty.
Problems = tuple[str, ...]
#: A rule for names: the text, and whether it is only the beginning of a name (generateName).
Namer = Callable[[str], Problems]

_LABEL_FORM: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORM: Final = rf"{_LABEL_FORM}(\.{_LABEL_FORM})*"
_UNDERSCORE_FORM: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORES_FORM: Final = rf"{_UNDERSCORE_FORM}(\.{_UNDERSCORE_FORM})*"
_KEY_FORM: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORM: Final = f"({_KEY_FORM})?"
_PERCENT_FORM: Final = "[0-9]+%"
_CONFIG_KEY_FORM: Final = "[-._a-zA-Z0-9]+"
_HEADER_FORM: Final = "[-A-Za-z0-9]+"
_PATH_FORM: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_IDENTIFIER_FORM: Final = "[A-Za-z_][A-Za-z0-9_]*"
_REASON_FORM: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_label: Final = re.compile(_LABEL_FORM).fullmatch
_subdomain: Final = re.compile(_SUBDOMAIN_FORM).fullmatch
_underscores: Final = re.compile(_UNDERSCORES_FORM).fullmatch
_key: Final = re.compile(_KEY_FORM).fullmatch
_percent: Final = re.compile(_PERCENT_FORM, re.ASCII).fullmatch
_config_key: Final = re.compile(_CONFIG_KEY_FORM).fullmatch
_header: Final = re.compile(_HEADER_FORM).fullmatch
_path: Final = re.compile(_PATH_FORM).fullmatch
_identifier: Final = re.compile(_IDENTIFIER_FORM).fullmatch
_reason: Final = re.compile(_REASON_FORM).fullmatch
_port_characters: Final = re.compile("[-a-z0-9]+").fullmatch
_a_letter: Final = re.compile("[a-z]").search

_MAX_LABEL: Final = 63
_MAX_SUBDOMAIN: Final = 253
_REMEMBERED: Final = 16384

_ALPHANUMERIC: Final = "and must start and end with an alphanumeric character"


def _form(text: str, form: str, *examples: str) -> str:
    shown = " or ".join(f"'{one}', " for one in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{form}')"


_SUBDOMAIN_TEXT: Final = _form(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    f"'-' or '.', {_ALPHANUMERIC}",
    _SUBDOMAIN_FORM,
    "example.com",
)
_LABEL_TEXT: Final = _form(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{_ALPHANUMERIC}",
    _LABEL_FORM,
    "my-name",
    "123-abc",
)
_UNDERSCORES_TEXT: Final = _form(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    f"'_', '-' or '.', {_ALPHANUMERIC}",
    _UNDERSCORES_FORM,
    "example.com",
)
_KEY_TEXT: Final = _form(
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ALPHANUMERIC}",
    _KEY_FORM,
    "MyName",
    "my.name",
    "123-abc",
)
_VALUE_TEXT: Final = _form(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {_ALPHANUMERIC}",
    _VALUE_FORM,
    "MyValue",
    "my_value",
    "12345",
)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _at_most(limit: int, unit: str = "characters") -> str:
    return f"must be no more than {limit} {unit}"


def subdomain(text: str) -> Problems:
    """A DNS subdomain: most names."""
    if len(text) <= _MAX_SUBDOMAIN and _subdomain(text):
        return ()
    errors = (_at_most(_MAX_SUBDOMAIN),) if _bytes(text) > _MAX_SUBDOMAIN else ()
    return errors if _subdomain(text) else (*errors, _SUBDOMAIN_TEXT)


@functools.lru_cache(maxsize=_REMEMBERED)
def dns_label(text: str) -> Problems:
    """A DNS label: containers, volumes, namespaces."""
    errors = (_at_most(_MAX_LABEL),) if _bytes(text) > _MAX_LABEL else ()
    if _label(text):
        return errors
    return (*errors, "must not contain dots" if _subdomain(text) else _LABEL_TEXT)


def search_domain(text: str) -> Problems:
    """A DNS subdomain that may have underscores."""
    errors = (_at_most(_MAX_SUBDOMAIN),) if _bytes(text) > _MAX_SUBDOMAIN else ()
    return errors if _underscores(text) else (*errors, _UNDERSCORES_TEXT)


def path_segment(text: str) -> Problems:
    """Whatever can stand in a path between two slashes."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{one}'" for one in ("/", "%") if one in text)


def beginning(namer: Namer) -> Namer:
    """The rule for the beginning of a name, which may end with a dash."""

    def check(text: str) -> Problems:
        # parity v1.36.4: apimachinery/pkg/api/validation/generic.go maskTrailingDash
        if namer is not path_segment and len(text) > 1 and text.endswith("-"):
            return namer(text[:-2] + "a")
        if namer is path_segment:
            return tuple(f"may not contain '{one}'" for one in ("/", "%") if one in text)
        return namer(text)

    return check


@functools.lru_cache(maxsize=_REMEMBERED)
def label_key(text: str) -> Problems:
    """A label key, also called a qualified name, such as ``example.com/rack``."""
    prefix, slash, name = text.partition("/")
    errors: list[str] = []
    if not slash:
        name = prefix
    elif "/" in name:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_KEY_TEXT} {optional}",)
    elif not prefix:
        errors.append("prefix part must be non-empty")
    else:
        if _bytes(prefix) > _MAX_SUBDOMAIN:
            errors.append(f"prefix part {_at_most(_MAX_SUBDOMAIN, 'bytes')}")
        if not _subdomain(prefix):
            errors.append(f"prefix part {_SUBDOMAIN_TEXT}")
    if not name:
        errors.append("name part must be non-empty")
    elif _bytes(name) > _MAX_LABEL:
        errors.append(f"name part {_at_most(_MAX_LABEL, 'bytes')}")
    if not _key(name):
        errors.append(f"name part {_KEY_TEXT}")
    return tuple(errors)


@functools.lru_cache(maxsize=_REMEMBERED)
def label_value(text: str) -> Problems:
    """The value of a label."""
    errors = (_at_most(_MAX_LABEL, "bytes"),) if _bytes(text) > _MAX_LABEL else ()
    return errors if not text or _key(text) else (*errors, _VALUE_TEXT)


@functools.lru_cache(maxsize=_REMEMBERED)
def port_name(text: str) -> Problems:
    """The name of a port of a container."""
    errors: list[str] = []
    if _bytes(text) > 15:
        errors.append(_at_most(15))
    if not _port_characters(text):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _a_letter(text):
        errors.append("must contain at least one letter (a-z)")
    if "--" in text:
        errors.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return tuple(errors)


def port_number(number: int) -> Problems:
    """A port."""
    return () if 1 <= number <= 65535 else ("must be between 1 and 65535, inclusive",)


def config_key(text: str) -> Problems:
    """A key in a config map or a secret."""
    errors: list[str] = []
    if _bytes(text) > _MAX_SUBDOMAIN:
        errors.append(_at_most(_MAX_SUBDOMAIN))
    if not _config_key(text):
        text_about = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(_form(text_about, _CONFIG_KEY_FORM, "key.name", "KEY_NAME", "key-name"))
    if text in (".", ".."):
        errors.append(f"must not be '{text}'")
    elif text.startswith(".."):
        errors.append("must not start with '..'")
    return tuple(errors)


@functools.lru_cache(maxsize=_REMEMBERED)
def variable_name(text: str) -> Problems:
    """The name of an environment variable."""
    errors: list[str] = []
    if not text:
        errors.append("environment variable name must be non-empty")
    if any(not " " <= one <= "~" or one == "=" for one in text):
        errors.append(
            "a valid environment variable name must consist only of printable ASCII characters "
            "other than '='"
        )
    return tuple(errors)


def header_name(text: str) -> Problems:
    """The name of an HTTP header."""
    if _header(text):
        return ()
    about = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return (_form(about, _HEADER_FORM, "X-Header-Name"),)


def percent(text: str) -> Problems:
    """A percentage such as ``25%``."""
    if _percent(text):
        return ()
    about = "a valid percent string must be a numeric string followed by an ending '%'"
    return (_form(about, _PERCENT_FORM, "1%", "93%"),)


def http_path(text: str) -> Problems:
    """The part after the slash of a path with a domain."""
    return () if _path(text) else (f"Invalid path (regex used for validation is '{_PATH_FORM}')",)


def identifier(text: str) -> Problems:
    """An identifier as in C: the names of attributes and capacities of devices."""
    if _identifier(text):
        return ()
    about = (
        "a valid C identifier must start with alphabetic character or '_', followed by a string of "
        "alphanumeric characters or '_'"
    )
    return (_form(about, _IDENTIFIER_FORM, "my_name", "MY_NAME", "MyName"),)


def condition_reason(text: str) -> Problems:
    """The reason of a condition."""
    if _reason(text):
        return ()
    about = (
        "a condition reason must start with alphabetic character, optionally followed by a string "
        "of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
    )
    examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
    return (_form(about, _REASON_FORM, *examples),)
