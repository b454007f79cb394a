"""Cuts the text of an expression into tokens.

Called by the parser only. Knows CEL's grammar of literals, and reads their values.
"""

import re
from typing import Final, NamedTuple

from mooring.cel.errors import Issue

_ESCAPE: Final = (
    r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7][0-7])"
)
#: In each group the longest match wins, as in the grammar.
_STRINGS: Final = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
        r'[rR]""".*?"""',
        r"[rR]'''.*?'''",
    )
]
_STRING_START: Final = re.compile(r"[bB]?[rR]?[\"']")
_SKIPPED: Final = re.compile(r"(?:[\t \r\n\f]+|//[^\n]*)+")
_NUMBER: Final = re.compile(
    r"(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED_IDENTIFIER: Final = re.compile(r"`[A-Za-z0-9_.\-/ ]+`")
_SYMBOL: Final = re.compile(r"==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%]")
_WORDS: Final = frozenset({"in", "true", "false", "null"})
_SIMPLE: Final = {
    "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11,
    "\\": 92, "'": 39, '"': 34, "`": 96, "?": 63,
}  # fmt: skip


class Token(NamedTuple):
    """A piece of the source: kind is a symbol, a word, or ident, int, uint, float, string, ..."""

    kind: str
    text: str
    pos: int


class LexError(Exception):
    """A piece of the source is no token."""

    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.message)
        self.issue = issue


def tokenize(source: str) -> list[Token]:
    """All tokens, the last of which has the kind ``end``.

    Raises:
        LexError: a character starts no token.
    """
    tokens: list[Token] = []
    pos, end = 0, len(source)
    while pos < end:
        if skipped := _SKIPPED.match(source, pos):
            pos = skipped.end()
            continue
        token = _token(source, pos)
        tokens.append(token)
        pos += len(token.text)
    tokens.append(Token("end", "<EOF>", end))
    return tokens


def _token(source: str, pos: int) -> Token:
    if _STRING_START.match(source, pos):
        is_bytes = source[pos] in "bB"
        matches = (p.match(source, pos + is_bytes) for p in _STRINGS)
        longest = max((m.end() for m in matches if m), default=0)
        if longest:
            return Token("bytes" if is_bytes else "string", source[pos:longest], pos)
    if match := _NUMBER.match(source, pos):
        return Token(str(match.lastgroup), match[0], pos)
    if match := _IDENTIFIER.match(source, pos):
        word = match[0]
        return Token(word if word in _WORDS else "ident", word, pos)
    if match := _SYMBOL.match(source, pos):
        return Token(match[0], match[0], pos)
    if match := _QUOTED_IDENTIFIER.match(source, pos):
        return Token("quoted", match[0], pos)
    message = f"Syntax error: token recognition error at: '{source[pos : pos + 10]}'"
    raise LexError(Issue(pos, message))


def unquote(text: str) -> str:
    """The value of a string literal.

    Raises:
        ValueError: an escape stands for no character.
    """
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    out: list[str] = []
    for code, is_escape in _characters(body):
        if is_escape and (0xD800 <= code < 0xE000 or code > 0x10FFFF):
            raise ValueError("invalid unicode code point")
        out.append(chr(code))
    return "".join(out)


def unquote_bytes(text: str) -> bytes:
    """The value of a bytes literal; escapes are bytes, other characters UTF-8.

    Raises:
        ValueError: an escape names a character instead of a byte.
    """
    body, raw = _body(text[1:])
    if raw or "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    out = bytearray()
    pos = 0
    while pos < len(body):
        if body[pos] == "\\":
            if body[pos + 1] in "uU":
                raise ValueError("unable to unescape string")
            code, pos = _escape(body, pos + 1)
            out.append(code & 0xFF)
        else:
            out += body[pos].encode("utf-8", "surrogatepass")
            pos += 1
    return bytes(out)


def _body(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    if len(text) >= 6 and text[:3] in ('"""', "'''"):
        return text[3:-3], raw
    return text[1:-1], raw


def _characters(body: str) -> list[tuple[int, bool]]:
    out: list[tuple[int, bool]] = []
    pos = 0
    while pos < len(body):
        if body[pos] == "\\":
            code, pos = _escape(body, pos + 1)
            out.append((code, True))
        else:
            out.append((ord(body[pos]), False))
            pos += 1
    return out


def _escape(body: str, pos: int) -> tuple[int, int]:
    char = body[pos]
    if char in _SIMPLE:
        return _SIMPLE[char], pos + 1
    digits = {"x": 2, "X": 2, "u": 4, "U": 8}.get(char)
    if digits:
        return int(body[pos + 1 : pos + 1 + digits], 16), pos + 1 + digits
    return int(body[pos : pos + 3], 8), pos + 3
