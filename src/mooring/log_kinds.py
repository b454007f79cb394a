"""What makes two log lines alike, where their place in the code does not say it.

The log limits how many lines of one kind there are in a minute (`cli/log_floods`), and one line of
the code may tell of many plugins: a noisy one must not hide the others. Whoever writes such a line
passes ``extra=`` from here; only the handler reads it. A kind is made of words of the code and the
configuration, never of a pod or a node. It stands beside `errors`, below all packages, because code
of every layer logs.
"""

import logging
from collections.abc import Mapping
from typing import Final

from mooring.errors import PluginError, PolicyError

_NAME: Final = "mooring_kind"
#: For lines whose writer counts those that are alike itself.
COUNTED: Final[Mapping[str, object]] = {_NAME: None}


def alike(*words: str) -> dict[str, object]:
    """For lines that are alike if these words are the same."""
    return {_NAME: words}


def failure_of(error: BaseException) -> dict[str, object]:
    """For lines about an error: alike if the same function or hook of the same plugin failed."""
    if type(error) is not PluginError:
        return alike()
    cause = error.__cause__
    function = cause.function if type(cause) is PolicyError else ""
    return alike(error.plugin, error.hook, function)


def kind_of(record: logging.LogRecord) -> tuple[str, ...] | None:
    """What its writer says of a line; None if it counts those that are alike itself."""
    kind = vars(record).get(_NAME, ())
    if kind is None:
        return None
    legal = type(kind) is tuple and all(type(word) is str for word in kind)
    return kind if legal else ()
