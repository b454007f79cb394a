"""What `logging` does not know of log lines: a level below DEBUG, YAML, and what makes two alike.

A place in the code does not always say that. The log limits how many lines of one kind there are in
a minute (`cli/log_floods`), and one line of the code may tell of many plugins: a noisy one must not
hide the others. Whoever writes such a line passes ``extra=`` from here; only the handler reads it.
A kind is made of words of the code and the configuration, never of a pod or a node. It stands
beside `errors`, below all packages, because code of every layer logs.
"""

import logging
from typing import Final, Protocol, runtime_checkable

from mooring.errors import PluginError, PolicyError

#: For what every plugin says in every decision, and for the libraries that mooring uses.
TRACE: Final = 5
_NAME: Final = "mooring_kind"
_ONCE: Final = "mooring_once"
_YAML: Final = "mooring_yaml"


def alike(*words: str) -> dict[str, object]:
    """For lines that are alike if these words are the same."""
    return {_NAME: words}


def once(*words: str) -> dict[str, object]:
    """For lines that are alike if these words are the same, and of which one in full is enough.

    The others are counted for as long as they come at least once a minute.
    """
    return {_NAME: words, _ONCE: True}


def failure_of(error: BaseException) -> dict[str, object]:
    """For lines about an error: alike if the same function or hook of a plugin failed alike.

    One that fails for one pod fails for most: the first line has everything that is needed to mend
    it, and the others are counted.
    """
    if type(error) is not PluginError or not error.plugin:
        return alike()
    cause = error.__cause__
    failed = (cause.function, cause.kind) if type(cause) is PolicyError else ("", _class(cause))
    return once(error.plugin, error.hook, *failed)


def _class(thing: object) -> str:
    """The name of its class; what a class says of itself may be anybody's code."""
    name: str = type.__dict__["__name__"].__get__(type(thing))
    return name


def with_yaml(text: str) -> dict[str, object]:
    """For a line with YAML that somebody may want to copy, as its own lines below it."""
    return {_YAML: text}


def yaml_of(record: logging.LogRecord) -> str:
    """The YAML that belongs to a line; empty if there is none."""
    text = vars(record).get(_YAML)
    return text if type(text) is str else ""


def kind_of(record: logging.LogRecord) -> tuple[str, ...]:
    """What its writer says of a line."""
    kind = vars(record).get(_NAME, ())
    legal = type(kind) is tuple and all(type(word) is str for word in kind)
    return kind if legal else ()


def has_kind(record: logging.LogRecord) -> bool:
    """Whether its writer says what makes lines like it alike."""
    return _NAME in vars(record)


def is_once(record: logging.LogRecord) -> bool:
    """Whether one line of its kind is enough."""
    return vars(record).get(_ONCE) is True


@runtime_checkable
class LeavesLinesOut(Protocol):
    """A handler of the log that leaves lines out and counts them."""

    def report_left_out(self, *, everything: bool = False) -> None:
        """Say how many were left out, where the minute is over or of everything."""


def report_left_out(*, everything: bool = False) -> None:
    """Have the log say what it left out; for whoever has a turn now and then.

    Without this it says so with the next line.

    Args:
        everything: whether or not the minute is over, as before the last line of a process.
    """
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LeavesLinesOut):
            handler.report_left_out(everything=everything)
