"""The API servers on which the scheduler's tests run: the real one and the embedded one."""

from pathlib import Path
from typing import Any, Final

import pytest

from mooring.testing.kube import ControlPlane, Plane

REAL: Final = "kube-apiserver"
#: Parameters for fixtures; only the real one needs the binaries.
PLANES: Final[list[Any]] = [pytest.param(REAL, marks=pytest.mark.kube), "embedded"]


def make_plane(kind: str, folder: Path | None = None, *, audited: bool = False) -> Plane:
    """One of `PLANES`, not started yet."""
    if kind == REAL:
        return ControlPlane(folder, audited=audited)
    from mooring.testing.embedded_plane import EmbeddedPlane

    return EmbeddedPlane(folder, audited=audited)
