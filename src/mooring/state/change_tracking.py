"""What changed in the state since somebody last looked.

`CatalogChanges` and `RowChanges` let whoever keeps an index follow the state without looking at all
of it again. Called by the volume plugins.
"""

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from mooring.model.meta import KubeObject
from mooring.state.catalog import Catalog
from mooring.state.columns import Columns

T = TypeVar("T", bound=KubeObject)


class CatalogChanges(Generic[T]):
    """The objects of one kind that changed since the last look."""

    def __init__(self, catalog: Catalog, kind: type[T]) -> None:
        self._catalog = catalog
        self._kind = kind
        self._version = -1
        self._seen: dict[str, T] = {}

    def pop_changes(self) -> list[tuple[str, T | None, T | None]]:
        """Key, object before and object now, for each change since the last call."""
        version = self._catalog.version(self._kind)
        if version == self._version:
            return []
        self._version = version
        now, seen = self._catalog.all(self._kind), self._seen
        changed: list[tuple[str, T | None, T | None]] = [
            (key, seen.get(key), one) for key, one in now.items() if seen.get(key) is not one
        ]
        if len(now) < len(seen) + sum(before is None for _, before, _ in changed):
            changed.extend((key, one, None) for key, one in seen.items() if key not in now)
        for key, _, one in changed:
            if one is None:
                del seen[key]
            else:
                seen[key] = one
        return changed


class RowChanges:
    """The rows in which a node or its pods changed since the last look."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._seen: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    def pop_rows(self) -> list[int]:
        """The rows that changed since the last call; rows beyond the last one are gone."""
        now, seen = self._columns.generation, self._seen
        common = min(len(now), len(seen))
        rows: list[int] = np.flatnonzero(now[:common] != seen[:common]).tolist()
        rows.extend(range(common, max(len(now), len(seen))))
        if rows:
            self._seen = now.copy()
        return rows
