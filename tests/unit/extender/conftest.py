import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def same_modules(tmp_path: Path) -> Iterator[None]:
    """Loading a policy leaves modules and a search path behind."""
    path = sys.path[:]
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
