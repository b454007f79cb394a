"""Loading a policy in commands that do it once: within a time limit, without its prints.

``moor check``, ``moor manifests`` and ``moor doctor`` call it; a policy's file is code, and may do
anything when it is imported.
"""

import contextlib
import sys
from typing import TYPE_CHECKING, Final

from mooring.cli.hook_limit import hook_limit
from mooring.framework.loading import load

if TYPE_CHECKING:
    from mooring.framework.policy import Policy

#: So long the import of a policy may take.
LOAD_SECONDS: Final = 60.0


def load_limited(place: str) -> "Policy":
    """Load a policy.

    Raises:
        InputError: it cannot be loaded, or takes too long.
    """
    with hook_limit(LOAD_SECONDS) as deadline:
        deadline.begin(what="loading it")
        return load(place)


def load_quietly(place: str) -> "Policy":
    """The same; what it prints goes to standard error, since standard output is for the result."""
    with contextlib.redirect_stdout(sys.stderr):
        return load_limited(place)
