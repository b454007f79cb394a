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
        self._log = catalog.log(kind)
        self._position = -1
        self._seen: dict[str, T] = {}

    def pop_changes(self) -> list[tuple[str, T | None, T | None]]:
        """Key, object before and object now, for each change since the last call."""
        position = self._log.end
        if position == self._position:
            return []
        keys = self._log.since(self._position) if self._position >= 0 else None
        self._position = position
        now, seen = self._catalog.all(self._kind), self._seen
        some = dict.fromkeys(keys) if keys is not None else {**now, **seen}
        changed: list[tuple[str, T | None, T | None]] = []
        for key in some:
            before, after = seen.get(key), now.get(key)
            if before is after:
                continue
            changed.append((key, before, after))
            if after is None:
                del seen[key]
            else:
                seen[key] = after
        changed.sort(key=lambda one: one[2] is None)  # what is gone comes last
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
