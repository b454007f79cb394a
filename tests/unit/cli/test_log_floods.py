"""One broken plugin cannot fill the log."""

import logging

import pytest

from mooring.cli.log_floods import MOST_LINES, FloodFilter


@pytest.fixture
def written() -> list[str]:
    return []


def test_each_place_may_write_so_many_lines_a_minute(written: list[str]) -> None:
    now = 0.0
    logger = logging.getLogger("flooded")
    handler = logging.Handler()
    handler.emit = lambda record: written.append(record.getMessage())  # type: ignore[method-assign]
    handler.addFilter(FloodFilter(lambda: now))
    logger.addHandler(handler)
    logger.propagate = False
    try:
        for number in range(10_000):
            logger.warning("plugin %s failed", number)
            if number == 0:
                logger.error("another place")
        assert len(written) == MOST_LINES + 1
        now = 61.0
        for number in range(10_000, 10_002):
            logger.warning("plugin %s failed", number)
        for _ in range(100):
            logger.warning("plugin %s failed", "x")
            logger.info("of no interest")
    finally:
        logger.removeHandler(handler)
    assert written[: MOST_LINES + 1] == [
        "plugin 0 failed", "another place", *(f"plugin {n} failed" for n in range(1, MOST_LINES)),
    ]  # fmt: skip
    # It is another place in this test, so nothing is known there of what was left out before.
    assert written[MOST_LINES + 1 :].count("plugin x failed") == MOST_LINES


def test_the_next_line_tells_how_many_were_left_out(written: list[str]) -> None:
    now = 0.0
    flood = FloodFilter(lambda: now)

    def passes(text: str) -> str | None:
        record = logging.LogRecord("x", logging.ERROR, "file.py", 7, "%s", (text,), None)
        return record.getMessage() if flood.filter(record) else None

    assert [passes("a") for _ in range(MOST_LINES + 30)].count(None) == 30
    now = 60.0
    assert passes("b") == "b (30 more like this were left out)"
    assert passes("c") == "c"
