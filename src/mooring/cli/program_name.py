"""What the user typed to start us: ``moor``, or ``kubectl moor`` where kubectl found us.

kubectl runs ``kubectl-moor`` for ``kubectl moor``; usage, help and errors then say what can be
typed again. `main` and `help_text` call it. It must never import anything that takes time.
"""

import re
import sys
from pathlib import PurePath
from typing import Final

MOOR: Final = "moor"
KUBECTL_MOOR: Final = "kubectl moor"
#: What kubectl runs, and what it asks for completions.
_SCRIPTS: Final = ("kubectl-moor", "kubectl_complete-moor")
#: The program's name where a command or an option follows it.
_TYPED: Final = re.compile(r"(?<![\w/.`-])(?<!kubectl )moor(?= (?:--)?[a-z])")


def program_name() -> str:
    """How the user calls us."""
    called = PurePath(sys.argv[0]).name if sys.argv else ""
    return KUBECTL_MOOR if called.removesuffix(".exe") in _SCRIPTS else MOOR


def as_typed(text: str) -> str:
    """A text in which ``moor COMMAND`` is what the user has to type."""
    name = program_name()
    return text if name == MOOR else _TYPED.sub(name, text)
