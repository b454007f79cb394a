"""A clock on every plugin: an observer that measures where the time of a decision goes.

Passed to the core by `bench`, switched on by `by_plugin`. Off, it costs nothing worth measuring.
On, every plugin is asked: nothing of what earlier decisions found is taken over.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from mooring.framework.decisions.decision import Decision
from mooring.framework.decisions.observer import RESERVE, Observer
from mooring.framework.hook import PreFilterAnswer
from mooring.framework.verdict import Verdicts

#: The part of a placement that is no plugin's: counting the pod on its node.
ASSUME = "(assume)"
_EMPTY_CALLS = 1000


class PluginClock(Observer):
    """Measures each plugin of a decision while it is switched on; a context manager.

    Attributes:
        spent: nanoseconds of CPU time by plugin and part.
    """

    def __init__(self) -> None:
        self.spent: defaultdict[str, int] = defaultdict(int)
        self.each_plugin = self.each_step = False
        self.each_score = False
        self._plugin = ""
        self._since = 0
        self._own = 0
        for _ in range(_EMPTY_CALLS):
            self.asking("")
            self.answered()
        self._own = self.spent.pop("") // _EMPTY_CALLS

    def __enter__(self) -> Self:
        self.spent.clear()
        self.each_plugin = self.each_step = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.each_plugin = self.each_step = False

    @contextmanager
    def asking_all(self) -> Iterator[None]:
        """Have all plugins asked, as while the clock is on, but measure nothing."""
        self.each_score = True
        try:
            yield
        finally:
            self.each_score = False

    def asking(self, plugin: str) -> None:
        """A plugin's time begins."""
        self._plugin = plugin
        self._since = time.process_time_ns()

    def answered(self) -> None:
        """Its time ends; that of the clock is not counted."""
        self.spent[self._plugin] += time.process_time_ns() - self._since - self._own

    def pre_filter_answered(self, plugin: str, answer: PreFilterAnswer) -> None:  # noqa: ARG002
        """A pre-filter plugin's time ends."""
        self.answered()

    def filter_answered(self, plugin: str, verdicts: Verdicts | None) -> None:  # noqa: ARG002
        """A filter's time ends."""
        self.answered()

    def score_answered(self, plugin: str) -> None:  # noqa: ARG002
        """A score's time ends."""
        self.answered()

    def decided(self, decision: Decision) -> None:  # noqa: ARG002
        """The node is taken next."""
        if self.each_plugin:
            self.asking(ASSUME)

    def started(self, point: str) -> None:
        """The node is taken."""
        if self.each_plugin and point == RESERVE:
            self.answered()
