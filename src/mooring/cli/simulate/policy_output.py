"""What policies print and which warnings they cause while a scenario is played.

Standard output is for the result, so prints go to standard error. A policy that fails does so for
each of a hundred thousand pods; only the first warnings from a place in the code are shown, and how
many there were.
"""

import contextlib
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

from mooring.cli.standard_streams import print_error
from mooring.wording import counted

#: So many warnings from one place are shown.
_MOST: Final = 10


@contextlib.contextmanager
def policies_beside_result() -> Iterator[None]:
    """Keep standard output free for the result, and standard error readable."""
    handler = logging.lastResort
    first = _FirstWarnings()
    if handler is not None:
        handler.addFilter(first)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if handler is not None:
            handler.removeFilter(first)
        first.say_more()


class _FirstWarnings(logging.Filter):
    """Lets the first warnings from each place pass, and counts the others."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: Counter[tuple[str, int]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is shown."""
        place = record.pathname, record.lineno
        self._seen[place] += 1
        return self._seen[place] <= _MOST

    def say_more(self) -> None:
        """Say how many were not shown."""
        more = sum(max(number - _MOST, 0) for number in self._seen.values())
        if more:
            print_error(f"{counted(more, 'more warning')} like these")
