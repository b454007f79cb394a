"""The flags of the schedulers and extenders in a container, with their paths in its object.

`schedulers` calls it for every container of the evidence. No I/O.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mooring.deploy.container_programs import container_programs
from mooring.deploy.doctor.evidence import sequence

_Path = tuple[str | int, ...]
#: Values by the names of flags without dashes, with the path of the word that each is in.
ProgramFlags = Mapping[str, tuple[str, _Path]]


def programs_of(
    container: Mapping[str, Any], path: _Path
) -> Iterator[tuple[str, ProgramFlags, bool]]:
    """The schedulers and extenders that a container runs: name, flags, whether in a shell."""
    words: list[tuple[_Path, str]] = [
        ((*path, part, index), str(word))
        for part in ("command", "args")
        for index, word in enumerate(sequence(container.get(part)))
    ]
    image = str(container.get("image") or "")
    found = container_programs(image, [word for _, word in words])
    for program in found.programs:
        flags = {
            one.name: (one.value, words[one.places[0] if found.shell is None else found.shell][0])
            for one in program.flags
        }
        yield program.name, flags, found.shell is not None
