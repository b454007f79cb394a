"""Resource amounts as people write them: ``1500m`` of CPU, ``1.5Gi`` of memory, 3 devices."""

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


def written(resource: str, amount: int) -> str:
    """An amount as a quantity, exactly."""
    return f"{amount}m" if resource == CPU else str(amount)


def rounded_up(resource: str, amount: int) -> int:
    """An amount that is shown exactly and is not less: whole mebibytes, where it is that much."""
    if is_bytes(resource) and amount > _STEP:
        return -(-amount // _STEP) * _STEP
    return amount
