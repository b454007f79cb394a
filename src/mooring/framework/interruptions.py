"""The sentence about foreign code that was interrupted.

`process.deadline` raises `foreign.Interruption` with it. A plugin's error has it as it is, and a
rule puts its function's name and the node into it.
"""

from typing import Final

_INTERRUPTED: Final = "it was interrupted because "


def interrupted(why: str) -> str:
    """The whole sentence."""
    return f"{_INTERRUPTED}{why}"


def why_interrupted(text: str) -> str:
    """Why, if the text is such a sentence; empty if it is another."""
    return text.removeprefix(_INTERRUPTED) if text.startswith(_INTERRUPTED) else ""
