"""Conditions in the statuses of objects."""

from mooring.embedded.resources import Obj


def find_condition(conditions: list[Obj] | None, kind: str) -> Obj | None:
    """The condition of a type."""
    for one in conditions or ():
        if one.get("type") == kind:
            return one
    return None


def without_condition(conditions: list[Obj] | None, kind: str) -> list[Obj]:
    """The conditions that are of another type."""
    return [one for one in conditions or () if one.get("type") != kind]


def is_condition_true(conditions: list[Obj] | None, kind: str) -> bool:
    """Whether the condition of a type is there and holds."""
    found = find_condition(conditions, kind)
    return found is not None and found.get("status") == "True"
