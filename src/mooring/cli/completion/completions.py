"""What can follow on a command line: commands, options, and values of both.

`answering` calls it, for every shell and for kubectl. It reads the commands as typer has them and
parses what was typed so far by itself, because half a command line is wrong in many ways that do
not matter here. Names from the cluster come from `cluster_names`.
"""

import enum
import inspect
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from mooring.cli.completion import cluster_names
from mooring.cli.usage.program_name import as_typed


class Directive(enum.IntFlag):
    """What the shell is to do, in the numbers of kubectl's plugins."""

    #: Complete files if there is nothing else.
    DEFAULT = 0
    NO_SPACE = 2
    NO_FILES = 4


class Item(NamedTuple):
    """One completion and what it is."""

    value: str
    about: str = ""


class Completions(NamedTuple):
    """All completions of a word."""

    items: list[Item]
    directive: Directive = Directive.NO_FILES


class Typed(NamedTuple):
    """What was typed after a command's name, as far as it is complete.

    Attributes:
        values: of options, by the parameter's name.
        arguments: what is no option.
        waiting: the option whose value comes next.
        only_arguments: ``--`` was typed.
    """

    values: dict[str, str]
    arguments: list[str]
    waiting: Any
    only_arguments: bool


_NOTHING: Final = Completions([])
_FILES: Final = Completions([], Directive.DEFAULT)
#: Parameters that are files, although they may be something else as well.
_FILE_NAMES: Final = ("policy", "snapshot")


def _examples(given: typing.Mapping[str, str], current: str) -> list[str]:  # noqa: ARG001
    from mooring.cli.example_files import all_examples

    return [one.name for one in all_examples()]


_Lookup = typing.Callable[[typing.Mapping[str, str], str], list[str]]
#: Parameters that are names, most of them of things in the cluster.
_NAMES: Final[dict[str, _Lookup]] = {
    "context": cluster_names.contexts,
    "example": _examples,
    "name": _examples,
    "like": cluster_names.nodes,
    "namespace": cluster_names.namespaces,
    "node": cluster_names.nodes,
    "pod": cluster_names.pods,
    "pods": cluster_names.pods,
}


def complete(group: Any, words: Sequence[str]) -> Completions:
    """Complete the last word.

    Args:
        group: the commands.
        words: what follows the program's name, up to the cursor; the last word may be empty.
    """
    *before, current = words or [""]
    options = _options(group)
    while before and before[0] in options:
        before.pop(0)
    if not before:
        if current.startswith("-"):
            return _matching(_option_items(group.params, {}), current)
        commands = group.commands.items()
        shown = [Item(name, _sentence(one.help)) for name, one in commands if not one.hidden]
        return _matching(shown, current)
    command = group.commands.get(before[0])
    return _NOTHING if command is None else _complete_command(command, before[1:], current)


def _complete_command(command: Any, before: list[str], current: str) -> Completions:
    typed = parse(command, before)
    hints = typing.get_type_hints(inspect.unwrap(command.callback))
    if typed.waiting is not None:
        return _value(typed.waiting, hints, typed, current)
    if current.startswith("-") and not typed.only_arguments:
        name, equals, value = current.partition("=")
        if not equals:
            return _matching(_option_items(command.params, typed.values), current)
        option = _options(command).get(name)
        return _NOTHING if option is None else _value(option, hints, typed, value)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    place = len(typed.arguments)
    if place >= len(arguments) and (not arguments or arguments[-1].nargs != -1):
        return _NOTHING
    return _value(arguments[min(place, len(arguments) - 1)], hints, typed, current)


def parse(command: Any, words: Iterable[str]) -> Typed:
    """Read what was typed after a command's name; what is wrong with it does not matter."""
    options = _options(command)
    values: dict[str, str] = {}
    arguments: list[str] = []
    waiting, only_arguments = None, False
    for word in words:
        if waiting is not None:
            values[waiting.name] = word
            waiting = None
        elif only_arguments or not word.startswith("-") or word == "-":
            arguments.append(word)
        elif word == "--":
            only_arguments = True
        else:
            name, value = _split(word)
            option = options.get(name)
            if option is None or _is_flag(option):
                values[option.name if option is not None else name] = "true"
            elif value is None:
                waiting = option
            else:
                values[option.name] = value
    return Typed(values, arguments, waiting, only_arguments)


def _split(word: str) -> tuple[str, str | None]:
    """An option and its value, if the same word has it: ``--name=value`` or ``-nvalue``."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    return word[:2], word[2:] or None


def _options(command: Any) -> dict[str, Any]:
    found = (one for one in command.params if one.param_type_name == "option")
    help_options = dict.fromkeys(("-h", "--help"))
    return help_options | {name: one for one in found for name in (*one.opts, *one.secondary_opts)}


def _is_flag(option: Any) -> bool:
    return bool(option.is_flag or getattr(option, "count", False))


def _option_items(params: Iterable[Any], given: typing.Mapping[str, str]) -> list[Item]:
    """The options that can still be given."""
    items = [
        Item(name, _sentence(one.help))
        for one in params
        if one.param_type_name == "option" and not one.hidden
        if one.name not in given or one.multiple
        for name in (*one.opts, *one.secondary_opts)
    ]
    return [*items, Item("--help", "Show help for the command")]


def _value(parameter: Any, hints: dict[str, Any], typed: Typed, current: str) -> Completions:
    """The values that a parameter can have."""
    hint = hints.get(parameter.name)
    while typing.get_origin(hint) is not None:
        hint = typing.get_args(hint)[0]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _matching([Item(str(one.value)) for one in hint], current)
    if hint is Path or parameter.name in _FILE_NAMES or "FILE" in (parameter.metavar or ""):
        return _FILES
    if parameter.name == "operations":
        return _operation(typed, current)
    look_up = _NAMES.get(parameter.name)
    if look_up is None:
        return _NOTHING
    found = _matching([Item(name) for name in look_up(typed.values, current)], current)
    if parameter.name not in ("pod", "pods"):
        return found
    # A pod may be a manifest, too; and behind a namespace comes the pod's name.
    if not found.items:
        return _FILES
    more = any(one.value.endswith("/") for one in found.items)
    return found._replace(directive=Directive.NO_FILES | (Directive.NO_SPACE if more else 0))


def _operation(typed: Typed, current: str) -> Completions:
    """What can follow in a chain of operations, as ``moor whatif`` takes them."""
    from mooring.simulator.whatif.operations import FORMS, THEN

    words = typed.arguments
    begin = max((place for place, word in enumerate(words) if word == THEN), default=-1)
    name, *given = words[begin + 1 :] or [""]
    form = FORMS.get(name)
    if form is None:
        return _matching((Item(one, form.about) for one, form in FORMS.items()), current)
    then = [Item(THEN, "another operation")] if given else []
    if form.arguments == "NODE...":
        names = cluster_names.nodes(typed.values, current)
        return _matching([*then, *(Item(one) for one in names if one not in given)], current)
    if name == "policy" and not given:
        return _FILES
    return _matching(then, current)


def _matching(items: Iterable[Item], current: str) -> Completions:
    return Completions([one for one in items if one.value.startswith(current)])


def _sentence(text: str | None) -> str:
    """What something is for, in one line."""
    first = " ".join((text or "").partition("\n\n")[0].split())
    return as_typed(first.partition(". ")[0].rstrip("."))
