"""The indexes of an Indexed Job: which are done, and how that is written.

parity v1.36.4: pkg/controller/job/indexed_job_utils.go
"""

from collections.abc import Iterable, Mapping, Set
from typing import Final

INDEX: Final = "batch.kubernetes.io/job-completion-index"


def index_of(annotations: Mapping[str, str]) -> int:
    """The index of a pod; -1 if it has none."""
    text = annotations.get(INDEX, "")
    return int(text) if text.isdigit() else -1


def free_indexes(count: int, taken: Set[int], most: int) -> list[int]:
    """The lowest indexes that are not taken, at most so many."""
    found: list[int] = []
    for index in range(count):
        if len(found) == most:
            break
        if index not in taken:
            found.append(index)
    return found


def read_indexes(text: str, count: int) -> set[int]:
    """Indexes from a text such as ``0-2,5``."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            found.update(range(int(first), min(int(last or first), count - 1) + 1))
    return found


def write_indexes(indexes: Iterable[int]) -> str:
    """Indexes as a text such as ``0-2,5``."""
    parts: list[str] = []
    run: list[int] = []
    for index in [*sorted(indexes), None]:
        if run and index == run[-1] + 1:
            run.append(run[-1] + 1)
            continue
        if run:
            # Two in a row are written with a comma, three and more as a range.
            joint = "," if len(run) == 2 else "-"
            parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}{joint}{run[-1]}")
        run = [] if index is None else [index]
    return ",".join(parts)
