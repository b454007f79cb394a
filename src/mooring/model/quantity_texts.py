"""Resource amounts as people write them: ``1500m`` of CPU, ``1.5Gi`` of memory, 3 devices."""

from collections.abc import Sequence
from typing import Final

from mooring.model.resources import CPU, MEMORY

_BYTES: Final = (MEMORY, "ephemeral-storage", "storage")
_UNITS: Final = (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
_STEP: Final = 2**20


def is_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    return resource in _BYTES or resource.startswith("hugepages-")


def show(resource: str, amount: int) -> str:
    """An amount of a resource, in the unit people use; bytes with at most one decimal."""
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if not is_bytes(resource) or not amount:
        return str(amount)
    for unit, power in _UNITS:
        if abs(amount) >= 1 << power:
            number = f"{amount / (1 << power):.1f}".removesuffix(".0")
            return f"{number}{unit}"
    return str(amount)


def show_alike(resource: str, amounts: Sequence[int], *, exact: bool = False) -> list[str]:
    """Amounts of one resource for one sentence: in one unit, and different ones look different.

    Args:
        resource: the resource.
        amounts: how much of it.
        exact: nothing is rounded, for amounts that people are to write.
    """
    if resource == CPU and any(amount % 1000 for amount in amounts):
        return [f"{amount}m" for amount in amounts]
    if not is_bytes(resource):
        return [show(resource, amount) for amount in amounts]
    largest = max(map(abs, amounts), default=0)
    for unit, power in _UNITS:
        if largest >= 1 << power:
            texts = [f"{amount / (1 << power):.1f}".removesuffix(".0") for amount in amounts]
            rounded = any(amount * 10 % (1 << power) for amount in amounts)
            differ = len(set(texts)) == len({0, *amounts} if "0" in texts else set(amounts))
            if differ and not (exact and rounded):
                return [f"{text}{unit}" if text != "0" else text for text in texts]
    return [str(amount) for amount in amounts]


def written(resource: str, amount: int) -> str:
    """An amount as a quantity, exactly."""
    return f"{amount}m" if resource == CPU else str(amount)


def rounded_up(resource: str, amount: int) -> int:
    """An amount that is shown exactly and is not less: whole mebibytes, where it is that much."""
    if is_bytes(resource) and amount > _STEP:
        return -(-amount // _STEP) * _STEP
    return amount
