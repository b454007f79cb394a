import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.cli.moor import POLICY, Moor

Serve = Callable[..., Moor]


@pytest.fixture(autouse=True)
def same_process(tmp_path: Path) -> Iterator[None]:
    """What a command changes in its process is undone: logging, search path, policy modules."""
    root = logging.getLogger()
    others = [logging.getLogger(name) for name in ("mooring", "aiohttp", "asyncio", "uvicorn")]
    levels = [(logger, logger.level) for logger in (root, *others)]
    handlers, path = root.handlers[:], sys.path[:]
    yield
    root.handlers[:], sys.path[:] = handlers, path
    for logger, level in levels:
        logger.setLevel(level)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy in a file."""
    file = tmp_path / "policy.py"
    file.write_text(POLICY)
    return file


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts ``moor serve`` with the given arguments; all are ended after the test."""
    started: list[Moor] = []

    def start(*arguments: str | Path, **env: str) -> Moor:
        started.append(Moor(tmp_path, *arguments, "--port", "0", **env))
        return started[-1]

    yield start
    for moor in started:
        moor.stop()
