"""What a table for one kind is made of: columns, and a function that fills a row.

Owns the small vocabulary that the `columns_*` modules are written in, and what several kinds print
in the same way. Knows no kind by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from mooring.embedded.resources import Obj
from mooring.embedded.schema.canonical_values import canonical
from mooring.embedded.tables.ages import age

#: What is written into a cell.
Cell = str | int | bool
Cells = Callable[[Obj, float], list[Cell]]

NONE: Final = "<none>"
UNSET: Final = "<unset>"


class Printer(msgspec.Struct, frozen=True):
    """How objects of a kind are printed.

    Attributes:
        columns: the definitions of the columns, as they are sent.
        cells: the cells of an object at a time, one for each column.
        conditions: what the row says about the object besides, if anything.
    """

    columns: tuple[Obj, ...]
    cells: Cells
    conditions: Callable[[Obj], Sequence[Obj]] | None = None


def _column(name: str, kind: str, form: str = "", priority: int = 0) -> Obj:
    return {
        "name": name,
        "type": kind,
        "format": form,
        "description": "",
        "priority": priority,
    }


def text(name: str) -> Obj:
    """A column of text."""
    return _column(name, "string")


def wide(name: str) -> Obj:
    """A column that is shown with ``-o wide`` only."""
    return _column(name, "string", priority=1)


def integer(name: str) -> Obj:
    """A column of numbers."""
    return _column(name, "integer")


def boolean(name: str) -> Obj:
    """A column of yes and no."""
    return _column(name, "boolean")


NAME: Final = _column("Name", "string", "name")
WIDE_NAME: Final = _column("Name", "string", "name", 1)
AGE: Final = text("Age")
CREATED_AT: Final = _column("Created At", "date")
#: The wide columns of whatever has a pod template.
TEMPLATE: Final = (wide("Containers"), wide("Images"))


def name_of(obj: Obj) -> str:
    """The object's name."""
    return str(obj["metadata"].get("name", ""))


def age_of(obj: Obj, now: float) -> str:
    """How long ago the object was created."""
    return age(obj["metadata"].get("creationTimestamp"), now)


def being_deleted(obj: Obj) -> bool:
    """Whether somebody has asked to delete it."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def part(obj: Obj, *path: str) -> Obj:
    """The object at a path, or an empty one."""
    for step in path:
        obj = obj.get(step) or {}
    return obj


def listed(obj: Obj, *path: str) -> list[Any]:
    """The list at a path, or an empty one."""
    return part(obj, *path[:-1]).get(path[-1]) or []


def number(obj: Obj, name: str) -> int:
    """A number, or zero."""
    return int(obj.get(name) or 0)


def flag(obj: Obj, name: str, absent: bool = False) -> bool:
    """A boolean, or what is meant when it is absent."""
    value = obj.get(name)
    return absent if value is None else bool(value)


def has_condition(obj: Obj, kind: str) -> bool:
    """Whether the first condition of a kind is true."""
    for condition in listed(obj, "status", "conditions"):
        if condition.get("type") == kind:
            return bool(condition.get("status") == "True")
    return False


def containers(template: Obj) -> tuple[str, str]:
    """Names and images of a pod template's containers."""
    found = listed(template, "spec", "containers")
    names = ",".join(one.get("name", "") for one in found)
    return names, ",".join(one.get("image", "") for one in found)


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Labels as ``a=b,c=d``."""
    return ",".join(sorted(f"{key}={value}" for key, value in (labels or {}).items())) or NONE


def selector_text(selector: Obj | None, absent: str = NONE) -> str:
    """A label selector as it is written in a query."""
    # parity v1.36.4: apimachinery/pkg/apis/meta/v1/helpers.go FormatLabelSelector
    selector = selector or {}
    parts = [(key, f"{key}={value}") for key, value in part(selector, "matchLabels").items()]
    for one in listed(selector, "matchExpressions"):
        key, operator = one.get("key", ""), one.get("operator")
        values = ",".join(sorted(one.get("values") or ()))
        shown = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }.get(operator, "<error>")
        parts.append((key, shown))
    parts.sort(key=lambda pair: pair[0])
    return ",".join(shown for _, shown in parts) or absent


def first_few(texts: Iterable[str], most: int = 3) -> str:
    """The first of many, and how many more there are."""
    every = list(texts)
    shown = ",".join(every[:most])
    return shown if len(every) <= most else f"{shown} + {len(every) - most} more..."


def amount(quantity: str | int | float | None) -> str:
    """A quantity as the server writes it, such as ``1Gi`` for ``1024Mi``; none is ``0``."""
    return "0" if quantity is None else canonical(quantity)
