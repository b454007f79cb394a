"""``moor plugins``: what a configuration can name."""

from typing import TYPE_CHECKING, Any, Final

import typer

from mooring.cli.output_formats import TableOrJson, print_json
from mooring.cli.shared_options import ResultFormat
from mooring.wording import escaped

if TYPE_CHECKING:
    from mooring.config.registry import Registry

_INDENT: Final = 4


def plugins(
    output: ResultFormat = TableOrJson.TABLE,
) -> None:
    """List the plugins that a scheduler configuration can enable.

    These are kube-scheduler's default plugins, mooring's own, and those of installed packages
    (entry points in the group mooring.plugins). Default plugins that score are listed with their
    weight. When the output is piped, each plugin is one line.
    """
    from mooring.plugins.in_tree import default_registry

    found = describe(default_registry())
    if output is TableOrJson.JSON:
        print_json(found)
    else:
        _print(found)


def describe(registry: "Registry") -> list[dict[str, Any]]:
    """Every plugin of a registry as plain data."""
    from mooring.config.strict_decoding import FieldProblem

    default = {plugin.name: plugin.weight for plugin in registry.default_plugins}
    found: list[dict[str, Any]] = []
    for one in registry.entries():
        if isinstance(one, FieldProblem):
            found.append({"name": one.path, "problem": one.text})
            continue
        weight = (default[one.name] or 1) if one.name in default and "score" in one.points else None
        found.append(
            {
                "name": one.name,
                "default": one.name in default,
                "weight": weight,
                "points": one.points,
                "arguments": _arguments(one.args),
                "summary": one.summary,
                "origin": one.origin,
            }
        )
    return found


def _arguments(kind: Any) -> dict[str, Any]:
    """Names and defaults of a plugin's arguments; null where there is none."""
    import msgspec

    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind) if kind is not None else ():
        default = None if field.default is msgspec.NODEFAULT else field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        found[field.encode_name] = msgspec.to_builtins(default, enc_hook=str)
    return found


def _print(found: list[dict[str, Any]]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from mooring.cli.terminal_output import make_console

    console = make_console()
    if not console.is_terminal:
        _print_plain(found)
        return
    for one in found:
        name, default, points, arguments, summary = _cells(one)
        style = "red" if "problem" in one else ""
        head = Text(name, style=f"bold {style}".strip())
        if one.get("default"):
            head.append("  default" if default == "yes" else f"  default, {default}", style="dim")
        console.print(head)
        about = [Text(summary, style=style)]
        if points != "-":
            about.append(Text(f"Extension points: {points}", style="dim"))
        if arguments:
            about.append(Text(f"Arguments: {', '.join(arguments)}", style="dim"))
        console.print(Padding(Text("\n").join(about), (0, 0, 0, _INDENT), expand=False))
        console.print()


def _print_plain(found: list[dict[str, Any]]) -> None:
    rows = [("PLUGIN", "DEFAULT", "POINTS", "ARGUMENTS", "WHAT IT DOES")]
    for one in found:
        name, default, points, arguments, summary = _cells(one)
        rows.append((name, default, points.replace(", ", ","), " ".join(arguments) or "-", summary))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        typer.echo(escaped("  ".join(cells).rstrip()))


def _cells(one: dict[str, Any]) -> tuple[str, str, str, list[str], str]:
    if "problem" in one:
        return one["name"], "-", "-", [], one["problem"]
    default = "-"
    if one["default"]:
        default = f"weight {one['weight']}" if one["weight"] is not None else "yes"
    arguments = [
        name if value is None else f"{name}={_short(value)}"
        for name, value in one["arguments"].items()
    ]
    summary = one["summary"]
    if one["origin"] != "mooring":
        summary = f"{summary} ({one['origin']})".strip()
    return one["name"], default, ", ".join(one["points"]), arguments, summary


def _short(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()
