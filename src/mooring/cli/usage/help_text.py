"""Help that reads well at 80 columns: usage, what a command does, its options in groups.

`main` gives these classes to typer. They print plain text and import nothing for it: a library that
draws boxes would take as long as all the rest of ``moor --help``. The same option stands under the
same heading in every command, because one table here says which.
"""

import enum
import inspect
import shutil
import textwrap
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from typer.core import TyperCommand, TyperGroup

from mooring.cli.usage.program_name import as_typed

#: Headings and the parameters below them; all others are below `_OTHERS`, which comes first.
_GROUPS: Final = {
    "Cluster": ("kubeconfig", "context", "namespace", "all_namespaces"),
    "Scheduling": (
        "config", "policy", "scheduler", "scheduler_name", "leader_elect", "hook_timeout",
        "bind_hook_timeout",
    ),
    "Server": (
        "host", "bind_address", "port", "allow_host", "tls_cert", "tls_key", "client_ca",
        "token_file", "health_host", "health_port", "prefix", "predicates_prefix",
        "priorities_prefix", "workers", "drain",
    ),
    "Extender": (
        "ignorable", "managed_resource", "verb", "tls", "service", "node_port", "url",
    ),
    "Limits": ("timeout", "max_body", "max_held", "max_waiting", "max_connections"),
    "Prices": ("price", "price_label", "group_label"),
    "Output": ("report", "output", "log_format", "verbose"),
}  # fmt: skip
_OTHERS: Final = "Options"
_HEADING: Final = {name: heading for heading, names in _GROUPS.items() for name in names}
#: What stands for a value, by the parameter's name or else by its type.
_VALUES_BY_NAME: Final = {
    "bind_address": "ADDRESS", "context": "NAME", "health_host": "ADDRESS", "host": "ADDRESS",
    "max_body": "SIZE", "max_held": "SIZE", "namespace": "NAME", "node": "NAME", "policy": "POLICY",
    "prefix": "PATH", "predicates_prefix": "PATH", "priorities_prefix": "PATH",
    "scheduler_name": "NAME",
    "bind_hook_timeout": "SECONDS", "drain": "SECONDS", "hook_timeout": "SECONDS",
    "job_seconds": "SECONDS", "timeout": "SECONDS",
}  # fmt: skip
_VALUES: Final[dict[Any, str]] = {int: "N", float: "N", Path: "FILE", str: "TEXT"}
#: Holds words of a line together until it is broken.
_GLUE: Final = "\u00a0"
_NARROW, _WIDE = 50, 100
#: The widest column of names; help of longer ones begins on the next line.
_NAMES: Final = 32
_SHORT: Final = len("-o, ")


class Line(NamedTuple):
    """An argument, an option or a command, and what it is for."""

    name: str
    about: str


class MoorCommand(TyperCommand):
    """A command with our help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(command_help(self, ctx))


class MoorGroup(TyperGroup):
    """The group of all commands, with our help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(group_help(self, ctx))


def command_help(command: Any, context: Any) -> str:
    """The help of one command."""
    parameters = [one for one in command.get_params(context) if not getattr(one, "hidden", False)]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    hints = _hints(command)
    groups: dict[str, list[Line]] = {_OTHERS: [], **{heading: [] for heading in _GROUPS}}
    for one in parameters:
        if one not in arguments:
            line = Line(_option(one, hints.get(one.name)), _about(one))
            groups[_HEADING.get(one.name, _OTHERS)].append(line)
    sections = {
        "Arguments": [Line(_name(one), one.help or "") for one in arguments],
        **groups,
    }
    usage = " ".join(
        [context.command_path, "[OPTIONS]", *(_name(one, usage=True) for one in arguments)]
    )
    return _page(usage, command.help or "", sections)


def group_help(group: Any, context: Any) -> str:
    """The help of the group: its commands."""
    commands = [
        Line(name, _first_sentence(command.help or ""))
        for name, command in group.commands.items()
        if not command.hidden
    ]
    hints = _hints(group)
    options = [
        Line(_option(one, hints.get(one.name)), _about(one)) for one in group.get_params(context)
    ]
    page = _page(
        f"{context.command_path} COMMAND",
        group.help or "",
        {"Commands": commands, _OTHERS: options},
    )
    more = f'Use "{context.command_path} COMMAND --help" for more information about a command.'
    return f"{page}\n{more}\n"


def width() -> int:
    """How wide help is printed, on a terminal of whatever width."""
    return max(_NARROW, min(_WIDE, shutil.get_terminal_size((80, 24)).columns))


def _page(usage: str, about: str, sections: dict[str, list[Line]]) -> str:
    columns = width()
    names = [line.name for lines in sections.values() for line in lines]
    left = 2 + min(max(map(len, names), default=0), _NAMES) + 2
    parts = [textwrap.fill(f"Usage: {usage}", columns, subsequent_indent=" " * 8)]
    parts += [_paragraph(text, columns) for text in as_typed(inspect.cleandoc(about)).split("\n\n")]
    parts += [
        "\n".join([f"{heading}:", *_lines(lines, left, columns)])
        for heading, lines in sections.items()
        if lines
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _paragraph(text: str, columns: int) -> str:
    """A paragraph, broken anew; what is indented stays as it is."""
    return text if text.startswith("  ") else "\n".join(_wrapped(text, columns))


def _wrapped(text: str, columns: int) -> list[str]:
    """The lines of a text; names with hyphens stay whole."""
    lines = textwrap.wrap(text, columns, break_on_hyphens=False)
    return [line.replace(_GLUE, " ") for line in lines]


def _lines(lines: Iterable[Line], left: int, columns: int) -> Iterator[str]:
    for line in lines:
        about = _wrapped(as_typed(line.about), columns - left) or [""]
        head = f"  {line.name}"
        if len(head) > left - 2:
            yield head
        else:
            yield f"{head:<{left}}{about.pop(0)}".rstrip()
        yield from (" " * left + more for more in about if more)


def _hints(command: Any) -> dict[str, Any]:
    return typing.get_type_hints(inspect.unwrap(command.callback)) if command.callback else {}


def _name(argument: Any, *, usage: bool = False) -> str:
    name: str = argument.metavar or argument.name.upper()
    if argument.nargs != 1:
        name += "..."
    return f"[{name}]" if usage and not argument.required else name


def _option(option: Any, hint: Any) -> str:
    """An option as it is typed, such as ``-o, --output table|json``; short names stand alone."""
    long = [one for one in option.opts if one.startswith("--")]
    short = [one for one in option.opts if not one.startswith("--")]
    if option.secondary_opts and option.default is not False:
        long = [f"--[no-]{long[0].removeprefix('--')}"]
    head = f"{short[0]}, " if short else " " * _SHORT
    value = "" if option.is_flag or getattr(option, "count", False) else f" {_value(option, hint)}"
    return f"{head}{', '.join(long)}{value}"


def _value(option: Any, hint: Any) -> str:
    if option.metavar:
        return str(option.metavar)
    while typing.get_origin(hint) is not None:
        hint = typing.get_args(hint)[0]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return "|".join(str(one.value) for one in hint)
    return _VALUES_BY_NAME.get(option.name) or _VALUES.get(hint, "TEXT")


def _about(option: Any) -> str:
    """What an option is for, with its default unless that is plain."""
    text = option.help or ""
    default = "" if getattr(option, "count", False) else _default(option.default)
    return f"{text} (default:{_GLUE}{default})".strip() if default else text


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    if value is None or callable(value) or value == "" or value == []:
        return ""
    if isinstance(value, enum.Enum):
        return str(value.value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _first_sentence(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split()).rstrip(".")
