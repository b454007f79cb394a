"""Names for the array types that policies, plugins and rules exchange."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

#: One integer per node.
Amounts: TypeAlias = npt.NDArray[np.int64]
#: One number for each node.
Floats: TypeAlias = npt.NDArray[np.float64]
#: One boolean per node.
Mask: TypeAlias = npt.NDArray[np.bool_]
#: For each node a place in a table.
Choice: TypeAlias = npt.NDArray[np.integer[Any]]
#: The row numbers of some nodes, ascending.
Rows: TypeAlias = npt.NDArray[np.intp]
#: What a `score_nodes` function returns: one number for each node.
Scores: TypeAlias = npt.NDArray[np.floating[Any]] | npt.NDArray[np.integer[Any]] | Sequence[float]
