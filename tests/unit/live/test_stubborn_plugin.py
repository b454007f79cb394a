"""A plugin that cannot be stopped ends the process, loudly, instead of stopping it silently."""

import logging
import os

import pytest

from mooring.live import assembly


def test_the_fifth_ignored_interruption_is_the_last(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    monkeypatch.setattr(logging, "shutdown", lambda: None)
    for times in range(1, 5):
        assembly._stubborn(times, "policy.py:7")
        assert left == []
    assembly._stubborn(5, "policy.py:7")
    assert left == [1]
    assert "a plugin ignored 4 interruptions and goes on at policy.py:7" in caplog.text
    assert "the process ends" in caplog.text
