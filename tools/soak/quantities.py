"""Amounts of nodes and pods, read without mooring's code: checks must not share its errors."""

from decimal import Decimal
from typing import Final, NamedTuple

_UNITS: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "": 1}


class Amounts(NamedTuple):
    """An amount of each resource that the soak test uses."""

    cpu_milli: int = 0
    memory_bytes: int = 0
    pods: int = 0

    def plus(self, other: "Amounts") -> "Amounts":
        """The sum."""
        return Amounts(*(mine + its for mine, its in zip(self, other, strict=True)))

    def minus(self, other: "Amounts") -> "Amounts":
        """The difference."""
        return Amounts(*(mine - its for mine, its in zip(self, other, strict=True)))

    def covers(self, other: "Amounts") -> bool:
        """Whether there is enough of everything."""
        return all(mine >= its for mine, its in zip(self, other, strict=True))


def amounts(resources: dict[str, str], pods: int | None = None) -> Amounts:
    """Read the quantities of a node, or of a pod, which counts as so many pods."""
    count = int(resources.get("pods", "0")) if pods is None else pods
    return Amounts(_milli(resources.get("cpu", "0")), _bytes(resources.get("memory", "0")), count)


def _milli(text: str) -> int:
    return int(Decimal(text[:-1])) if text.endswith("m") else int(Decimal(text) * 1000)


def _bytes(text: str) -> int:
    number = text.rstrip("KMGTi")
    return int(Decimal(number) * _UNITS[text[len(number) :]])
