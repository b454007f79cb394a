"""What a build can copy: the files of a folder that its .dockerignore lets through."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

IGNORE_FILE: Final = ".dockerignore"


class BuildContext:
    """The files of a folder that a build sees.

    Args:
        folder: where the Dockerfile is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        file = folder / IGNORE_FILE
        lines = file.read_text().splitlines() if file.exists() else []
        wanted = [line for line in map(str.strip, lines) if line and not line.startswith("#")]
        self._patterns = [
            (not line.startswith("!"), _expression(line.removeprefix("!").strip("/")))
            for line in wanted
        ]
        self._let_through = [line[1:].strip("/") for line in wanted if line.startswith("!")]

    def has(self, path: PurePosixPath) -> bool:
        """Whether a file is seen: the last pattern that matches it or a folder above decides."""
        ignored = False
        places = [path, *path.parents][:-1]
        for ignores, expression in self._patterns:
            if any(expression.fullmatch(str(one)) for one in places):
                ignored = ignores
        return not ignored

    def files(self, source: str) -> list[PurePosixPath]:
        """The seen files that a source of ``COPY`` names: a file, or all in a folder."""
        place = PurePosixPath(source)
        if (self.folder / place).is_file():
            return [place] if self.has(place) else []
        return sorted(self._walk(place))

    def _walk(self, place: PurePosixPath) -> Iterator[PurePosixPath]:
        if not (self.folder / place).is_dir():
            return
        for entry in os.scandir(self.folder / place):
            path = place / entry.name
            if entry.is_dir(follow_symlinks=False):
                if self.has(path) or self._may_have_some(path):
                    yield from self._walk(path)
            elif self.has(path):
                yield path

    def _may_have_some(self, folder: PurePosixPath) -> bool:
        """Whether something below an ignored folder could be seen."""
        return any(one.startswith(("*", f"{folder}/")) for one in self._let_through)


def _expression(pattern: str) -> re.Pattern[str]:
    """A pattern of .dockerignore: ``*`` stays in a folder, ``**`` goes through any number."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(part, re.escape(part)) for part in parts))
