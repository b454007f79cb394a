"""Which schedulers and extenders a container runs, with which flags, and where these stand.

`migration` and `doctor` read containers with it, and map the places of words to their own edits. A
container's words are its ``command`` and ``args`` or, if these run a shell, those in the string for
``sh -c``. No I/O.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from mooring.deploy.command_wrappers import base_name, program_at
from mooring.deploy.shell_commands import ShellWord, read_shell_string, shell_string_at

KUBE_SCHEDULER: Final = "kube-scheduler"
MOOR_RUN: Final = "moor run"
MOOR_SERVE: Final = "moor serve"
_MOOR: Final = {"run": MOOR_RUN, "serve": MOOR_SERVE}
_HYPERKUBE: Final = "hyperkube"
#: What hyperkube calls kube-scheduler.
_IN_HYPERKUBE: Final = ("scheduler", KUBE_SCHEDULER)
#: Only kube-scheduler has had these flags, whatever a build of it is called.
_TELLING_FLAGS: Final = frozenset({"policy-config-file", "policy-configmap"})
#: Flags that take no word of their own as a value; removed ones of kube-scheduler, too.
SWITCHES: Final = {
    KUBE_SCHEDULER: frozenset(
        {"use-legacy-policy-config", "profiling", "contention-profiling", "leader-elect"}
        | {"add-dir-header", "alsologtostderr", "logtostderr", "one-output"}
        | {"skip-headers", "skip-log-headers", "log-json-split-stream", "log-text-split-stream"}
        | {"authentication-skip-lookup", "authentication-tolerate-lookup-failure"}
        | {"disable-http2-serving", "permit-address-sharing", "permit-port-sharing"}
        | {"help", "h", "version"}
    ),
    MOOR_RUN: frozenset({"reload", "leader-elect", "no-leader-elect", "verbose", "v", "help", "h"}),
    MOOR_SERVE: frozenset({"reload", "node-cache", "no-node-cache", "verbose", "v", "help", "h"}),
}


class Flag(NamedTuple):
    """One flag of a program.

    Attributes:
        name: without the dashes.
        value: ``true`` for a switch that is only named; empty if the value is missing.
        places: which of the program's words it takes.
    """

    name: str
    value: str
    places: tuple[int, ...]


class ContainerProgram(NamedTuple):
    """A scheduler or an extender that a container runs.

    Attributes:
        name: `KUBE_SCHEDULER`, `MOOR_RUN` or `MOOR_SERVE`.
        words: all words of the command it is part of. Without a shell, these are all words of
            ``command`` and ``args``.
        flags: its flags in their order.
    """

    name: str
    words: tuple[ShellWord, ...]
    flags: tuple[Flag, ...]


class ContainerPrograms(NamedTuple):
    """What a container runs.

    Attributes:
        programs: its schedulers and extenders.
        shell: which word of ``command`` and ``args`` is the string for ``sh -c``; None without.
        problem: what is not understood in that string, a clause; empty if everything is.
    """

    programs: tuple[ContainerProgram, ...]
    shell: int | None = None
    problem: str = ""


def container_programs(image: str, words: Sequence[str]) -> ContainerPrograms:
    """The schedulers and extenders of a container.

    Args:
        image: its image, whose entry point counts if no word names a program.
        words: ``command`` and ``args``, one after the other.
    """
    shell = shell_string_at(words)
    if shell is None:
        whole = tuple(ShellWord(one, 0, len(one), fixed=True) for one in words)
        found = _program(whole, image)
        return ContainerPrograms((found,) if found is not None else ())
    string = read_shell_string(words[shell])
    programs = (_program(one, "") for one in string.commands)
    known = tuple(one for one in programs if one is not None)
    return ContainerPrograms(known, shell, string.problem)


def _program(words: tuple[ShellWord, ...], image: str) -> ContainerProgram | None:
    values = [one.value for one in words]
    name, first = _name(values, image)
    flags = _flags(values, first, name or KUBE_SCHEDULER)
    if not name and _TELLING_FLAGS & {one.name for one in flags}:
        name = KUBE_SCHEDULER
    return ContainerProgram(name, words, flags) if name else None


def _name(words: Sequence[str], image: str) -> tuple[str, int]:
    """The name of a program, empty for another one, and the place after its last word."""
    at = program_at(words)
    first, second = [*map(base_name, words[at : at + 2]), "", ""][:2]
    bare = base_name(image.partition("@")[0]).partition(":")[0]
    if first == KUBE_SCHEDULER:
        return KUBE_SCHEDULER, at + 1
    if first == "moor":
        return _MOOR.get(second, ""), at + 2
    if first == _HYPERKUBE and second in _IN_HYPERKUBE:
        return KUBE_SCHEDULER, at + 2
    if _HYPERKUBE in bare and first in _IN_HYPERKUBE:
        return KUBE_SCHEDULER, at + 1
    if bare == KUBE_SCHEDULER and (not words or words[0].startswith("-")):
        return KUBE_SCHEDULER, 0
    return "", at + 1 if not first.startswith("-") else at


def _flags(words: Sequence[str], first: int, program: str) -> tuple[Flag, ...]:
    found: list[Flag] = []
    at = first
    while at < len(words) and words[at] != "--":
        word = words[at]
        places: tuple[int, ...] = (at,)
        at += 1
        if not word.startswith("-") or word == "-":
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if program == KUBE_SCHEDULER:
            name = name.replace("_", "-")
        if not equals and name in SWITCHES[program]:
            value = "true"
        elif not equals and at < len(words) and not words[at].startswith("-"):
            value, places = words[at], (*places, at)
            at += 1
        found.append(Flag(name, value, places))
    return tuple(found)
