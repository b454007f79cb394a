"""What `moor` does before anything else: start itself again with another allocator, if need be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.cli import entry_point

PYTHON = "/usr/bin/python3"
MOOR = [PYTHON, "/usr/bin/moor"]


class Executed(BaseException):
    """The process was replaced."""


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str], str]]:
    found: list[tuple[str, list[str], str]] = []

    def execve(path: str, arguments: list[str], environment: dict[str, str]) -> None:
        found.append((path, arguments, environment["PYTHONMALLOC"]))
        raise Executed

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(os, "confstr", lambda _: "glibc 2.36")
    monkeypatch.setattr(sys, "executable", PYTHON)
    monkeypatch.delenv("PYTHONMALLOC", raising=False)
    return found


def as_command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", [MOOR[1], *arguments])
    monkeypatch.setattr(sys, "orig_argv", [*MOOR, *arguments])


def test_run_starts_again_with_all_its_arguments(
    starts: list[tuple[str, list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    as_command(monkeypatch, "run", "--port", "0")
    with pytest.raises(Executed):
        entry_point.use_malloc()
    assert starts == [(PYTHON, [*MOOR, "run", "--port", "0"], "malloc")]


@pytest.mark.parametrize("arguments", [["serve", "run"], ["--version"], [], ["explain", "run"]])
def test_other_commands_go_on(
    starts: list[tuple[str, list[str], str]],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
) -> None:
    as_command(monkeypatch, *arguments)
    entry_point.use_malloc()
    assert starts == []


def test_what_the_environment_says_counts(
    starts: list[tuple[str, list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    as_command(monkeypatch, "run")
    monkeypatch.setenv("PYTHONMALLOC", "pymalloc")
    entry_point.use_malloc()
    assert starts == []


def test_another_process_that_calls_main_is_left_alone(
    starts: list[tuple[str, list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["moor", "run", "--port", "0"])
    monkeypatch.setattr(sys, "orig_argv", [PYTHON, "-m", "pytest", "tests"])
    entry_point.use_malloc()
    assert starts == []


@pytest.mark.parametrize("library", ["musl", None])
def test_another_c_library_is_left_alone(
    starts: list[tuple[str, list[str], str]],
    monkeypatch: pytest.MonkeyPatch,
    library: str | None,
) -> None:
    as_command(monkeypatch, "run")
    monkeypatch.setattr(os, "confstr", lambda _: library)
    entry_point.use_malloc()
    assert starts == []


def test_it_goes_on_if_the_program_cannot_be_started_again(
    starts: list[tuple[str, list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def execve(*_: object) -> None:
        raise PermissionError

    as_command(monkeypatch, "run")
    monkeypatch.setattr(os, "execve", execve)
    entry_point.use_malloc()
    assert starts == []


@pytest.mark.parametrize("form", ["script", "mooring", "mooring.cli"])
def test_an_error_is_told_as_ever(form: str, tmp_path: Path) -> None:
    moor = Path(sys.executable).parent / "moor"
    start = [str(moor)] if form == "script" else [sys.executable, "-m", form]
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONMALLOC"}
    done = subprocess.run(
        [*start, "run", "--config", str(tmp_path / "a file that is not there.yaml")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "a file that is not there.yaml" in done.stderr
    assert "Traceback" not in done.stderr
