"""A plugin that hangs in what it logs is interrupted, and the log goes on."""

import logging
import threading
from typing import Any

import pytest

from mooring.cli.logging_setup import LogFormat, set_up_logging
from mooring.errors import EscapeError, PolicyError
from mooring.framework import foreign
from mooring.process.deadline import Deadline

log = logging.getLogger("a.plugin")


class Lazy:
    """Takes very long to say what it is."""

    def __str__(self) -> str:
        for _ in range(10**8):
            pass
        return "lazy"


class LazyError(Exception):
    """The same for an error."""

    def __str__(self) -> str:
        return str(Lazy())


def log_argument() -> None:
    log.info("pod %s", Lazy())


def log_message() -> None:
    log.warning(Lazy())


def log_error() -> None:
    try:
        raise LazyError
    except LazyError:
        log.exception("failed")


@pytest.mark.parametrize("form", LogFormat)
@pytest.mark.parametrize("hook", [log_argument, log_message])
def test_who_hangs_in_what_it_logs_is_interrupted(
    hook: Any, form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up_logging(form)
    with Deadline(0.05), pytest.raises(EscapeError, match=r"^it was interrupted because "):
        foreign.call(hook)
    # Another thread would wait for ever if a lock were held.
    other = threading.Thread(target=log.warning, args=("after it",), daemon=True)
    other.start()
    other.join(20)
    (line,) = capsys.readouterr().err.splitlines()
    assert "after it" in line


@pytest.mark.parametrize("form", LogFormat)
def test_an_error_that_hangs_when_it_is_told_is_interrupted(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python takes the interruption for an error of the text's, and writes the line."""
    set_up_logging(form)
    with Deadline(0.05):
        foreign.call(log_error)
    assert "LazyError: <exception str() failed>" in capsys.readouterr().err


def test_a_line_that_cannot_be_made_costs_only_itself(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LogFormat.TEXT)
    log.error("%d pods", "many")
    log.error("after it")
    told = capsys.readouterr().err
    assert "Logging error" in told
    assert told.splitlines()[-1].endswith("a.plugin: after it")


@pytest.mark.parametrize("form", LogFormat)
def test_a_text_that_does_harm_is_plain_where_the_line_is_written(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    class Odd(str):
        __slots__ = ()

        def isprintable(self) -> bool:
            raise KeyError("no")

    set_up_logging(form)
    log.warning(Odd("odd \ud800"))
    log.warning("after it", stack_info=True)
    told = capsys.readouterr().err
    assert "odd ?" in told
    assert "after it" in told
    assert "Logging error" not in told


def of_a_policy() -> None:
    raise ValueError("boom")


@pytest.mark.parametrize("form", LogFormat)
def test_a_traceback_begins_in_the_policy(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up_logging(form)
    try:
        try:
            foreign.call(foreign.call, of_a_policy)
        except ValueError as error:
            raise PolicyError("filter 'x' failed", function="x") from error
    except PolicyError:
        log.exception("failed")
    shown = capsys.readouterr().err.replace("\\n", "\n").replace('\\"', '"')
    assert shown.count("Traceback (most recent call last):") == 1
    assert shown.count("  File ") == 1
    assert ", in of_a_policy" in shown
    assert "ValueError: boom" in shown


def test_our_own_tracebacks_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LogFormat.TEXT)
    try:
        of_a_policy()
    except ValueError:
        log.exception("failed")
    assert ", in test_our_own_tracebacks_are_whole" in capsys.readouterr().err
