"""The API servers on which the scheduler's tests run: the real one and the embedded one."""

from pathlib import Path
from typing import Any, Final

import pytest

from mooring.testing.real_kubernetes import BaseControlPlane, ControlPlane

REAL: Final = "kube-apiserver"
#: Parameters for fixtures; only the real one needs the binaries.
CONTROL_PLANES: Final[list[Any]] = [pytest.param(REAL, marks=pytest.mark.kube), "embedded"]


def make_control_plane(
    kind: str, folder: Path | None = None, *, audited: bool = False
) -> BaseControlPlane:
    """One of `CONTROL_PLANES`, not started yet."""
    if kind == REAL:
        return ControlPlane(folder, audited=audited)
    from mooring.testing.embedded_control_plane import EmbeddedControlPlane

    return EmbeddedControlPlane(folder, audited=audited)
