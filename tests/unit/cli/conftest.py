import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.cli import main as cli
from tests.unit.cli.command_line import Result, Run
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
def command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process."""

    def call(*arguments: str | Path, program: str = "moor") -> Result:
        monkeypatch.setattr(sys, "argv", [program, *map(str, arguments)])
        code: object = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code
        out, err = capsys.readouterr()
        return code if isinstance(code, int) else 0, out, err

    return call


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
