"""The URL library.

Called through the declarations. Texts are read as Go's net/url does.
"""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import ClassVar, Final

from mooring.cel.errors import CelValueError
from mooring.cel.overloads import Functions, function, method
from mooring.cel.types import BOOL, STRING, URL, list_of, map_of
from mooring.cel.values import CelMap

_ALNUM: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_UNRESERVED: Final = f"{_ALNUM}-_.~"
_HOST: Final = frozenset(f"{_UNRESERVED}!$&'()*+,;=:[]<>\"")
_PATH: Final = frozenset(f"{_UNRESERVED}$&+,/:;=@")
_ENCODED_PATH: Final = frozenset(f"{_UNRESERVED}!$&'()*+,;=:@[]%/")
_USER: Final = frozenset(f"{_ALNUM}-._:~!$&'()*+,;=%@")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+\-.]*)?:")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_ESCAPED: Final = re.compile(r"%([0-9A-Fa-f]{2})?")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Url:
    """A parsed URL; those with equal parts are equal."""

    scheme: str
    opaque: str
    user: tuple[str, ...]
    host: str
    path: str
    query: str
    fragment: str

    type_name: ClassVar[str] = "kubernetes.URL"

    @property
    def raw_query(self) -> str:
        """What follows the question mark."""
        return self.query.removeprefix("?")


class _UrlError(ValueError):
    pass


def parse_request_uri(text: str) -> None:
    """Check an absolute URL or path.

    Raises:
        ValueError: it is neither.
    """
    _parsed(text, "", is_request=True)


def parse_url(text: str) -> Url:
    """Read an absolute URL or path.

    Raises:
        ValueError: it is neither.
    """
    parse_request_uri(text)
    body, _, fragment = text.partition("#")
    return _parsed(body, _unescaped(fragment), is_request=False)


def _parsed(text: str, fragment: str, *, is_request: bool) -> Url:
    if _CONTROL.search(text):
        raise _UrlError("invalid control character in URL")
    if not text and is_request:
        raise _UrlError("empty url")
    if text == "*":
        return Url("", "", (), "", "*", "", fragment)
    scheme, rest = _scheme(text)
    rest, mark, query = rest.partition("?")
    query = mark + query
    opaque = host = ""
    user: tuple[str, ...] = ()
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, rest, (), "", "", query, fragment)
        if is_request:
            raise _UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise _UrlError("first path segment in URL cannot contain colon")
    has_authority = rest.startswith("//") and (
        bool(scheme) or (not is_request and not rest.startswith("///"))
    )
    if has_authority:
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(scheme, authority)
    return Url(scheme, opaque, user, host, _path(rest), query, fragment)


def _scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    if match is None:
        return "", text
    if not match[1]:
        raise _UrlError("missing protocol scheme")
    return match[1].lower(), text[match.end() :]


def _authority(scheme: str, text: str) -> tuple[tuple[str, ...], str]:
    before, at, host = text.rpartition("@")
    host = _host(scheme, host)
    if not at:
        return (), host
    if not set(before) <= _USER:
        raise _UrlError("net/url: invalid userinfo")
    return tuple(_unescaped(part) for part in before.split(":", 1)), host


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise _UrlError("invalid IP-literal")
    if bracket == 0:
        end = host.rfind("]")
        if end < 0 or not _PORT.fullmatch(host, end + 1):
            raise _UrlError("invalid host")
        name = _unescaped_host(host[1:end])
        try:
            IPv6Address(name)
        except AddressValueError as error:
            raise _UrlError(f"invalid host: {error}") from error
        return f"[{name}]{host[end + 1 :]}"
    colon = host.find(":")
    if colon >= 0:
        if scheme not in ("http", "https"):
            colon = host.rfind(":")
        if not _PORT.fullmatch(host, colon):
            raise _UrlError(f"invalid port {host[colon:]!r} after host")
    return _unescaped_host(host)


def _unescaped_host(host: str) -> str:
    for match in _ESCAPED.finditer(host):
        if match[1] and int(match[1][0], 16) < 8 and match[1] != "25":
            raise _UrlError(f"invalid URL escape {match[0]!r}")
    plain = _ESCAPED.sub("", host)
    if any(char.isascii() and char not in _HOST for char in plain):
        raise _UrlError("invalid character in host name")
    return _unescaped(host)


def _unescaped(text: str) -> str:
    data = bytearray()
    at = 0
    for match in _ESCAPED.finditer(text):
        if match[1] is None:
            raise _UrlError(f"invalid URL escape {text[match.start() :][:3]!r}")
        data += text[at : match.start()].encode("utf-8", "surrogatepass")
        data.append(int(match[1], 16))
        at = match.end()
    data += text[at:].encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace")


def _path(text: str) -> str:
    """The escaped path: as it was written, if that is valid."""
    _unescaped(text)
    if set(text) <= _ENCODED_PATH:
        return text
    pieces: list[str] = []
    at = 0
    for match in _ESCAPED.finditer(text):
        pieces += map(_escaped, text[at : match.start()])
        byte = int(match[1], 16)
        char = chr(byte)
        pieces.append(char if byte < 128 and char in _PATH else f"%{match[1].upper()}")
        at = match.end()
    pieces += map(_escaped, text[at:])
    return "".join(pieces)


def _escaped(char: str) -> str:
    if char in _PATH:
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _url(text: str) -> Url:
    try:
        return parse_url(text)
    except _UrlError as error:
        message = f"URL parse error during conversion from string: {error}"
        raise CelValueError(message) from error


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except _UrlError:
        return False
    return True


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or not all(char in "0123456789" for char in port):
        name, port = host, ""
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    return name, port


def _query(url: Url) -> CelMap:
    values: dict[str, list[str]] = {}
    for pair in url.raw_query.split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.partition("=")
        try:
            name, text = (_unescaped(part.replace("+", " ")) for part in (key, value))
        except _UrlError:
            continue
        values.setdefault(name, []).append(text)
    return CelMap(dict(values))


FUNCTIONS: Final[Functions] = {
    "url": [function("string_to_url", [STRING], URL, _url)],
    "isURL": [function("is_url_string", [STRING], BOOL, _is_url)],
    "getScheme": [method("url_get_scheme", [URL], STRING, lambda url: url.scheme)],
    "getHost": [method("url_get_host", [URL], STRING, lambda url: url.host)],
    "getHostname": [
        method("url_get_hostname", [URL], STRING, lambda url: _split_port(url.host)[0])
    ],
    "getPort": [method("url_get_port", [URL], STRING, lambda url: _split_port(url.host)[1])],
    "getEscapedPath": [method("url_get_escaped_path", [URL], STRING, lambda url: url.path)],
    "getQuery": [method("url_get_query", [URL], map_of(STRING, list_of(STRING)), _query)],
}
