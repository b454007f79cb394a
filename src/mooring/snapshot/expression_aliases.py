"""Expressions about devices, with aliases for names and texts, the same as in the devices.

Called by `redaction`. What compares texts for equality still matches the same devices; what looks
into a text, such as ``startsWith``, does not.
"""

import re
from typing import Final

from mooring.snapshot.aliases import Aliases

_TOKEN: Final = re.compile(
    r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?<![A-Za-z0-9_])[0-9][0-9A-Fa-fxu.]*(?![A-Za-z_])"""
    r"""|[A-Za-z0-9_]+|[^\x00-\x7F]+"""
)
#: Amounts and versions, which are compared by size.
_NUMBER: Final = re.compile(r"[+-]?[0-9.]{1,40}([eE][+-]?[0-9]{1,3}|[numkMGTPE]|[KMGTPE]i)?")
_VERSION: Final = re.compile(r"(v?[0-9]+(?:\.[0-9]+){1,2})(.*)", re.DOTALL)
#: What an expression is made of besides the names of a cluster.
_LANGUAGE: Final = frozenset(
    (
        "device", "driver", "attributes", "capacity", "allowMultipleAllocations",
        "true", "false", "null", "in", "r", "b",
        "has", "all", "exists", "exists_one", "existsOne", "map", "filter", "transformList",
        "transformMap", "transformMapEntry", "cel", "bind", "optMap", "optFlatMap", "optional",
        "of", "ofNonZeroValue", "none", "hasValue", "value", "orValue", "or",
        "size", "int", "uint", "double", "string", "bool", "bytes", "type", "dyn", "duration",
        "timestamp", "matches", "contains", "startsWith", "endsWith", "charAt", "indexOf",
        "lastIndexOf", "lowerAscii", "upperAscii", "replace", "split", "join", "substring", "trim",
        "reverse", "format", "find", "findAll", "isSorted", "sum", "min", "max", "sort", "sortBy",
        "slice", "flatten", "distinct", "range", "lists", "first", "last",
        "sets", "equivalent", "intersects", "includes",
        "quantity", "isQuantity", "isInteger", "asInteger", "asApproximateFloat", "sign", "add",
        "sub", "isLessThan", "isGreaterThan", "compareTo",
        "semver", "isSemver", "major", "minor", "patch",
    )
)  # fmt: skip


def expression_alias(aliases: Aliases, expression: str) -> str:
    """An expression with aliases for what is not its language, amount or version."""

    def alias(found: re.Match[str]) -> str:
        token = found[0]
        if token[0] in "\"'":
            return token[0] + value_alias(aliases, token[1:-1]) + token[0]
        if token in _LANGUAGE or _NUMBER.fullmatch(token):
            return token
        return aliases.name(token)

    return _TOKEN.sub(alias, expression)


def value_alias(aliases: Aliases, text: str) -> str:
    """Another text for an attribute, domain or name; amounts and versions keep their numbers."""
    if _NUMBER.fullmatch(text):
        return text
    version = _VERSION.fullmatch(text)
    if version is not None:
        return version[1] + aliases.name(version[2])
    return aliases.name(text)
