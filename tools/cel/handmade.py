"""Expressions made by hand, for what chance does not find."""

from typing import Final

EXPRESSIONS: Final[list[str]] = []
