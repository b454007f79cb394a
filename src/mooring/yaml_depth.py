"""How deep a YAML text is nested, found out before it is loaded.

PyYAML's C loader calls itself for every level and has no limit: some ten thousand brackets in a row
end the process. Whoever loads YAML calls `check_depth` first. Never loads anything itself.
"""

import re
from typing import Final

#: No Kubernetes object comes near; the loader takes many times as much, on small stacks too.
MOST_LEVELS: Final = 500

_OPENING: Final = re.compile(r"[\[{]")
#: What stands before the first word of a line; each character opens at most one block.
_INDENTATION: Final = re.compile("(?:^|(?<=[\r\n\x85\u2028\u2029]))[-?: \t\ufeff]+")


class TooDeep(ValueError):  # noqa: N818 - reads as the sentence it is part of
    """A text is nested deeper than `MOST_LEVELS`.

    Attributes:
        line: where, counted from 0.
    """

    def __init__(self, line: int) -> None:
        super().__init__(f"it is nested more than {MOST_LEVELS} levels deep")
        self.line = line


def check_depth(text: str) -> None:
    """See that a text is not nested too deeply; the time it takes is small beside loading it.

    Raises:
        TooDeep: it is.
    """
    if _at_most(text) <= MOST_LEVELS:
        return
    import yaml  # noqa: PLC0415 - slow to import

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    levels = 0
    try:
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.CollectionStartEvent):
                levels += 1
                if levels > MOST_LEVELS:
                    raise TooDeep(event.start_mark.line if event.start_mark else 0)
            elif isinstance(event, yaml.CollectionEndEvent):
                levels -= 1
    except yaml.YAMLError:
        return  # what is wrong is told when it is loaded, which goes no further than this


def _at_most(text: str) -> int:
    """A number of levels that the text has at most, from a quick look."""
    blocks = max((found.end() - found.start() for found in _INDENTATION.finditer(text)), default=0)
    brackets = sum(1 for _ in _OPENING.finditer(text))
    # A list in a mapping may stand in the mapping's own column, and a pair in a list without braces
    # is a mapping of its own.
    return 2 * (blocks + brackets + 1)
