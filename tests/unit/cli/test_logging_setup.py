import json
import logging
from collections.abc import Iterator

import pytest

from mooring.cli.logging_setup import JsonFormatter, LogFormat, set_up_logging
from mooring.log_kinds import TRACE, with_yaml

OURS = logging.getLogger("mooring.extender")


@pytest.fixture(autouse=True)
def untouched_loggers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that another test has started configures the loggers of its library."""
    loggers = [logging.getLogger(name) for name in ("uvicorn", "uvicorn.error")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.NOTSET)
        monkeypatch.setattr(one, "propagate", True)
    yield
    for one, level in zip(loggers, levels, strict=True):
        one.setLevel(level)


@pytest.mark.parametrize(
    ("wanted", "level"),
    [
        ("DEBUG", logging.DEBUG),
        ("trace", TRACE),
        (" Info ", logging.INFO),
        ("WARN", logging.WARNING),
        ("warning", logging.WARNING),
        ("ERROR", logging.ERROR),
        ("ALERT", logging.CRITICAL),
    ],
)
def test_the_level_comes_from_the_environment(
    wanted: str,
    level: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOG_LEVEL", wanted)
    set_up_logging(LogFormat.TEXT)
    assert OURS.getEffectiveLevel() == level
    OURS.log(level, "just so")
    OURS.log(level - 1, "below")
    logging.getLogger("a.policy").log(level, "me too")
    logging.getLogger("uvicorn.error").info("of no interest")
    lines = capsys.readouterr().err.splitlines()
    told = ["just so", "me too"] + ["of no interest"] * (level == TRACE)
    assert [line.split(": ")[-1] for line in lines] == told


@pytest.mark.parametrize("wanted", ["LOUD", "", "7"])
def test_an_unknown_level_is_info_with_a_warning(
    wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOG_LEVEL", wanted)
    set_up_logging(LogFormat.TEXT)
    assert OURS.getEffectiveLevel() == logging.INFO
    told = capsys.readouterr().err
    assert f"unknown LOG_LEVEL={wanted!r}, using INFO; use one of TRACE, DEBUG" in told
    assert len(told.splitlines()) == 1


def test_the_default_is_info(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOG_LEVEL", raising=False)
    set_up_logging(LogFormat.TEXT)
    assert OURS.getEffectiveLevel() == logging.INFO


@pytest.mark.parametrize(
    ("verbose", "level"), [(0, logging.WARNING), (1, logging.DEBUG), (2, TRACE), (7, TRACE)]
)
def test_options_count_before_the_environment(
    verbose: int,
    level: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "WARNING")
    set_up_logging(LogFormat.JSON, verbose)
    assert OURS.getEffectiveLevel() == level
    OURS.log(TRACE, "a part")
    logging.getLogger("uvicorn.error").info("of a library")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    told = [(one["level"], one["message"]) for one in lines]
    assert told == [("TRACE", "a part"), ("INFO", "of a library")] * (level == TRACE)


def test_json_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOG_LEVEL", raising=False)
    set_up_logging(LogFormat.JSON)
    OURS.info('two\nlines and a "quote" %s', "ümlaut")
    try:
        raise ValueError("the disk is gone")
    except ValueError:
        OURS.exception("failed")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0]["message"] == 'two\nlines and a "quote" ümlaut'
    assert lines[0]["level"] == "INFO"
    assert lines[0]["logger"] == "mooring.extender"
    assert "traceback" not in lines[0]
    assert lines[1]["level"] == "ERROR"
    assert lines[1]["traceback"].startswith("Traceback (most recent call last):")
    assert lines[1]["traceback"].endswith("ValueError: the disk is gone")


def test_yaml_stands_below_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LogFormat.TEXT)
    OURS.info("to copy:", extra=with_yaml("a:\n- b: 1\n  c: \x1b[2J\n"))
    first, *others = capsys.readouterr().err.splitlines()
    assert first.endswith(" INFO    mooring.extender: to copy:")
    assert others == ["a:", "- b: 1", r"  c: \x1b[2J"]


def test_yaml_is_a_field_of_a_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LogFormat.JSON)
    OURS.info("to copy:", extra=with_yaml("a:\n- b: 1\n"))
    [line] = capsys.readouterr().err.splitlines()
    fields = json.loads(line)
    assert (fields["message"], fields["yaml"]) == ("to copy:", "a:\n- b: 1\n")


def test_the_time_has_milliseconds() -> None:
    record = logging.LogRecord("mooring", logging.INFO, __file__, 1, "hello", (), None)
    record.created, record.msecs = 1_700_000_000.0425, 42.5
    fields = json.loads(JsonFormatter().format(record))
    assert fields["time"].endswith(".042")
    assert len(fields["time"]) == len("2023-11-14T22:13:20.042")


def test_a_name_cannot_look_like_another_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LogFormat.TEXT)
    OURS.warning("rejected %s", "pod\n2026-01-01 ERROR mooring: all is lost\x1b[2J\u2028é")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        OURS.exception("failed")
    first, second, *traceback = capsys.readouterr().err.splitlines()
    assert first.endswith("rejected pod\\n2026-01-01 ERROR mooring: all is lost\\x1b[2J\\u2028é")
    assert second.endswith(": failed")
    assert traceback[0].startswith("Traceback")


FORGED = "boom\n2026-01-01 00:00:00,000 ERROR   mooring: all is lost\x1b[31m"
ONE_LINE = r"boom\n2026-01-01 00:00:00,000 ERROR   mooring: all is lost\x1b[31m"


def traceback_lines(error: Exception, capsys: pytest.CaptureFixture[str]) -> list[str]:
    set_up_logging(LogFormat.TEXT)
    try:
        raise error
    except Exception:  # noqa: BLE001 - it is raised three lines above
        OURS.exception("failed")
    text = capsys.readouterr().err
    assert "\x1b" not in text
    return text.splitlines()[1:]


def chained(error: Exception, *, cause: bool) -> Exception:
    other = KeyError("other")
    if cause:
        other.__cause__ = error
    else:
        other.__context__ = error
    return other


@pytest.mark.parametrize("cause", [None, True, False])
def test_an_error_cannot_look_like_another_line(
    cause: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    error: Exception = ValueError(FORGED)
    if cause is not None:
        error = chained(error, cause=cause)
    lines = traceback_lines(error, capsys)
    assert f"ValueError: {ONE_LINE}" in lines
    assert not any(line.startswith("2026-01-01") for line in lines)
    assert "    raise error" in lines  # the rest of the traceback is as usual
    assert "Traceback (most recent call last):" in lines


def test_notes_and_groups_cannot_look_like_another_line(capsys: pytest.CaptureFixture[str]) -> None:
    error = ExceptionGroup(FORGED, [ValueError(FORGED)])
    error.add_note(FORGED)
    lines = traceback_lines(error, capsys)
    assert f"  | ExceptionGroup: {ONE_LINE} (1 sub-exception)" in lines
    assert f"    | ValueError: {ONE_LINE}" in lines
    assert not any(line.startswith("2026-01-01") for line in lines)
    noted = ValueError("x")
    noted.add_note(FORGED)
    lines = traceback_lines(noted, capsys)
    assert lines[-3:] == [
        "ValueError: x",
        "    boom",
        r"    2026-01-01 00:00:00,000 ERROR   mooring: all is lost\x1b[31m",
    ]


def test_a_syntax_error_is_shown_as_usual(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SyntaxError) as caught:
        compile("x = (1,\ny = 2", "policy.py", "exec")
    lines = traceback_lines(caught.value, capsys)
    assert lines[-4:-1] == ['  File "policy.py", line 1', "    x = (1,", "        ^"]
    assert lines[-1].startswith("SyntaxError: ")


def test_no_error_is_shown_as_usual(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LogFormat.TEXT)
    OURS.error("failed", exc_info=True)
    assert capsys.readouterr().err.splitlines()[1:] == ["NoneType: None"]
