"""How the answer of ``moor whatif`` can be printed."""

from enum import StrEnum


class WhatIfOutput(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
