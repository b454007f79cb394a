"""The commands in a string for ``sh -c``: which words a program gets, and where they stand.

`container_programs` reads containers with it whose command is a shell; `migration` edits them.
Simple commands that ``&&``, ``;`` and the like join are understood, with quotes, redirections and
variables; anything else is said to be too clever. Nothing is expanded and nothing is run.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from mooring.deploy.command_wrappers import base_name, program_at

_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
_OPTIONS: Final = re.compile(r"[-+][A-Za-z]+")
#: Options of bash that take the next word as their value.
_FILE_OPTIONS: Final = ("--rcfile", "--init-file")
_EXPANSION: Final = r"\$\([^()]*\)|\$\{[^{}]*\}|`[^`]*`"
_PLAIN: Final = r"""[^\s'"\\;&|<>()`]|'[^']*'|"(?:[^"\\]|\\.)*"|\\[^\n]"""
_TOKEN: Final = re.compile(
    rf"""(?P<space>(?:[ \t\r]|\\\n)+)
      | (?P<comment>\#[^\n]*)
      | (?P<document><<)
      | (?P<redirection>\d*(?:[<>]&|&>>?|>>|>\||<>|[<>]))
      | (?P<between>&&|\|\||[;&|\n])
      | (?P<word>(?:{_EXPANSION}|{_PLAIN})+)""",
    re.VERBOSE | re.DOTALL,
)
_EXACT: Final = re.compile(r"'[^']*'|\\.", re.DOTALL)
_QUOTED: Final = re.compile(r'"[^"]*"', re.DOTALL)
_RESERVED: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac"}
    | {"{", "}", "!", "function", "eval", "trap"}
)


class ShellWord(NamedTuple):
    """A word of a command.

    Attributes:
        value: without its quotes.
        start, end: where it stands in the string.
        fixed: whether `value` is what the program gets; otherwise the shell expands it.
    """

    value: str
    start: int
    end: int
    fixed: bool


class ShellString(NamedTuple):
    """What a string for ``sh -c`` says.

    Attributes:
        commands: the words of each simple command, beginning with the program.
        problem: what is not understood, a clause; empty if everything is.
    """

    commands: tuple[tuple[ShellWord, ...], ...]
    problem: str = ""


def shell_string_at(words: Sequence[str]) -> int | None:
    """Which of the words of a container is a string for ``sh -c``; None if there is none."""
    at = program_at(words)
    names = [base_name(one) for one in words]
    if names[at : at + 1] == ["busybox"]:
        at += 1
    if not _SHELLS & set(names[at : at + 1]):
        return None
    at += 1
    runs_string = False
    while at < len(words) and words[at] not in ("-", "--"):
        option = words[at]
        if option.startswith("--"):
            at += 1 if option in _FILE_OPTIONS else 0
        elif _OPTIONS.fullmatch(option):
            runs_string |= option.startswith("-") and "c" in option
            at += sum(option.count(one) for one in "oO")  # such as pipefail
        else:
            break
        at += 1
    else:
        at += 1
    return at if runs_string and at < len(words) else None


def read_shell_string(text: str) -> ShellString:
    """The commands of a string."""
    commands: list[list[ShellWord]] = [[]]
    at, target = 0, False
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return ShellString(_programs(commands), f"{text[at : at + 20]!r} is not understood")
        if found.lastgroup == "document":
            return ShellString(_programs(commands), "it has a here-document")
        if found.lastgroup == "redirection":
            target = True
        elif found.lastgroup == "between":
            commands.append([])
        elif found.lastgroup == "word" and target:
            target = False
        elif found.lastgroup == "word":
            commands[-1].append(_word(found))
        at = found.end()
    programs = _programs(commands)
    for command in programs:
        if command[0].value in _RESERVED:
            return ShellString(programs, f"it uses {command[0].value}")
    return ShellString(programs)


def without_word(text: str, word: ShellWord) -> str:
    """A string without one of its words and the spaces before it."""
    before = text[: word.start].rstrip(" \t")
    after = text[word.end :]
    if before.endswith("\\\n") and after.startswith("\n"):
        before = before[:-2].rstrip(" \t")  # the last line of a command
    return before + after


def _word(found: re.Match[str]) -> ShellWord:
    text = found[0]
    bare = _EXACT.sub("", text)
    expanded = any(one in bare for one in "$`")
    globbed = any(one in _QUOTED.sub("", bare) for one in "*?[{~")
    try:
        value = "".join(shlex.split(text))
    except ValueError:  # quotes inside an expansion
        value = text
    return ShellWord(value, found.start(), found.end(), not expanded and not globbed)


def _programs(commands: list[list[ShellWord]]) -> tuple[tuple[ShellWord, ...], ...]:
    found = (tuple(one[program_at([word.value for word in one]) :]) for one in commands)
    return tuple(one for one in found if one)
