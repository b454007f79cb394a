"""Times and conditions in objects, as controllers compare and write them."""

import functools
from datetime import datetime

from mooring.embedded.resources import Obj
from mooring.kube.timestamps import second_time


def written(now: float) -> str:
    """A time as objects have it: ``2026-01-31T12:00:00Z``."""
    return second_time(int(now * 1e9))


@functools.lru_cache(maxsize=1024)
def read(text: str) -> float:
    """A time of an object in seconds since 1970; 0 if it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


def find(conditions: list[Obj] | None, kind: str) -> Obj | None:
    """The condition of a type."""
    for one in conditions or ():
        if one.get("type") == kind:
            return one
    return None


def without(conditions: list[Obj] | None, kind: str) -> list[Obj]:
    """The conditions that are of another type."""
    return [one for one in conditions or () if one.get("type") != kind]


def is_true(conditions: list[Obj] | None, kind: str) -> bool:
    """Whether the condition of a type is there and holds."""
    found = find(conditions, kind)
    return found is not None and found.get("status") == "True"
