"""The examples that come with mooring: where they are, what each is about, copying one.

`moor examples` and `moor demo --example` find them here by name. In an installed package they are a
folder beside the code, in a clone of the repository the folder ``examples`` at its top.
"""

import difflib
import re
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from mooring.errors import InputError

_PAGE: Final = "README.md"
#: A link of a page to a file outside of its folder, which a copy does not have.
_LINK_OUTSIDE: Final = re.compile(r"\[([^\]]*)\]\(\.\./[^)]*\)")


class Example(NamedTuple):
    """One example.

    Attributes:
        name: what to call it, such as ``fair-gpus``.
        summary: what it shows, in a few words.
        folder: where its files are.
        own: it is a folder of the user's, and none of mooring's.
    """

    name: str
    summary: str
    folder: Path
    own: bool = False

    @property
    def policy(self) -> Path:
        """Its policy."""
        return self.folder / "policy.py"


def all_examples() -> list[Example]:
    """Every example, in the order of their numbers.

    Raises:
        InputError: this installation has none.
    """
    package = Path(__file__).parents[1]
    for place in (package / "examples", package.parents[1] / "examples"):
        found = [_example(file.parent) for file in sorted(place.glob("[0-9]*/policy.py"))]
        if found:
            return found
    raise InputError("this installation of mooring has no examples; install mooring from its wheel")


def find_example(name: str) -> Example:
    """An example by its name, with or without its number.

    Raises:
        InputError: there is no such example.
    """
    examples = all_examples()
    for one in examples:
        if name in (one.name, one.folder.name):
            return one
    names = [one.name for one in examples]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    raise InputError(f"there is no example {name!r}; {hint}")


def folder_example(folder: Path) -> Example:
    """A folder with a policy, nodes and a workload, as `moor init` makes it.

    Raises:
        InputError: it does not have them.
    """
    for name in ("policy.py", "nodes.yaml", "workload.yaml"):
        if not (folder / name).is_file():
            raise InputError(f"{folder} has no {name}; moor init NAME makes a folder that has it")
    return Example(folder.resolve().name, "the policy of this folder", folder, own=True)


def copy_example(example: Example, folder: Path) -> list[str]:
    """Copy an example into a new folder; the names of its files.

    Raises:
        InputError: the folder exists already or cannot be written.
    """
    if folder.exists() or folder.is_symlink():
        raise InputError(f"{folder} already exists and is not overwritten; remove it first")
    names = _file_names(example.folder)
    try:
        folder.mkdir()
        try:
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(example.folder / name, folder / name)
            if _PAGE in names:
                page = (folder / _PAGE).read_text(encoding="utf-8")
                (folder / _PAGE).write_text(_LINK_OUTSIDE.sub(r"\1", page), encoding="utf-8")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)  # a part of it would only be in the way
            raise
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}") from error
    return names


def _file_names(folder: Path) -> list[str]:
    """All files of an example, below its folder, without what Python and tests leave there."""
    found = [file.relative_to(folder) for file in sorted(folder.rglob("*")) if file.is_file()]
    return [one.as_posix() for one in found if not any(p[0] in "._" for p in one.parts)]


def _example(folder: Path) -> Example:
    heading = (folder / "README.md").read_text(encoding="utf-8").partition("\n")[0]
    return Example(folder.name.partition("-")[2], heading.partition(": ")[2], folder)
